"""Time limits of one run. What they end is no longer decided by tokens alone.

It does not know how a run is stopped.
"""

from __future__ import annotations

from time import perf_counter

from redraft.requests import Options
from redraft.tokens import Prefill, Step


class Deadlines:
    """The time limits of `options`, counted from construction.

    `fewest` is the number of prompt tokens that are left to the first step: with no more than
    those missing, the prompt is as good as evaluated.
    """

    def __init__(self, options: Options, fewest: int) -> None:
        self._options = options
        self._fewest = fewest
        self._begun = perf_counter()
        self._first: float | None = None

    def passed(self, event: Prefill | Step, shown: str) -> bool:
        """Whether to stop after `event`; `shown` is the output's text so far."""
        now, options = perf_counter(), self._options
        if isinstance(event, Prefill):
            more = event.total - event.done > self._fewest
            limit = options.prompt_seconds
            return more and limit is not None and now - self._begun >= limit
        if self._first is None:
            self._first = now
        if event.finish_reason is not None or options.decode_seconds is None or "\n" not in shown:
            return False
        return now - self._first >= options.decode_seconds
