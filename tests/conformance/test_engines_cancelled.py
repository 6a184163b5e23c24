"""Cancelling a forward, and that the sequence then continues as if nothing had happened."""

from __future__ import annotations

from threading import Event, Thread, Timer
from time import perf_counter

import numpy as np
import pytest

from redraft.engines import Opened
from redraft.errors import Cancelled
from redraft.protocols import Engine, Sequence

LONG = 512


@pytest.fixture
def engine(opened: Opened) -> Engine:
    return opened.engine


def text(engine: Engine, count: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(0, engine.vocab_size, count).tolist()


def assert_untouched(sequence: Sequence, control: Sequence, engine: Engine) -> None:
    """Both continue bitwise equal, and so after a long text of which a part was tried before."""
    assert sequence.length == control.length
    for tokens in (text(engine, 6, seed=1), text(engine, 130)):
        rows = min(6, len(tokens))
        expected = control.evaluate(tokens, rows)
        assert np.array_equal(sequence.evaluate(tokens, rows), expected)


def pair(engine: Engine) -> tuple[Sequence, Sequence]:
    sequence = engine.open_sequence()
    sequence.evaluate(text(engine, 40, seed=7), rows=0)
    return sequence, sequence.fork()


def test_cancelled_before_it_began(engine: Engine) -> None:
    sequence, control = pair(engine)
    for count in (1, 2, LONG):
        with pytest.raises(Cancelled):
            sequence.evaluate(text(engine, count), rows=0, cancelled=lambda: True)
    assert_untouched(sequence, control, engine)
    sequence.close()
    control.close()


def test_never_cancelled_is_as_without(engine: Engine) -> None:
    sequence, control = pair(engine)
    tokens = text(engine, 20)
    got = sequence.evaluate(tokens, rows=5, cancelled=lambda: False)
    assert np.array_equal(got, control.evaluate(tokens, rows=5))
    sequence.close()
    control.close()


def test_cancelled_at_many_moments(engine: Engine) -> None:
    """At the n-th time of asking, which falls inside some piece of the long text."""
    sequence, control = pair(engine)
    tokens = text(engine, LONG)
    for limit in (2, 3, 5, 9, 12):
        asked = 0

        def cancelled(limit: int = limit) -> bool:
            nonlocal asked
            asked += 1
            return asked >= limit

        with pytest.raises(Cancelled):
            sequence.evaluate(tokens, rows=1, cancelled=cancelled)
        assert sequence.length == 40
    assert_untouched(sequence, control, engine)
    sequence.close()
    control.close()


def test_a_parked_sequence_is_cancelled_too(engine: Engine) -> None:
    sequence, control = pair(engine)
    others = [engine.open_sequence() for _ in range(3)]
    for other in others:  # takes all live contexts of the engine
        other.evaluate(text(engine, 4), rows=0)
    with pytest.raises(Cancelled):
        sequence.evaluate(text(engine, LONG), rows=0, cancelled=lambda: True)
    fork = sequence.fork()
    assert_untouched(sequence, control, engine)
    assert fork.length == 40
    for each in (sequence, control, fork, *others):
        each.close()


def test_a_fork_after_cancelling_holds_what_the_sequence_holds(engine: Engine) -> None:
    sequence, control = pair(engine)
    asked: list[int] = []

    def third_time() -> bool:
        asked.append(1)
        return len(asked) > 2

    with pytest.raises(Cancelled):
        sequence.evaluate(text(engine, LONG), rows=0, cancelled=third_time)
    fork = sequence.fork()
    assert_untouched(fork, control, engine)
    for each in (sequence, control, fork):
        each.close()


def test_what_the_callback_raises_arrives_and_changes_nothing(engine: Engine) -> None:
    sequence, control = pair(engine)
    for calls in (1, 3):
        asked: list[int] = []

        def fails(asked: list[int] = asked, calls: int = calls) -> bool:
            asked.append(1)
            if len(asked) >= calls:
                raise ZeroDivisionError
            return False

        with pytest.raises(ZeroDivisionError):
            sequence.evaluate(text(engine, LONG), rows=0, cancelled=fails)
    assert sequence.length == 40
    assert_untouched(sequence, control, engine)
    sequence.close()
    control.close()


def test_a_forward_stops_soon(engine: Engine, engine_name: str) -> None:
    """Compared with the whole forward on the same machine at the same time."""
    if engine_name == "fake":
        return  # its forwards take no time; it asks once a token, as counted above
    sequence, control = pair(engine)
    tokens = text(engine, LONG)
    shares = []
    for _ in range(3):
        begun = perf_counter()
        control.evaluate(tokens, rows=0)
        whole = perf_counter() - begun
        control.truncate(40)
        stop = Event()
        timer = Timer(whole / 10, stop.set)
        timer.start()
        begun = perf_counter()
        with pytest.raises(Cancelled):
            sequence.evaluate(tokens, rows=0, cancelled=stop.is_set)
        shares.append((perf_counter() - begun) / whole)
        if shares[-1] < 0.4:
            break
    assert min(shares) < 0.4, shares  # a piece of 128 tokens is a quarter: it stops inside one
    assert_untouched(sequence, control, engine)
    sequence.close()
    control.close()


def test_who_waits_for_a_turn_can_be_cancelled(engine: Engine, engine_name: str) -> None:
    if engine_name == "fake":
        return  # nobody waits: its sequences share nothing
    busy, waiting = engine.open_sequence(), engine.open_sequence()
    running = Thread(target=busy.evaluate, args=(text(engine, LONG), 0))
    running.start()
    try:
        with pytest.raises(Cancelled):
            waiting.evaluate(text(engine, 4), rows=0, cancelled=running.is_alive)
        assert waiting.length == 0
    finally:
        running.join()
    assert busy.length == LONG
    busy.close()
    waiting.close()
