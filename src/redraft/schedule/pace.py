"""How long a drafter takes, and whether asking it can pay.

It does not know what the drafter proposes, only how sure it was and how long that took.
"""

from __future__ import annotations

from collections.abc import Sequence as Tokens

from redraft.tokens import Draft


class Pace:
    """How long one drafter takes for a token, and how sure it usually is."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._survival = 0.8
        self._calls = 0

    def begin(self) -> None:
        """A new generation: the first call may prepare things, so its time says nothing."""
        self._calls = 0

    def observe(self, draft: Draft, seconds: float) -> None:
        """One proposal that took so long."""
        self._calls += 1
        each = seconds / max(1, len(draft))
        if self._calls == 1:
            self.seconds = self.seconds or each
        elif self._calls == 2:
            self.seconds = each
        else:
            self.seconds += 0.1 * (each - self.seconds)
        if draft:
            mean = sum(draft.survival) / len(draft)
            self._survival += 0.1 * (mean - self._survival)

    def best_count(
        self, limit: int, costs: Tokens[float], rate: float, fewest: int
    ) -> tuple[int, float]:
        """How many tokens to ask for, and the tokens - rate · seconds that promises."""
        best = (0, float("-inf"))
        survival, tokens = 1.0, 1.0
        for count in range(1, min(limit, 16) + 1):
            survival *= self._survival
            tokens += survival
            gain = tokens - rate * (costs[max(count, fewest - 1)] + count * self.seconds)
            if gain > best[1]:
                best = (count, gain)
        return best
