"""The parts of the engines' suite that depend on the weights, on the larger default ones."""

from __future__ import annotations

import numpy as np
import pytest

from redraft.engines import Opened
from redraft.errors import Cancelled
from redraft.protocols import Logits, Sequence

pytestmark = pytest.mark.models

CODE = "".join(
    f"def area_{n}(width, height):\n    return width * height * {n}\n\n" for n in range(40)
)
SIZES = [2, 3, 21, 64, 41, 5, 130, 33, 8]


@pytest.fixture
def tokens(large_ik: Opened) -> list[int]:
    """640 tokens of code."""
    return large_ik.tokenizer.encode(CODE)[:640]


def last_rows(sequence: Sequence, tokens: list[int], sizes: list[int]) -> Logits:
    """Logits after each of the last 16 tokens, with those before in pieces of these sizes."""
    start = number = 0
    while start < len(tokens) - 16:
        size = min(sizes[number % len(sizes)], len(tokens) - 16 - start)
        size += len(tokens) - 16 - start - size == 1
        sequence.evaluate(tokens[start : start + size], rows=0)
        start += size
        number += 1
    return sequence.evaluate(tokens[-16:], rows=16)


def test_numerics_do_not_depend_on_the_cut_and_survive_saving(
    large_ik: Opened, tokens: list[int]
) -> None:
    engine = large_ik.engine
    assert engine.invariant_from is not None and engine.invariant_from <= 2
    whole, pieces = engine.open_sequence(), engine.open_sequence()
    expected = last_rows(whole, tokens, [len(tokens)])
    assert np.array_equal(last_rows(pieces, tokens, SIZES), expected)
    fork = whole.fork()
    others = [engine.open_sequence() for _ in range(4)]  # they take all live contexts
    for number, other in enumerate(others):
        other.evaluate(tokens[number : number + 9], rows=0)
    for sequence in (fork, pieces, whole):
        sequence.truncate(len(tokens) - 5)
        assert np.array_equal(sequence.evaluate(tokens[-5:], rows=5), expected[-5:])
    for sequence in (whole, pieces, fork, *others):
        sequence.close()


def test_decoding_in_turns_equals_each_alone(large_ik: Opened, tokens: list[int]) -> None:
    engine = large_ik.engine
    texts = [tokens[:90], tokens[200:290]]
    expected = []
    for text in texts:
        alone = engine.open_sequence()
        expected.append(alone.evaluate(text, rows=50))
        alone.close()
    sequences = [engine.open_sequence() for _ in texts]
    for sequence, text in zip(sequences, texts, strict=True):
        sequence.evaluate(text[:40], rows=0)
    for start, size in ((40, 2), (42, 5), (47, 12), (59, 31)):
        for number, sequence in enumerate(sequences):
            rejected = tokens[start + number : start + number + 3]
            part = texts[number][start : start + size]
            got = sequence.evaluate([*part, *rejected], rows=size + 3)[:size]
            sequence.truncate(start + size)
            assert np.array_equal(got, expected[number][start - 40 : start - 40 + size])
    for sequence in sequences:
        sequence.close()


def test_cancelled_inside_a_long_forward(large_ik: Opened, tokens: list[int]) -> None:
    engine = large_ik.engine
    sequence = engine.open_sequence()
    sequence.evaluate(tokens[:60], rows=0)
    control, asked = sequence.fork(), 0

    def fourth_time() -> bool:
        nonlocal asked
        asked += 1
        return asked > 3

    with pytest.raises(Cancelled):
        sequence.evaluate(tokens[60:572], rows=1, cancelled=fourth_time)
    assert sequence.length == 60
    expected = control.evaluate(tokens[60:90], rows=30)
    assert np.array_equal(sequence.evaluate(tokens[60:90], rows=30), expected)
    sequence.close()
    control.close()
