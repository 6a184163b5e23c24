"""Tokens to text as they come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.ends import AT_START, Endings
from redraft.engines.fake import FakeTokenizer
from redraft.streaming import TextStream

TOKENIZER = FakeTokenizer()


@given(st.text(max_size=60), st.lists(st.integers(1, 7), max_size=60))
def test_what_is_shown_is_the_text_however_it_comes(text: str, sizes: list[int]) -> None:
    tokens = TOKENIZER.encode(text)
    stream, shown, start = TextStream(TOKENIZER), "", 0
    for size in [*sizes, len(tokens)]:
        part = stream.add(tokens[start : start + size])
        assert "\N{REPLACEMENT CHARACTER}" not in part or "\N{REPLACEMENT CHARACTER}" in text
        shown, start = shown + part, start + size
    assert shown + stream.finish() == TOKENIZER.decode(tokens)


@given(st.text("ab\n`", max_size=40), st.text("ab\n`", min_size=1, max_size=4))
def test_nothing_from_the_stop_string_on_is_ever_shown(text: str, stop: str) -> None:
    stream = TextStream(TOKENIZER, [stop])
    shown = "".join(stream.add([token]) for token in TOKENIZER.encode(text)) + stream.finish()
    assert shown == text.split(stop, 1)[0] == stream.shown


def test_half_a_character_is_held_back_and_shown_broken_at_the_end() -> None:
    stream = TextStream(TOKENIZER)
    assert stream.add("é".encode()[:1]) == ""
    assert stream.finish() == "\N{REPLACEMENT CHARACTER}"


@given(st.text("a \n\t", max_size=40), st.integers(1, 4), st.lists(st.integers(1, 7), max_size=40))
def test_text_is_cut_before_the_first_line_out_of_the_indentation(
    text: str, indent: int, sizes: list[int]
) -> None:
    tokens, stream, start = TOKENIZER.encode(text), TextStream(TOKENIZER, (), indent), 0
    shown = ""
    for size in [*sizes, len(tokens)]:
        shown, start = shown + stream.add(tokens[start : start + size]), start + size
    end = Endings(TOKENIZER, indent=indent)(tokens)
    assert shown + stream.finish() == inside(text, indent)
    assert (end is None) == (inside(text, indent) == text)


def inside(text: str, indent: int) -> str:
    """The lines before the first one, but for the very first, with too little white space."""
    first, *lines = text.splitlines(keepends=True) or [""]
    kept = [first]
    for line in lines:
        body = line.lstrip(" \t")
        if body and len(line) - len(body) < indent:
            break
        kept.append(line)
    return "".join(kept)


@pytest.mark.parametrize(
    ("text", "shown"), [("```", ""), ("```\nx", ""), ("``", "``"), ("``x", "``x"), ("a```", "a```")]
)
def test_a_stop_string_at_the_start_is_cut_there_alone(text: str, shown: str) -> None:
    stream = TextStream(TOKENIZER, ["\n```", AT_START + "```"])
    parts = [stream.add([token]) for token in TOKENIZER.encode(text)]
    assert parts[:2] == [""] * 2 or not text.startswith("``")
    assert "".join(parts) + stream.finish() == stream.shown == shown
