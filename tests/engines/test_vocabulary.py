"""Text to tokens over a library that finds markers in plain text."""

from __future__ import annotations

import re
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as some

from redraft.engines.native import NativeEngine, NativeWeights
from redraft.engines.vocabulary import NativeTokenizer, cut_inside

MARKERS = {256: "<tool_call>", 257: "<<", 258: "][[]", 259: "\n\n", 260: "ä"}
HARMLESS = {259, 260}
some_text = some.lists(some.sampled_from([*MARKERS.values(), "<", "[", "a", " ", "é"])).map("".join)


class GreedyWeights:
    """A vocabulary of bytes and markers, which are taken wherever they stand."""

    vocab_size = 261

    def __init__(self, prefix: bytes = b"") -> None:
        self._prefix = prefix
        self.looked_up: list[int] = []

    def tokenize(self, text: bytes, special: bool) -> list[int]:
        ids = {marker.encode(): token for token, marker in MARKERS.items()}
        pattern = b"|".join(map(re.escape, ids)) + b"|(?s:.)"
        found = re.findall(pattern, self._prefix + text)
        return [ids[piece] if piece in ids else piece[0] for piece in found]

    def piece(self, token: int) -> bytes:
        return MARKERS[token].encode() if token in MARKERS else bytes([token])

    def is_user_defined(self, token: int) -> bool:
        self.looked_up.append(token)
        return token in MARKERS


def tokenizer_over(weights: GreedyWeights) -> NativeTokenizer:
    return NativeTokenizer(NativeEngine(cast("NativeWeights", weights), 0, 1, None))


@given(text=some_text)
def test_no_marker_comes_out_of_a_text_and_the_text_comes_back(text: str) -> None:
    tokenizer = tokenizer_over(GreedyWeights())
    tokens = tokenizer.encode(text)
    assert not MARKERS.keys() - HARMLESS & set(tokens)
    assert tokenizer.decode(tokens) == text


def test_a_template_gets_its_markers_and_white_space_stays_whole() -> None:
    tokenizer = tokenizer_over(GreedyWeights())
    assert tokenizer.encode("a<tool_call>\n\n", special=True) == [97, 256, 259]
    assert tokenizer.encode("a\n\nä") == [97, 259, 260]


def test_each_token_is_looked_up_once() -> None:
    weights = GreedyWeights()
    tokenizer = tokenizer_over(weights)
    for _ in range(3):
        tokenizer.encode("abba<tool_call>")
    assert len(weights.looked_up) == len(set(weights.looked_up))


def test_where_a_piece_begins_with_a_space_the_library_is_believed() -> None:
    weights = GreedyWeights(b" ")
    assert tokenizer_over(weights).encode("<tool_call>") == [32, 256]


@pytest.mark.parametrize(
    ("text", "markers", "pieces"),
    [
        ("plain", {"<tool_call>"}, ["plain"]),
        ("a<tool_call>b", {"<tool_call>"}, ["a<tool", "_call>b"]),
        ("<think>", {"<think>"}, ["<think", ">"]),
        ("<<<", {"<<"}, ["<", "<", "<"]),
        ("][[]", {"][[]"}, ["][", "[]"]),
    ],
)
def test_a_text_is_cut_inside_its_markers(text: str, markers: set[str], pieces: list[str]) -> None:
    assert cut_inside(text, markers) == pieces
