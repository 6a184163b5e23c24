"""What every engine must keep to: state, numerics, limits. `fake` runs by default, `ik` with real
weights by `-m models`, `llamacpp` by `-m llamacpp`.

Where an engine's numerics depend on how a text is cut, two ways to one state are compared with the
same cuts, which must agree bitwise in every engine.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from amount import examples
from conftest import WEIGHTLESS
from redraft.engines import Opened
from redraft.errors import BadToken, ContextFull, RedraftError, SequenceClosed
from redraft.protocols import MAX_ROWS, Engine, Logits, Sequence

WRONG = 3.0
"""Rounding moves a logit by up to about 1, a wrong KV cache by 10 and more."""


def text(engine: Engine, count: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(0, engine.vocab_size, count).tolist()


def cut(tokens: list[int], sizes: list[int]) -> list[list[int]]:
    """`tokens` in pieces of these sizes, in turn; a rest of one token joins the piece before."""
    pieces, start = [], 0
    while start < len(tokens):
        size = sizes[len(pieces) % len(sizes)]
        if len(tokens) - start - size == 1:
            size += 1
        pieces.append(tokens[start : start + size])
        start += size
    return pieces


def continued(sequence: Sequence, tokens: list[int]) -> Logits:
    """Logits after each of `tokens`; the sequence is left as it was."""
    length = sequence.length
    logits = sequence.evaluate(tokens, rows=len(tokens))
    sequence.truncate(length)
    return logits


def assert_same_state(one: Sequence, other: Sequence, engine: Engine) -> None:
    probe = text(engine, 4, seed=99)
    assert one.length == other.length
    assert np.array_equal(continued(one, probe), continued(other, probe))


@pytest.fixture
def engine(opened: Opened) -> Engine:
    return opened.engine


# --- one sequence ---------------------------------------------------------------------------


def test_logits_have_their_shape_and_are_the_callers_own(engine: Engine) -> None:
    sequence = engine.open_sequence()
    tokens = text(engine, 70)
    first = sequence.evaluate(tokens[:5], rows=3)
    assert first.shape == (3, engine.vocab_size)
    assert first.dtype == np.float32
    assert np.isfinite(first).all()
    kept = first.copy()
    assert sequence.evaluate(tokens[5:], rows=MAX_ROWS).shape == (MAX_ROWS, engine.vocab_size)
    assert sequence.evaluate(tokens[:2], rows=0).shape == (0, engine.vocab_size)
    assert np.array_equal(first, kept)
    assert sequence.length == 72
    sequence.close()


def test_fewer_rows_are_the_last_ones(engine: Engine) -> None:
    sequence = engine.open_sequence()
    tokens = text(engine, 9)
    sequence.evaluate(tokens, rows=0)
    all_rows = continued(sequence, tokens)
    for rows in (1, 4):
        assert np.array_equal(sequence.evaluate(tokens, rows), all_rows[-rows:])
        sequence.truncate(9)
    sequence.close()


def test_rows_may_span_the_pieces_of_a_long_call(engine: Engine) -> None:
    sequence = engine.open_sequence()
    tokens = text(engine, 140)
    for count, rows in ((140, 64), (131, 1), (129, 0), (140, 20)):
        sequence.truncate(0)
        together = sequence.evaluate(tokens[:count], rows)
        assert together.shape == (rows, engine.vocab_size)
        assert sequence.length == count
        sequence.truncate(0)
        sequence.evaluate(tokens[: count - 64], rows=0)
        apart = sequence.evaluate(tokens[count - 64 : count], rows=64)[64 - rows :]
        if engine.invariant_from is not None:
            assert np.array_equal(together, apart)
        elif rows:
            assert np.abs(together - apart).max() < WRONG
    sequence.close()


def test_truncated_and_evaluated_again_gives_the_same(engine: Engine) -> None:
    sequence = engine.open_sequence()
    prompt, tail, other = text(engine, 40), text(engine, 8, seed=1), text(engine, 8, seed=2)
    sequence.evaluate(prompt, rows=0)
    before = sequence.evaluate(tail, rows=8)
    for detour in (other[:3], other, text(engine, 100, seed=3)):
        sequence.truncate(40)
        sequence.evaluate(detour, rows=1)
        sequence.truncate(40)
        assert np.array_equal(sequence.evaluate(tail, rows=8), before)
    sequence.truncate(0)
    assert sequence.length == 0
    sequence.evaluate(prompt, rows=0)
    assert np.array_equal(sequence.evaluate(tail, rows=8), before)
    sequence.truncate(48)
    assert sequence.length == 48
    sequence.close()


def test_another_text_gives_other_logits(engine: Engine) -> None:
    """Guards the comparisons above: logits must depend on the whole text."""
    tail = text(engine, 8)
    results = []
    for seed in (1, 2):
        sequence = engine.open_sequence()
        sequence.evaluate(text(engine, 40, seed=seed), rows=0)
        sequence.evaluate(tail[:1] * 2, rows=0)
        results.append(sequence.evaluate([*text(engine, 1, seed=seed), *tail[1:]], rows=8))
        sequence.close()
    assert not np.array_equal(results[0], results[1])


# --- how a text is cut ----------------------------------------------------------------------

CUTS = {
    "twos first": [2] * 40 + [512],
    "twos last": [512, 48] + [2] * 40,
    "sevens last": [512, 128, 120] + [7] * 20,
    "129": [129],
    "mixed": [2, 3, 20, 21, 40, 41, 64, 5, 100, 33, 250],
}
"""Sizes of the pieces of a prompt, in turn."""


def after_pieces(engine: Engine, tokens: list[int], sizes: list[int], probe: list[int]) -> Logits:
    sequence = engine.open_sequence()
    for piece in cut(tokens, sizes):
        sequence.evaluate(piece, rows=0)
    logits = sequence.evaluate(probe, rows=len(probe))
    sequence.close()
    return logits


@pytest.mark.parametrize(
    ("count", "names"),
    [(640, ["twos first", "twos last", "mixed"]), (900, ["sevens last", "129"])],
)
def test_a_prompt_may_come_in_pieces(engine: Engine, count: int, names: list[str]) -> None:
    tokens, probe = text(engine, count, seed=count), text(engine, 16, seed=5)
    whole = after_pieces(engine, tokens, [count], probe)
    for name in names:
        sizes = [max(size, engine.invariant_from or 1) for size in CUTS[name]]
        pieces = after_pieces(engine, tokens, sizes, probe)
        if engine.invariant_from is not None:
            assert np.array_equal(pieces, whole), name
        elif engine.vocab_size > 1000:
            assert np.abs(pieces - whole).max() < WRONG, name


def test_invariance_holds_for_code_in_steps_of_a_decoder(opened: Opened) -> None:
    """The measured number on another kind of text, with rows asked for at each step."""
    engine = opened.engine
    if engine.invariant_from is None:
        return
    source = "".join(f"def f{n}(x):\n    return x + {n}\n\n\n" for n in range(60))
    tokens = opened.tokenizer.encode(source)[:300]
    whole, stepped = engine.open_sequence(), engine.open_sequence()
    for start in (0, 150):
        stepped.truncate(0)
        stepped.evaluate(tokens[:150], rows=0)
        whole.truncate(0)
        whole.evaluate(tokens[: 150 + start], rows=0)
        rng, position = np.random.default_rng(start), 150
        while position + 20 < len(tokens):
            size = int(rng.integers(engine.invariant_from, 20))
            guess = text(engine, 3, seed=position)
            stepped.evaluate([*tokens[position : position + size], *guess], rows=size + 3)
            position += size
            stepped.truncate(position)
        whole.truncate(min(position, whole.length))
        if whole.length < position:
            whole.evaluate(tokens[whole.length : position], rows=0)
        assert_same_state(stepped, whole, engine)
    whole.close()
    stepped.close()


# --- several sequences ----------------------------------------------------------------------


def test_a_fork_continues_bitwise_equal_and_apart(engine: Engine) -> None:
    parent = engine.open_sequence()
    parent.evaluate(text(engine, 60), rows=0)
    forks = [parent.fork(), parent.fork()]
    forks.append(forks[0].fork())  # of a sequence that was never evaluated itself
    probe = text(engine, 5, seed=4)
    expected = continued(parent, probe)
    parent.evaluate(text(engine, 30, seed=6), rows=1)
    for fork in forks:
        assert fork.length == 60
        assert np.array_equal(continued(fork, probe), expected)
    parent.close()
    assert np.array_equal(continued(forks[0], probe), expected)
    for fork in forks:
        fork.close()


def test_an_empty_sequence_can_be_forked(engine: Engine) -> None:
    parent = engine.open_sequence()
    fork = parent.fork()
    tokens = text(engine, 6)
    assert np.array_equal(parent.evaluate(tokens, rows=6), fork.evaluate(tokens, rows=6))
    parent.close()
    fork.close()


def test_more_sequences_than_live_contexts_are_saved_and_restored(engine: Engine) -> None:
    prompts = [text(engine, 20 + 7 * number, seed=number) for number in range(6)]
    probe = text(engine, 4, seed=8)
    expected = []
    for prompt in prompts:
        alone = engine.open_sequence()
        alone.evaluate(prompt, rows=0)
        expected.append(continued(alone, probe))
        alone.close()
    sequences = [engine.open_sequence() for _ in prompts]
    for sequence, prompt in zip(sequences, prompts, strict=True):
        sequence.evaluate(prompt, rows=0)
    for _ in range(2):
        for number in (0, 5, 1, 4, 2, 3):
            assert np.array_equal(continued(sequences[number], probe), expected[number])
    for sequence in sequences:
        sequence.close()


Operation = tuple[str, int, int]
operations = st.lists(
    st.one_of(
        st.tuples(st.just("evaluate"), st.integers(0, 3), st.integers(2, 24)),
        st.tuples(st.just("truncate"), st.integers(0, 3), st.integers(0, 100)),
        st.tuples(st.just("fork"), st.integers(0, 3), st.integers(0, 3)),
    ),
    min_size=12,
    max_size=24,
)


class Interleaving:
    """Four slots with sequences; remembers for each what was done to it and what came out."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.sequences = [engine.open_sequence() for _ in range(4)]
        self.done: list[list[tuple[str, list[int], int]]] = [[] for _ in self.sequences]
        self.results: list[list[Logits]] = [[] for _ in self.sequences]

    def run(self, schedule: list[Operation]) -> None:
        for number, (kind, slot, value) in enumerate(schedule):
            if kind == "evaluate":
                tokens = text(self.engine, value, seed=number)
                rows = min(value, 6)
                self.done[slot].append((kind, tokens, rows))
                self.results[slot].append(self.sequences[slot].evaluate(tokens, rows))
            elif kind == "truncate":
                length = self.sequences[slot].length * value // 100
                self.done[slot].append((kind, [], length))
                self.sequences[slot].truncate(length)
            elif slot != value:
                self.sequences[value].close()
                self.sequences[value] = self.sequences[slot].fork()
                self.done[value] = list(self.done[slot])
                self.results[value] = list(self.results[slot])

    def close(self) -> None:
        for sequence in self.sequences:
            sequence.close()


def alone(engine: Engine, done: list[tuple[str, list[int], int]]) -> list[Logits]:
    sequence = engine.open_sequence()
    results = []
    for kind, tokens, value in done:
        if kind == "evaluate":
            results.append(sequence.evaluate(tokens, value))
        else:
            sequence.truncate(value)
    sequence.close()
    return results


def test_interleaved_sequences_equal_each_alone(engine: Engine, engine_name: str) -> None:
    """Evaluated in turns, forked, truncated, and (with 4 for 3 contexts) saved and restored."""

    @settings(
        max_examples=examples(60) if engine_name in WEIGHTLESS else 4,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operations)
    def check(schedule: list[Operation]) -> None:
        warm_up: list[Operation] = [("evaluate", slot, 9 + slot) for slot in range(4)]
        interleaving = Interleaving(engine)
        interleaving.run(warm_up + schedule)
        interleaving.close()
        for done, results in zip(interleaving.done, interleaving.results, strict=True):
            for got, expected in zip(results, alone(engine, done), strict=True):
                assert np.array_equal(got, expected)

    check()


def test_threads_take_turns(engine: Engine) -> None:
    tokens = [text(engine, 24, seed=seed) for seed in range(2)]
    expected = [alone(engine, [("evaluate", part, 4)] * 4)[-1] for part in tokens]
    got: dict[int, Logits] = {}

    def run(number: int) -> None:
        sequence = engine.open_sequence()
        for _ in range(4):
            got[number] = sequence.evaluate(tokens[number], rows=4)
        sequence.close()

    threads = [Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(got[number], expected[number]) for number in range(2))


# --- refusals -------------------------------------------------------------------------------


def bad_calls(engine: Engine) -> list[tuple[Any, Any, type[RedraftError]]]:
    size = engine.vocab_size
    tokens: list[Any] = [
        [], [-1], [size], [1, 2, size], [2**31], [2**40], [2**70], [-(2**70)], [1.5], [1.0],
        ["1"], "12", [None], [[1, 2]], [True], np.array([1.0]), np.array(3), 7, None, b"ab",
    ]  # fmt: skip
    calls: list[tuple[Any, Any, type[RedraftError]]] = [(bad, 0, BadToken) for bad in tokens]
    for rows in (-1, 4, 65, 2**40, 1.5, "1", None):
        calls.append(([1, 2, 3], rows, BadToken))
    calls.append(([1] * 100, 65, BadToken))
    calls.append(([1] * 2048, 0, ContextFull))
    return calls


def test_bad_calls_are_refused_and_change_nothing(engine: Engine) -> None:
    sequence, untouched = engine.open_sequence(), engine.open_sequence()
    for each in (sequence, untouched):
        each.evaluate(text(engine, 12), rows=0)
    for tokens, rows, error in bad_calls(engine):
        with pytest.raises(error) as caught:
            sequence.evaluate(tokens, rows)
        assert "\n" not in str(caught.value)
        assert sequence.length == 12
    for length in (-1, 13, 2**40, 1.5, None):
        with pytest.raises(BadToken):
            sequence.truncate(length)  # type: ignore[arg-type]
    assert_same_state(sequence, untouched, engine)
    sequence.close()
    untouched.close()


def test_arrays_of_any_integer_type_are_tokens(engine: Engine) -> None:
    sequence = engine.open_sequence()
    expected = sequence.evaluate([3, 1, 2], rows=3)
    for form in (np.array([3, 1, 2]), np.array([3, 1, 2], dtype=np.uint8), (3, 1, np.int64(2))):
        sequence.truncate(0)
        assert np.array_equal(sequence.evaluate(form, rows=3), expected)  # type: ignore[arg-type]
    sequence.close()


def test_a_closed_sequence_refuses_and_others_go_on(engine: Engine) -> None:
    closed, other = engine.open_sequence(), engine.open_sequence()
    other.evaluate([1, 2, 3], rows=1)
    closed.evaluate([1, 2, 3], rows=1)
    closed.close()
    closed.close()
    assert closed.length == 0
    for call in (lambda: closed.evaluate([1], 1), lambda: closed.truncate(0), closed.fork):
        with pytest.raises(SequenceClosed):
            call()
    assert other.evaluate([4], rows=1).shape == (1, engine.vocab_size)
    other.close()


def test_a_closed_engine_refuses(reopen: Callable[..., Opened]) -> None:
    opened = reopen(context_length=256, live_sequences=1)
    sequences = [opened.engine.open_sequence() for _ in range(3)]
    for sequence in sequences[:2]:  # one of them is parked now, and one was never used
        sequence.evaluate([1, 2, 3], rows=1)
    opened.engine.close()
    opened.engine.close()
    for sequence in sequences:
        with pytest.raises(SequenceClosed):
            sequence.evaluate([1, 2], 1)
        sequence.close()
    with pytest.raises(SequenceClosed):
        opened.engine.open_sequence()


def test_the_context_can_be_filled_to_its_last_token(reopen: Callable[..., Opened]) -> None:
    engine = reopen(context_length=256).engine
    tokens = text(engine, 256)
    done = [("evaluate", piece, 1) for piece in cut(tokens[:200], [37, 5, 90])]
    done.append(("evaluate", tokens[200:230], 1))
    expected = alone(engine, [*done, ("evaluate", tokens[230:], 26)])[-1]
    sequence = engine.open_sequence()
    for _, piece, rows in done:
        sequence.evaluate(piece, rows)
    with pytest.raises(ContextFull):
        sequence.evaluate(tokens[:27], rows=1)
    sequence.evaluate(tokens[100:126], rows=1)
    sequence.truncate(200)
    sequence.evaluate(tokens[200:230], rows=1)
    assert np.array_equal(sequence.evaluate(tokens[230:], rows=26), expected)
    assert sequence.length == 256
    with pytest.raises(ContextFull):
        sequence.evaluate([1], rows=1)
    fork = sequence.fork()
    for full in (sequence, fork):
        full.truncate(230)
        assert np.array_equal(full.evaluate(tokens[230:], rows=26), expected)
