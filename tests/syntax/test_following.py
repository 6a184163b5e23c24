"""Following a generation: whatever the pieces, and whatever the text."""

from __future__ import annotations

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_samples import SAMPLES
from redraft.bench.syntax import place_within
from redraft.engines.fake import FakeTokenizer
from redraft.protocols import DraftContext, Tokenizer
from redraft.syntax import Syntax, grammar
from redraft.syntax.grammar import Grammar
from redraft.syntax.languages import LANGUAGES
from redraft.syntax.reading import WINDOW, Reading

TOKENIZER = FakeTokenizer()
languages = st.sampled_from(sorted(LANGUAGES))


def followed(language: str, text: bytes | str = b"", tokenizer: Tokenizer = TOKENIZER) -> Syntax:
    syntax = Syntax(tokenizer)
    syntax.start(DraftContext((1, 2, 3), language=language))
    syntax.commit(tuple(text.encode() if isinstance(text, str) else text))
    return syntax


@given(language=languages, data=st.data())
def test_pieces_read_as_the_whole(language: str, data: st.DataObject) -> None:
    """Committed in any pieces or only looked at, the same text has the same place."""
    text = SAMPLES[language].encode()
    end = data.draw(st.integers(0, len(text)))
    cuts = sorted(data.draw(st.lists(st.integers(0, end), max_size=5)))
    syntax = followed(language)
    for begin, until in zip([0, *cuts], [*cuts, end], strict=True):
        assert syntax.place(tuple(text[begin:until])) == followed(language, text[:until]).place()
        syntax.commit(tuple(text[begin:until]))
    whole = followed(language, text[:end])
    assert syntax.place() == whole.place()
    assert syntax.open() == whole.open() and syntax.names() == whole.names()
    assert syntax.unavailable is None


@given(language=languages, data=st.data())
def test_what_follows_changes_no_depth(language: str, data: st.DataObject) -> None:
    text = SAMPLES[language].encode()
    offset = data.draw(st.integers(1, len(text)))
    whole = Reading(LANGUAGES[language], Grammar(LANGUAGES[language]), text)
    found = followed(language, text[:offset]).place()
    assert found is not None
    assert found.depth == place_within(whole, text, offset).depth


noise = st.lists(
    st.one_of(
        st.binary(max_size=12),
        st.sampled_from([b"def f(", b"class A:\n", b"{", b"}", b")", b'"""', b"/*", b"<<EOF\n"]),
        st.sampled_from(
            [b"\x00", b"\xff\xfe", "🙂é".encode(), b"\n    ", b"\r\n\t", b"`${", b"#{"]
        ),
    ),
    max_size=12,
)


@given(language=languages, pieces=noise, after=st.binary(max_size=8))
def test_nothing_raises(language: str, pieces: list[bytes], after: bytes) -> None:
    syntax = followed(language)
    for piece in pieces:
        syntax.commit(tuple(piece))
        assert syntax.place(tuple(after)) is not None
        assert 0 <= syntax.sound(tuple(after)) <= len(after)
        syntax.expected(tuple(after))
        syntax.names()
    assert syntax.unavailable is None


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", b"(" * 100_000),
        ("javascript", b"{" * 100_000),
        ("javascript", b"}" * 20_000),
        ("c", b"#if 0\n" * 4_000),
        ("python", b"\x00" * 20_000),
        ("typescript", b"var a=[" + b"{b:1,c:[2]}," * 8_000),
        ("go", "// \U0001f642 ".encode("utf-16") * 1_000),
        ("rust", b'r#"' + b"a" * 200_000),
    ],
)
def test_hostile_texts_end_in_bounded_time(language: str, text: bytes) -> None:
    """A prefix of a megabyte and some tokens behind it. Measured is the processor's time; the
    bound is what syntax may use before it gives up, and one last parse."""
    syntax = Syntax(TOKENIZER)
    fim = TOKENIZER.encode("<|fim_prefix|><|fim_suffix|><|fim_middle|>", special=True)
    prompt = (fim[0], *text, fim[1], fim[2])
    begun = thread_time()
    syntax.start(DraftContext(prompt, language=language))
    for _ in range(10):
        syntax.place(tuple(b"(x"))
        syntax.sound(tuple(b")"))
        syntax.commit(tuple(b"x)"))
    assert thread_time() - begun < 30
    told = syntax.unavailable or ""
    assert not told or any(word in told for word in ("too long", "took more", "open at once"))


def test_a_long_output_is_read_through_a_window() -> None:
    body = "    if x:\n        y = [1, 2]\n"
    syntax = followed("python", "def long():\n")
    for _ in range(12):
        syntax.commit(tuple(body.encode()) * (WINDOW // 4 // len(body)))
    found = syntax.place(tuple(b"        z"))
    assert found is not None and (found.depth, found.definition) == (2, "long")
    assert syntax.sound(tuple(b"        z)")) == 9


def test_a_prefix_in_fill_in_the_middle_is_read() -> None:
    prefix, middle, suffix = TOKENIZER.encode(
        "<|fim_prefix|><|fim_middle|><|fim_suffix|>", special=True
    )
    before, after = b"def f(a):\n    return [", b"]\n"
    syntax = Syntax(TOKENIZER)
    for behind in (after, b""):
        context = DraftContext(
            (prefix, *before, suffix, *behind, middle), suffix=tuple(behind), language="python"
        )
        syntax.start(context)
        found = syntax.place()
        assert found is not None and (found.kind, found.depth) == ("list", 2)


def test_characters_cut_in_two_wait_for_their_end() -> None:
    euro = "€".encode()
    syntax = followed("python", b"x = '" + euro[:1])
    assert syntax.place() == followed("python", b"x = '").place()
    syntax.commit(tuple(euro[1:] + b"'"))
    assert syntax.place() == followed("python", "x = '€'").place()


class Failing(Grammar):
    def parse(self, text: bytes, old: object = None) -> object:  # type: ignore[override]
        raise RuntimeError("a bug in a grammar")


def test_a_grammar_that_fails_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("redraft.syntax.following.Grammar", Failing)
    syntax = Syntax(TOKENIZER, said.append)
    for _ in range(2):
        syntax.start(DraftContext((1, 2, 3), language="python"))
        syntax.commit((65,))
        assert syntax.place() is None and syntax.expected() == () and syntax.names() == ()
        assert syntax.sound((41, 41)) == 2
        assert syntax.unavailable == "RuntimeError: a bug in a grammar"
    assert said == ["RuntimeError: a bug in a grammar"]


def test_a_grammar_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(grammar, "import_module", missing)
    syntax = followed("go", b"package a")
    assert syntax.place() is None
    assert syntax.unavailable == (
        "the grammar tree-sitter-go cannot be loaded: No module named 'tree_sitter_go'"
    )


def test_a_parse_without_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammar, "LONGEST", -1.0)
    syntax = followed("python", b"x = 1\n" * 1000)
    assert syntax.place() is None
    assert syntax.unavailable is not None and "parsing took more than" in syntax.unavailable


def test_an_unknown_language_has_no_place() -> None:
    syntax = followed("klingon", b"x")
    assert syntax.place() is None
    assert syntax.unavailable == "there is no grammar for 'klingon'"
    assert followed("").unavailable == "there is no grammar without a language"


@pytest.mark.parametrize(
    ("language", "text", "draft", "sound"),
    [
        ("python", "x = (1", ")\n", 2),
        ("python", "x = (1", "))\n", 1),
        ("python", "if x:\n    y\n", "  z", 2),
        ("python", "if x:\n    y\n", "z = 1", 5),
        ("python", "x = '", ")))'", 4),
        ("python", "x = )\n", ")", 1),  # it was broken before
        ("javascript", "f(() => {", "})", 2),
        ("javascript", "f(() => {", "})}", 2),
        ("javascript", "/* ", "}}}", 3),
        ("klingon", "x", ")))", 3),
    ],
)
def test_sound_drafts(language: str, text: str, draft: str, sound: int) -> None:
    assert followed(language, text).sound(tuple(draft.encode())) == sound


def test_names_in_scope() -> None:
    text = "import os\ndef first(alpha):\n    beta = alpha\ndef second(gamma):\n    x = "
    assert followed("python", text).names() == ("gamma", "second", "alpha", "first", "os")
