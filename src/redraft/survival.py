"""Calibrated survival: what share of a drafter's tokens of one kind was accepted so far.

A drafter sorts its tokens into a few bins (by match length, count, probability …) and asks for
the estimate of a bin. The table starts from priors measured on other tasks and follows what the
target says. It does not know what the bins mean.
"""

from __future__ import annotations

from collections.abc import Sequence

from redraft.tokens import Verdict


class SurvivalTable:
    """Acceptance per bin: a beta prior, corrected by observed verdicts.

    The estimate of a bin is (prior · weight + accepted) ÷ (weight + tried), where older verdicts
    fade with `memory` (a tried token counts half after about 0.69 · memory further ones in its
    bin), since acceptance drifts within a generation.
    """

    def __init__(
        self, priors: Sequence[float], weight: float = 12.0, memory: float = 256.0
    ) -> None:
        """`priors[bin]` is the expected acceptance (0 … 1); `weight` its worth in tokens."""
        self._prior = list(priors)
        self._weight = weight
        self._keep = 1.0 - 1.0 / memory
        self._accepted = [0.0] * len(self._prior)
        self._tried = [0.0] * len(self._prior)

    def estimate(self, bin_: int) -> float:
        """Probability that a token of this bin is accepted given that those before it were."""
        return (self._prior[bin_] * self._weight + self._accepted[bin_]) / (
            self._weight + self._tried[bin_]
        )

    def observe(self, verdict: Verdict, drafter: str) -> None:
        """Learn from the tokens of `drafter` up to and including the first rejected one.

        Tokens after a rejection say nothing: their condition did not hold.
        """
        draft = verdict.draft
        judged = min(verdict.accepted + 1, len(draft))
        if len(verdict.choices) <= verdict.accepted:
            judged = verdict.accepted  # the output ended inside the draft: no token was rejected
        for position in range(judged):
            if draft.drafters[position] == drafter:
                self._count(draft.evidence[position], position < verdict.accepted)

    def _count(self, bin_: int, accepted: bool) -> None:
        self._accepted[bin_] = self._accepted[bin_] * self._keep + accepted
        self._tried[bin_] = self._tried[bin_] * self._keep + 1.0
