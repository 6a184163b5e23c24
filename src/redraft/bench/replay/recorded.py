"""An output as it was recorded, in the shape of an engine: a sequence, a sampler, an end, a clock.

The sequence computes nothing: it counts tokens and lets the clock say that a forward has passed.
It knows one trace and the times of forwards, no drafter and no policy.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Tokens
from time import thread_time

import numpy as np
from numpy.typing import NDArray

from redraft.bench.traces import Trace
from redraft.decode import Plan
from redraft.ends import End
from redraft.protocols import Cancelled, Logits, Sequence
from redraft.tokens import Choice

BEYOND_THE_END = -1
"""What the target says after its last token: no draft agrees."""
_NOTHING = np.empty((1, 0), dtype=np.float32)

Cost = Callable[[int], float]
"""Seconds of a forward by its tokens."""


class SimulatedClock:
    """Seconds of this thread's own work and of what it was told has passed.

    Work is the processor's time and not the wall's, so that drafting costs the same beside other
    programs.
    """

    def __init__(self) -> None:
        self._passed = 0.0

    def __call__(self) -> float:
        """Seconds since some moment."""
        return thread_time() + self._passed

    def advance(self, seconds: float) -> None:
        """So long has something taken that was not computed here."""
        self._passed += seconds


class RecordedSequence:
    """Counts tokens. A forward with rows takes the time its cost says, prefill takes none."""

    def __init__(self, clock: SimulatedClock, cost: Cost) -> None:
        self._clock = clock
        self._cost = cost
        self._length = 0

    @property
    def length(self) -> int:
        """Tokens in the sequence."""
        return self._length

    def evaluate(
        self, tokens: Tokens[int], rows: int, cancelled: Cancelled | None = None
    ) -> Logits:
        """Rows without columns: the sampler knows what is chosen."""
        self._length += len(tokens)
        if rows:
            self._clock.advance(self._cost(len(tokens)))
        return np.broadcast_to(_NOTHING, (rows, 0))

    def truncate(self, length: int) -> None:
        """Forget all tokens from position `length` on."""
        self._length = length

    def fork(self) -> Sequence:
        """A sequence of the same length."""
        copy = RecordedSequence(self._clock, self._cost)
        copy.truncate(self._length)
        return copy

    def close(self) -> None:
        """Nothing to free."""


def recorded_plan(trace: Trace, clock: SimulatedClock, row_seconds: float = 0.0) -> Plan:
    """The plan whose sampler and end are the trace's. Sampling a row takes `row_seconds`."""
    start, output = len(trace.context.prompt), trace.output

    def sample(row: NDArray[np.float32], tokens_before: Tokens[int]) -> Choice:
        clock.advance(row_seconds)
        position = len(tokens_before) - start
        return Choice(output[position] if position < len(output) else BEYOND_THE_END, 0.0)

    def ends(tokens: Tokens[int]) -> End | None:
        return End(len(output), trace.finish_reason) if len(tokens) >= len(output) else None

    return Plan(trace.context, sample, ends, trace.room, trace.origin.fewest, clock=clock)
