"""What the engines over C libraries share, with a library in memory."""

from __future__ import annotations

import numpy as np
import pytest

from memory_weights import MemoryWeights
from redraft.engines.native import LARGEST_FORWARD, SHORTEST_PIECE, NativeEngine, pieces
from redraft.errors import EngineError, SequenceClosed
from redraft.invariance import Invariance

PROMPT = list(range(40))


def engine_over(weights: MemoryWeights, live_sequences: int = 2) -> NativeEngine:
    return NativeEngine(weights, 512, live_sequences, Invariance(2, 0.0))


@pytest.fixture
def weights() -> MemoryWeights:
    return MemoryWeights(512)


@pytest.fixture
def engine(weights: MemoryWeights) -> NativeEngine:
    return engine_over(weights)


@pytest.mark.parametrize("count", [*range(1, 300), 512, 513, 640, 900, 8191])
def test_long_calls_are_cut_into_no_short_forward(count: int) -> None:
    sizes = pieces(count)
    assert sum(sizes) == count
    assert max(sizes) <= LARGEST_FORWARD
    assert min(sizes) >= min(count, SHORTEST_PIECE)


def test_only_so_many_contexts_are_open_and_the_one_used_longest_ago_is_parked(
    engine: NativeEngine, weights: MemoryWeights
) -> None:
    sequences = [engine.open_sequence() for _ in range(5)]
    assert weights.opened == 0
    for sequence in sequences:
        sequence.evaluate(PROMPT, rows=0)
        assert len(weights.contexts) <= 2
    assert weights.opened == 5
    sequences[4].evaluate([1], rows=0)
    sequences[3].evaluate([1], rows=0)
    assert weights.opened == 5  # both were live still
    sequences[0].evaluate([1], rows=0)
    sequences[3].evaluate([1], rows=0)
    assert weights.opened == 6  # 4 was parked for 0, not 3


def test_a_fork_takes_no_context_until_it_is_evaluated(
    engine: NativeEngine, weights: MemoryWeights
) -> None:
    parent = engine.open_sequence()
    parent.evaluate(PROMPT, rows=0)
    forks = [parent.fork() for _ in range(10)]
    assert weights.opened == 1
    forks[0].evaluate([1], rows=1)
    assert weights.opened == 2


def test_closing_gives_contexts_back(engine: NativeEngine, weights: MemoryWeights) -> None:
    sequences = [engine.open_sequence() for _ in range(4)]
    for sequence in sequences:
        sequence.evaluate(PROMPT, rows=0)
    for sequence in sequences:
        sequence.close()
    assert not weights.contexts
    engine.close()
    assert weights.closed


def test_the_engine_closes_what_is_open(engine: NativeEngine, weights: MemoryWeights) -> None:
    sequence = engine.open_sequence()
    sequence.evaluate(PROMPT, rows=0)
    engine.close()  # the weights mind that no context is left
    engine.close()
    assert weights.closed
    sequence.park()
    for refused in (lambda: engine.weights, engine.open_sequence, sequence.fork):
        with pytest.raises(SequenceClosed):
            refused()
    assert engine.vocab_size == 264
    assert engine.invariant_from == 2


def test_no_memory_for_a_context_is_said_and_leaves_the_sequence(
    weights: MemoryWeights,
) -> None:
    weights._most = 1
    engine = engine_over(weights)
    first, second = engine.open_sequence(), engine.open_sequence()
    first.evaluate(PROMPT, rows=0)
    with pytest.raises(EngineError, match="no memory for a context of 512 tokens"):
        second.evaluate(PROMPT, rows=0)
    first.close()
    assert second.length == 0
    second.evaluate(PROMPT, rows=0)


def test_a_refused_forward_leaves_the_sequence(
    engine: NativeEngine, weights: MemoryWeights
) -> None:
    sequence, control = engine.open_sequence(), engine.open_sequence()
    for each in (sequence, control):
        each.evaluate(PROMPT, rows=0)
    weights.code = 1
    with pytest.raises(EngineError, match=r"refused a forward of 5 tokens \(code 1\)"):
        sequence.evaluate([1, 2, 3, 4, 5], rows=5)
    weights.code = 0
    assert sequence.length == 40
    expected = control.evaluate([9, 8], rows=2)
    assert np.array_equal(sequence.evaluate([9, 8], rows=2), expected)


def test_an_interrupt_inside_a_forward_leaves_the_sequence(
    engine: NativeEngine, weights: MemoryWeights, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by Ctrl-C, which arrives when the library returns; the next use finds all in order."""
    for use in ("evaluate", "truncate", "fork", "park"):
        sequence, control = engine.open_sequence(), engine.open_sequence()
        for each in (sequence, control):
            each.evaluate(PROMPT, rows=0)

        def interrupted(context: int, rows: int) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(weights, "logits", interrupted)
            sequence.evaluate(list(range(200)), rows=1)
        assert sequence.length == 40
        if use == "truncate":
            sequence.truncate(39)
            control.truncate(39)
        if use == "fork":
            sequence = sequence.fork()
        if use == "park":
            sequence.park()
        expected = control.evaluate([9, 8], rows=2)
        assert np.array_equal(sequence.evaluate([9, 8], rows=2), expected)


def test_weights_that_cannot_forget_or_be_saved_say_so(
    engine: NativeEngine, weights: MemoryWeights, monkeypatch: pytest.MonkeyPatch
) -> None:
    sequence = engine.open_sequence()
    sequence.evaluate(PROMPT, rows=0)
    monkeypatch.setattr(weights, "forget_from", lambda context, position: False)
    with pytest.raises(EngineError, match="cannot forget"):
        sequence.truncate(3)
    monkeypatch.setattr(weights, "save", lambda context: b"")
    with pytest.raises(EngineError, match="no memory to save"):
        sequence.fork()
    assert sequence.length == 40
    monkeypatch.undo()
    parked = sequence.fork()
    monkeypatch.setattr(weights, "restore", lambda context, state: False)
    with pytest.raises(EngineError, match="could not be restored"):
        parked.evaluate([1], rows=0)
    assert len(weights.contexts) == 1
