"""The `cost` policy: what pays by survival and the cost curve.

It knows drafters by their proposals and times only, and no engine.
"""

from __future__ import annotations

from collections.abc import Sequence as Tokens
from time import perf_counter
from typing import Protocol

from redraft.cost import CostCurve
from redraft.protocols import Clock, DraftContext, Drafter
from redraft.schedule.compose import compose, propose
from redraft.schedule.pace import Pace
from redraft.tokens import Draft, Step


class Judge(Protocol):
    """Estimates survival better than the drafters do, or otherwise."""

    def start(self, context: DraftContext) -> None:
        """A new generation begins."""
        ...

    def judge(self, draft: Draft) -> Draft:
        """The draft with other survivals and nothing else changed; may be asked several times in
        a step."""
        ...

    def commit(self, step: Step) -> None:
        """Learn from a finished step."""
        ...


class CostPolicy:
    """The draft and length that bring most tokens a second by survival and the cost curve.

    With S_i the product of the first i survivals and C(rows) the cost curve, a draft of n tokens
    is worth 1 + S_1 + … + S_n tokens for C(n + 1) seconds and the time to draft it. The best
    average over a run is reached by maximising tokens - rate · seconds, where rate is the tokens
    per second the run reaches (renewal reward; Dinkelbach's transform of the ratio). Where the
    draft at hand promises a better ratio than the run reaches, the best ratio decides: text like
    it will follow, and what is not drafted now is drafted then. `fewest` is the smallest number of
    tokens a forward may have: with 2, the first token costs nothing more.

    A drafter that takes noticeable time, such as a small model, is asked only where its tokens
    are expected to pay for it too. With a `judge`, its estimates of survival count instead of the
    drafters'.
    """

    def __init__(
        self,
        curve: CostCurve,
        fewest: int = 1,
        clock: Clock = perf_counter,
        judge: Judge | None = None,
    ) -> None:
        self._curve = curve
        self._fewest = max(1, fewest)
        self._clock = clock
        self._judge = judge
        self._pace: dict[str, Pace] = {}
        self._tokens = self._seconds = 0.0

    def start(self, context: DraftContext) -> None:
        """Begin with the rate that is usual, worth some steps."""
        plain = self._curve.seconds(1)
        self._tokens, self._seconds = _USUAL_RATE * _USUAL_STEPS, plain * _USUAL_STEPS
        for pace in self._pace.values():
            pace.begin()
        if self._judge is not None:
            self._judge.start(context)

    def choose(self, drafters: Tokens[Drafter], room: int) -> Draft:
        """The composed draft, cut where another row no longer pays."""
        costs = self._curve.table()
        rate = self._tokens / self._seconds
        slow = [drafter for drafter in drafters if self._is_slow(drafter, costs[0])]
        fast = [drafter for drafter in drafters if drafter not in slow]
        best, best_gain = self._cut(self._judged(compose(fast, room, self._ask)), costs, rate)
        for drafter in slow:
            pace = self._pace[drafter.name]
            count, expected = pace.best_count(room, costs, rate, self._fewest)
            if expected > best_gain:
                asked = self._judged(self._ask(drafter, count, ()))
                draft, gain = self._cut(asked, costs, rate)
                if gain > best_gain:
                    best, best_gain = draft, gain
        return best

    def _judged(self, draft: Draft) -> Draft:
        return draft if self._judge is None else self._judge.judge(draft)

    def _cut(self, draft: Draft, costs: Tokens[float], rate: float) -> tuple[Draft, float]:
        """The best prefix of `draft`, and its tokens - rate · seconds."""
        least = min(self._fewest - 1, len(draft))
        survival, tokens = 1.0, 1.0
        best_gain, by_gain = float("-inf"), 0
        best_ratio, by_ratio, gain_there = 0.0, 0, 0.0
        for count in range(len(draft) + 1):
            if count:
                survival *= draft.survival[count - 1] * _CAUTION
                tokens += survival
            if count < least:
                continue
            cost = costs[max(count, self._fewest - 1)]
            gain = tokens - rate * cost
            if gain > best_gain:
                best_gain, by_gain = gain, count
            if tokens / cost > best_ratio:
                best_ratio, by_ratio, gain_there = tokens / cost, count, gain
        if best_ratio > rate:
            return draft.first(by_ratio), gain_there
        return draft.first(by_gain), best_gain

    def _is_slow(self, drafter: Drafter, plain: float) -> bool:
        pace = self._pace.get(drafter.name)
        return pace is not None and pace.seconds > _SLOW * plain

    def _ask(self, drafter: Drafter, limit: int, after: tuple[int, ...]) -> Draft:
        """The drafter's proposal, timed."""
        begun = self._clock()
        draft = propose(drafter, limit, after)
        pace = self._pace.setdefault(drafter.name, Pace())
        pace.observe(draft, self._clock() - begun)
        return draft

    def commit(self, step: Step) -> None:
        """Correct the cost curve and the rate."""
        self._curve.observe(step.rows, step.evaluate_seconds)
        self._tokens += len(step.tokens)
        self._seconds += step.propose_seconds + step.evaluate_seconds + step.verify_seconds
        if self._judge is not None:
            self._judge.commit(step)


_USUAL_RATE = 1.3
"""Tokens per plain step to begin with: replayed edits, functions and completions were fastest
with 1.2 to 1.5, and lost at most 1 % with 0.85 or 1.8."""
_USUAL_STEPS = 128
_CAUTION = 0.995
"""Factor on every survival. A long draft that breaks early costs more than one that holds wins,
so an estimate must be a little better than right; 0.99 to 1 replay alike, 0.98 loses 1 %."""
_SLOW = 0.05
"""Share of a plain step from which on a drafter's time for one token is weighed."""
