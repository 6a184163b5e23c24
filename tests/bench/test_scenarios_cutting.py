"""Outlines, gaps and refactorings in four languages, and what the checks let through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenario_doubles import GO, PYTHON, RUST, SOURCES, TYPESCRIPT

from redraft.bench.workloads.scenarios import gaps, leaf_checks, python_checks, refactorings
from redraft.bench.workloads.scenarios.archives import SourceFile
from redraft.bench.workloads.scenarios.files import in_turn, outline, rough_tokens
from redraft.bench.workloads.scenarios.grammars import leaves
from redraft.bench.workloads.scenarios.outline import Function
from redraft.bench.workloads.scenarios.pins import LANGUAGES, Language

every_language = pytest.mark.parametrize("language", LANGUAGES)
by_leaves = pytest.mark.parametrize("language", ["go", "rust", "typescript"])


def file_of(language: Language, text: str | None = None) -> SourceFile:
    return SourceFile(language, "store", "store", text or SOURCES[language])


def function(language: Language, name: str) -> Function:
    [found] = [one for one in outline(language, SOURCES[language]).functions if one.name == name]
    return found


@pytest.mark.parametrize(
    ("language", "names", "public", "documented", "top"),
    [
        ("go", "New Get Set newPair all", "New Get Set", "New Get Set", "New Get Set newPair all"),
        (
            "rust",
            "new get count make_pair doubled",
            "new get make_pair",
            "new get make_pair",
            "make_pair doubled",
        ),
        (
            "typescript",
            "constructor get all makeEntry isEmpty",
            "get makeEntry",
            "get makeEntry",
            "makeEntry isEmpty",
        ),
        (
            "python",
            "__init__ get make_pair doubled",
            "get make_pair doubled",
            "get make_pair",
            "make_pair doubled",
        ),
    ],
)
def test_an_outline(language: Language, names: str, public: str, documented: str, top: str) -> None:
    found = outline(language, SOURCES[language])
    assert found.sound
    assert [one.name for one in found.functions] == names.split()
    assert [one.name for one in found.functions if one.public] == public.split()
    assert [one.name for one in found.functions if one.documentation] == documented.split()
    assert [one.name for one in found.functions if one.top_level] == top.split()


def test_documentation_is_whole_lines_and_stands_before_attributes() -> None:
    assert (
        _documentation("go", "Get") == "// Get finds a value. It fails\n// where there is none.\n"
    )
    assert _documentation("rust", "new") == "    /// Makes an empty store.\n"
    assert _documentation("typescript", "get") == "  /** Finds a value. */\n"
    assert _documentation("python", "make_pair").startswith('    """Join two')
    assert function("rust", "new").whole.of(RUST).startswith("#[inline]")
    assert function("typescript", "makeEntry").whole.of(TYPESCRIPT).startswith("export function")
    assert function("python", "make_pair").whole.of(PYTHON).startswith("@functools.cache")


def _documentation(language: Language, name: str) -> str:
    span = function(language, name).documentation
    assert span is not None
    return span.of(SOURCES[language])


def test_a_body_is_what_is_to_be_written() -> None:
    body = function("go", "Set").body.of(GO)
    assert body == "\n\ts.pairs[key] = value\n"
    assert function("python", "make_pair").body.of(PYTHON).startswith("    # in this order\n")


@every_language
def test_broken_text_is_not_sound(language: Language) -> None:
    assert not outline(language, SOURCES[language] + "\nfunc fn def {{{ (\n").sound


@every_language
def test_line_gaps_fit_together_and_have_the_asked_size(language: Language) -> None:
    file = file_of(language)
    found = list(gaps.line_gaps(file, 1))
    assert found
    for gap in found:
        assert gap.prefix + gap.reference + gap.suffix == file.text
        assert "\n" not in gap.reference and gap.suffix.startswith("\n")
        assert gap.prefix.rpartition("\n")[2].strip()
        low, high = gaps.LINE_TOKENS
        assert low <= rough_tokens(gap.reference) <= high
    assert found == list(gaps.line_gaps(file, 1))


@every_language
def test_body_gaps_take_documented_functions(
    language: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gaps, "BODY_TOKENS", (5, 400))
    file = file_of(language)
    found = list(gaps.body_gaps(file))
    documented = [one.name for one in outline(language, file.text).functions if one.documentation]
    assert {gap.where for gap in found} <= set(documented) and found
    assert all(gap.prefix + gap.reference + gap.suffix == file.text for gap in found)


def test_a_gap_shows_whole_lines_of_a_long_file() -> None:
    lines = "".join(f"x{number} = {number}\n" for number in range(2000))
    text = lines + "def f(a):\n    value = call(a, b, c, d)\n    return value\n" + lines
    [gap] = gaps.line_gaps(file_of("python", text), 1)
    assert len(gap.prefix) <= gaps.BEFORE and gap.prefix.startswith("x")
    assert len(gap.suffix) <= gaps.AFTER + 1 and gap.suffix.endswith("\n")


@pytest.fixture
def _any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refactorings, "FILE_TOKENS", (1, 10_000))


@every_language
@pytest.mark.usefixtures("_any_size")
def test_every_kind_refuses_an_output_that_changed_nothing(language: Language) -> None:
    found = refactorings.possible_refactorings(file_of(language), 1)
    assert {"rename", "constant", "move"} <= set(found)
    for one in found.values():
        assert one.check(one.source) is not None, one.kind
        assert one.check("") is not None
        assert one.check(one.source + "\n)(") is not None


@pytest.mark.usefixtures("_any_size")
def test_documenting_takes_the_comments_away_and_wants_them_back() -> None:
    one = refactorings.possible_refactorings(file_of("go"), 1)["document"]
    assert "finds a value" not in one.source and "Store is a map" in one.source
    assert one.check(GO) is None
    assert one.check(GO.replace("// Set keeps a value.\n", "")) == "Set has no doc comment"
    assert one.check(GO.replace("value, nil", "value, err")) == "the code was changed"


def test_files_of_another_size_are_passed_over() -> None:
    assert refactorings.possible_refactorings(file_of("go"), 1) == {}


@by_leaves
def test_a_rename_must_be_whole_and_nothing_else(language: Language) -> None:
    source = SOURCES[language]
    old = {"go": "newPair", "rust": "make_pair", "typescript": "makeEntry"}[language]
    check = leaf_checks.renamed(language, source, old, "another")
    assert check(source.replace(old, "another")) is None
    assert check(source.replace(old, "another").replace("  ", " ")) is None
    assert check(source.replace(old, "another", 1)) == f"{old} is still used"
    assert check(source.replace(old, "another").replace("name", "label")) is not None


def test_an_extracted_constant_must_stand_in_every_place() -> None:
    cases: list[tuple[Language, str, str, str, str]] = [
        ("go", '"default"', "textDefault", 'import "errors"\n', 'const textDefault = "default"\n'),
        ("rust", '"default"', "DEF", "HashMap;\n", 'const DEF: &str = "default";\n'),
        ("typescript", "'default'", "DEF", "'./entry';\n", "const DEF = 'default';\n"),
    ]
    for language, literal, name, place, declaration in cases:
        source = SOURCES[language]
        if language != "typescript":  # where it is a property's value, which may be a constant
            assert leaf_checks.repeated_strings(language, source) == [literal]
        check = leaf_checks.extracted(language, source, literal, name)
        used = source.replace(literal, name)
        good = used.replace(place, place + "\n" + declaration, 1)
        assert check(good) is None, language
        assert check(used) is not None
        assert check(good.replace(name, literal, 2)) is not None
        assert check(good.replace("name", "label")) is not None


@by_leaves
def test_a_moved_function_must_come_last_and_unchanged(language: Language) -> None:
    source = SOURCES[language]
    name = {"go": "Set", "rust": "make_pair", "typescript": "makeEntry"}[language]
    span = function(language, name).whole
    check = leaf_checks.moved(language, source, span)
    moved = source[: span.start] + source[span.end :] + "\n" + span.of(source) + "\n"
    assert check(moved) is None
    assert check(source) is not None
    assert check(moved.replace("value", "other").replace("left", "other")) is not None


def test_python_checks() -> None:
    renamed = python_checks.renamed(PYTHON, "make_pair", "build_pair")
    assert renamed(PYTHON.replace("make_pair", "build_pair")) is None
    assert renamed(PYTHON.replace("make_pair", "build_pair", 1)) is not None
    assert python_checks.repeated_strings(PYTHON) == ['"default"']
    extracted = python_checks.extracted(PYTHON, '"default"', "TEXT")
    used = PYTHON.replace('"default"', "TEXT")
    good = used.replace("import functools\n", 'import functools\n\nTEXT = "default"\n')
    assert extracted(good) is None
    assert extracted(used) == '"default" stands 0 times'
    assert extracted(good.replace("TEXT, None", '"default", None')) is not None
    assert extracted(good.replace("left + right", "right + left")) is not None
    span = function("python", "make_pair").whole
    moved = python_checks.moved(PYTHON, "make_pair")
    assert moved(PYTHON[: span.start] + PYTHON[span.end :] + "\n\n" + span.of(PYTHON)) is None
    assert moved(PYTHON) == "make_pair is not the last definition"


def test_strings_that_cannot_be_constants_are_left_alone() -> None:
    imported = "import a from 'same';\nimport b from 'same';\n"
    assert leaf_checks.repeated_strings("typescript", imported) == []
    features = '#[cfg(feature = "http")]\nfn a() {}\n#[cfg(feature = "http")]\nfn b() {}\n'
    assert leaf_checks.repeated_strings("rust", features) == []


def test_packages_take_turns_in_an_order_fixed_by_the_seed() -> None:
    files = [SourceFile("go", name, f"{number}.go", "") for name in "ab" for number in range(5)]
    first = in_turn(files, 1)
    assert first == in_turn(reversed(files), 1) != in_turn(files, 2)
    assert [file.package for file in first[:2]] in (["a", "b"], ["b", "a"])
    assert {file.path for file in first} == {file.path for file in files}


@given(st.sampled_from(["go", "rust", "typescript"]), st.text(max_size=60))
def test_any_text_can_be_checked(language: Language, text: str) -> None:
    content = text.encode("utf-8", "replace")
    for leaf, place in leaves(language, text):
        assert content[place:].startswith(leaf.encode())
    told = leaf_checks.renamed(language, "", "a", "b")(text)
    assert told is None or told.strip()
