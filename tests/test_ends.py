"""Where an output ends."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.ends import AT_START, LONGEST_PERIOD, LOOP_REPEATS, LOOP_TOKENS, End, Endings
from redraft.engines.fake import FakeTokenizer

TOKENIZER = FakeTokenizer()
STOP = 258


class Words(FakeTokenizer):
    """Tokens of several bytes, also such that hold parts of characters."""

    PIECES = (b"a", b"ab", b"b", b"ba", "é".encode()[:1], "é".encode()[1:] + b"a", b"\n", b"\n\n")

    @property
    def vocab_size(self) -> int:
        return len(self.PIECES)

    def piece(self, token: int) -> bytes:
        return self.PIECES[token]

    def is_end(self, token: int) -> bool:
        return False


def fed(ends: Endings, tokens: list[int], sizes: list[int]) -> End | None:
    """The end, when the output comes in steps of these sizes."""
    read = 0
    for size in sizes:
        read += size
        end = ends(tokens[:read])
        if end is not None:
            return end
    return ends(tokens)


def ends_of(text: str, *stop: str) -> End | None:
    return Endings(TOKENIZER, stop)(TOKENIZER.encode(text))


def test_nothing_ends_an_ordinary_text() -> None:
    assert ends_of("def f():\n    return 1\n") is None
    assert Endings(TOKENIZER, ("x",))([]) is None


def test_a_stop_string_ends_after_the_token_that_completes_it() -> None:
    assert ends_of("one\ntwo", "\n") == End(4, "stop")
    assert ends_of("one END two", "END") == End(7, "stop")
    assert ends_of("EN END", "END", "nope") == End(6, "stop")
    assert ends_of("one", "") is None


def test_an_end_token_ends_and_belongs_to_the_output() -> None:
    tokens = [*b"abc", STOP, *b"def"]
    assert Endings(TOKENIZER)(tokens) == End(4, "stop")
    assert Endings(TOKENIZER, end_tokens=[ord("b")])(tokens) == End(2, "stop")


@given(
    st.lists(st.integers(0, 7), max_size=30),
    st.lists(st.sampled_from(["a", "ab", "ba", "aba", "bé", "éa", "\n\n", "\n\n\n"]), max_size=3),
    st.lists(st.integers(1, 6), max_size=12),
)
def test_stop_strings_across_tokens_and_bytes(
    tokens: list[int], stop: list[str], sizes: list[int]
) -> None:
    """Against searching the whole text after every token; any steps give the same end."""
    words = Words()
    expected = None
    for count in range(1, len(tokens) + 1):
        text = b"".join(words.piece(token) for token in tokens[:count])
        found = {text.find(s.encode()): s for s in reversed(stop) if s.encode() in text}
        if found:
            expected = (End(count, "stop"), min(found))
            break
    ends = Endings(words, stop)
    got = fed(ends, tokens, sizes)
    if expected is None:
        assert got is None
        assert ends.stopped_by is None
    else:
        text = b"".join(words.piece(token) for token in tokens[: expected[0].length])
        assert got == expected[0]
        assert ends.stopped_by in stop
        assert text.find(ends.stopped_by.encode()) == expected[1]


def test_a_stop_string_at_the_start_ends_what_begins_with_it() -> None:
    assert ends_of("```\nmore", AT_START + "```") == End(3, "stop")
    assert ends_of("a```\n```", AT_START + "```") is None
    ends = Endings(TOKENIZER, ["\n```", AT_START + "```"])
    assert ends(TOKENIZER.encode("``")) is None
    assert ends(TOKENIZER.encode("```")) == End(3, "stop")
    assert ends.stopped_by == "```"


def test_the_stop_string_that_begins_first_is_named() -> None:
    ends = Endings(Words(), ("b", "ab", "a"))
    assert ends([1]) == End(1, "stop")
    assert ends.stopped_by in ("ab", "a")


def test_a_stop_string_that_no_text_can_hold_does_no_harm() -> None:
    assert ends_of("a?b\ufffd", "\ud800") is None
    assert ends_of("a?b", "\ud800", "b") == End(3, "stop")


def loop(period: int, count: int) -> list[int]:
    block = [(7 * number + period) % 256 for number in range(period)]
    return (block * (count // period + 1))[:count]


@pytest.mark.parametrize("period", [1, 2, 3, 10, 33, 34, 40, LONGEST_PERIOD])
def test_a_repeated_block_is_a_loop_after_enough_of_it(period: int) -> None:
    needed = max(LOOP_TOKENS, LOOP_REPEATS * period)
    before = [random.Random(period).randrange(256) for _ in range(50)]
    ends = Endings(TOKENIZER)
    end = ends(before + loop(period, 2 * needed))
    assert end is not None
    assert end.reason == "loop"
    # the text before may end like the block, by chance
    assert needed + 50 - 2 <= end.length <= needed + 50
    assert Endings(TOKENIZER)(before + loop(period, needed - 3)) is None


def test_longer_blocks_and_near_repeats_are_no_loop() -> None:
    assert Endings(TOKENIZER)(loop(LONGEST_PERIOD + 1, 1500)) is None
    rng = random.Random(1)
    table = [token for row in range(200) for token in (*b"    (", rng.randrange(256), *b", 0),\n")]
    assert Endings(TOKENIZER)(table) is None
    broken = loop(3, 900)
    for position in range(150, 900, 150):
        broken[position] = 255
    assert Endings(TOKENIZER)(broken) is None


def test_what_the_known_text_repeats_may_be_repeated() -> None:
    zeros = list(b"0, " * 200)
    assert Endings(TOKENIZER, known=zeros)(zeros) is None
    assert Endings(TOKENIZER, known=zeros)(zeros + zeros[:450]) is None
    end = Endings(TOKENIZER, known=zeros)(zeros * 3)
    assert end is not None and end.reason == "loop"
    other = Endings(TOKENIZER, known=zeros)(loop(5, 400))
    assert other is not None and other.reason == "loop"
    assert Endings(TOKENIZER, known=list(b"0, ") * 5)(zeros) == Endings(TOKENIZER)(zeros)


@given(st.lists(st.sampled_from([*b"ab\n", STOP]), max_size=400), st.lists(st.integers(1, 90)))
def test_ends_do_not_depend_on_the_steps(tokens: list[int], sizes: list[int]) -> None:
    assert fed(Endings(TOKENIZER, ("ab\na",)), tokens, sizes) == fed(
        Endings(TOKENIZER, ("ab\na",)), tokens, [1] * len(tokens)
    )
