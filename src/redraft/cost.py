"""The cost curve: seconds of one forward by its number of rows, on this machine.

Measured in about two seconds, then corrected by every forward that is timed. It does not know
drafters or what a row is worth.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from redraft.protocols import MAX_ROWS, Progress, Sequence

MEASURED_ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 64)
_ROUNDS = 3
_TWICE_UP_TO = 16
"""Larger forwards are timed once: they cost most of the time and are chosen least."""


class CostCurve:
    """Seconds by rows: the lower convex hull of what was measured, times two corrections.

    A timing holds whatever else the machine did meanwhile, so it is a bound from above, and one
    slow timing must not forbid all drafts beyond it. One correction follows the speed of the
    machine as a whole (other programs, clock, growing context), the other the shape of the curve,
    slowly, since a wrong shape is what misleads a schedule and one noisy forward must not.
    """

    def __init__(self, seconds_by_rows: Mapping[int, float]) -> None:
        """`seconds_by_rows` has at least one entry with rows ≥ 1 and seconds > 0."""
        rows = sorted(seconds_by_rows)
        self.measured = {count: float(seconds_by_rows[count]) for count in rows}
        every = np.arange(1, MAX_ROWS + 1)
        self._seconds = np.interp(every, rows, [self.measured[count] for count in rows])
        if rows[-1] < MAX_ROWS:
            beyond = every > rows[-1]
            self._seconds[beyond] = self.measured[rows[-1]] * every[beyond] / rows[-1]
        self._seconds = _convex_below(_no_dearer_than_parts(self._seconds))
        self._shape = np.ones(MAX_ROWS)
        self._speed = 1.0

    def seconds(self, rows: int) -> float:
        """Expected seconds of a forward of `rows` tokens; 1 ≤ rows ≤ 64."""
        return float(self._seconds[rows - 1] * self._shape[rows - 1]) * self._speed

    @property
    def speed(self) -> float:
        """How long forwards take lately, in units of the measured times."""
        return self._speed

    def table(self) -> list[float]:
        """Expected seconds for 1 … 64 rows; entry i is for i + 1 rows."""
        corrected: list[float] = (self._seconds * self._shape * self._speed).tolist()
        return corrected

    def observe(self, rows: int, seconds: float) -> None:
        """Correct the curve by one timed forward."""
        if not 1 <= rows <= MAX_ROWS or seconds <= 0:
            return
        ratio = min(4.0, max(0.25, seconds / self.seconds(rows)))
        self._speed *= ratio**0.1
        position = rows - 1
        shape = self._shape[position] * ratio**0.04
        self._shape[position] = min(1.5, max(0.67, float(shape)))


def _no_dearer_than_parts(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """A forward costs no more than two smaller ones of as many rows together, so a timing that
    says otherwise met a busy moment of the machine: take the parts' sum."""
    bounded = seconds.copy()
    for rows in range(2, len(bounded) + 1):
        parts = bounded[: rows - 1] + bounded[: rows - 1][::-1]
        bounded[rows - 1] = min(bounded[rows - 1], parts.min())
    return bounded


def _convex_below(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest convex curve that is nowhere above: no row is cheaper than the one before it.

    Kernels do come in tiles, so that a true curve has steps; corrections learn those that a run
    meets. Two measurements of one machine had theirs at different rows.
    """
    corners: list[tuple[int, float]] = []
    for corner in enumerate(seconds.tolist()):
        while len(corners) > 1 and _slope(corners[-2], corners[-1]) >= _slope(corners[-1], corner):
            corners.pop()
        corners.append(corner)
    rows, bounds = zip(*corners, strict=True)
    below: NDArray[np.float64] = np.interp(np.arange(len(seconds)), rows, bounds)
    return below


def _slope(first: tuple[int, float], second: tuple[int, float]) -> float:
    return (second[1] - first[1]) / (second[0] - first[0])


def measure_cost(
    sequence: Sequence, vocab_size: int, seed: int = 11, progress: Progress = lambda share: None
) -> dict[int, float]:
    """Seconds of a forward for some row counts from 1 to 64, on an open sequence.

    Rounds are interleaved, so that a slow moment does not fall on one row count, and the smaller
    of two timings counts, since noise only ever adds. About two seconds with 1.5B weights on two
    cores. The sequence is left as long as it was.
    """
    text = np.random.default_rng(seed).integers(0, vocab_size, 2 * MAX_ROWS).tolist()
    start = sequence.length
    best: dict[int, float] = {}
    sequence.evaluate(text[:MAX_ROWS], rows=1)  # wakes the threads and sizes the buffers
    for repeat in range(_ROUNDS):
        for number, rows in enumerate(MEASURED_ROWS):
            progress((repeat + number / len(MEASURED_ROWS)) / _ROUNDS)
            if repeat and rows > _TWICE_UP_TO:
                continue
            begun = perf_counter()
            sequence.evaluate(text[MAX_ROWS : MAX_ROWS + rows], rows=rows)
            seconds = perf_counter() - begun
            sequence.truncate(start + MAX_ROWS)
            best[rows] = min(seconds, best.get(rows, seconds))
    sequence.truncate(start)
    return best
