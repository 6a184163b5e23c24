"""Policies: which drafter drafts how much next.

`none` never drafts, `fixed:k` takes k tokens of the most confident drafter, `cost` takes what pays
by the cost curve. A policy knows drafters by their proposals only, and no engine.
"""

from __future__ import annotations

from collections.abc import Sequence as Tokens

from redraft.cost import CostCurve
from redraft.errors import UsageError
from redraft.protocols import MAX_ROWS, DraftContext, Drafter, Policy
from redraft.tokens import NO_DRAFT, Draft, Step


class NonePolicy:
    """Never drafts: plain decoding."""

    def start(self, context: DraftContext) -> None:
        """Nothing to prepare."""

    def choose(self, drafters: Tokens[Drafter], room: int) -> Draft:
        """Always the empty draft."""
        return NO_DRAFT

    def commit(self, step: Step) -> None:
        """Nothing to learn."""


class FixedPolicy:
    """Up to `count` tokens each step, from whoever is surest, whatever they cost."""

    def __init__(self, count: int) -> None:
        if not 1 <= count < MAX_ROWS:
            raise UsageError(f"a fixed draft is {count} tokens; it must be 1 … {MAX_ROWS - 1}")
        self._count = count

    def start(self, context: DraftContext) -> None:
        """Nothing to prepare."""

    def choose(self, drafters: Tokens[Drafter], room: int) -> Draft:
        """The composed draft, cut to the fixed count."""
        return compose(drafters, min(self._count, room))

    def commit(self, step: Step) -> None:
        """Nothing to learn."""


class CostPolicy:
    """The draft and length that bring most tokens a second by survival and the cost curve.

    With S_i the product of the first i survivals and C(rows) the cost curve, a draft of n tokens
    is worth 1 + S_1 + … + S_n tokens for C(n + 1) seconds. The best average over a run is reached
    by maximising the tokens minus rate · seconds, where rate is the tokens per second the run
    reaches (renewal reward; Dinkelbach's transform of the ratio). `fewest` is the smallest number
    of tokens a forward may have: with 2, the first token of a draft costs nothing.
    """

    def __init__(self, curve: CostCurve, fewest: int = 1, longest: int = 32) -> None:
        self._curve = curve
        self._fewest = max(1, fewest)
        self._longest = min(longest, MAX_ROWS - 1)
        self._rate = 0.0

    def start(self, context: DraftContext) -> None:
        """Forget the rate of the last generation."""
        self._rate = 1.0 / self._curve.seconds(self._fewest)

    def choose(self, drafters: Tokens[Drafter], room: int) -> Draft:
        """The composed draft, cut where another row no longer pays."""
        draft = compose(drafters, min(self._longest, room))
        if not draft:
            return draft
        costs = self._curve.table()
        best_gain, best_count = float("-inf"), 0
        survival, tokens = 1.0, 1.0
        least = min(self._fewest - 1, len(draft))
        for count in range(len(draft) + 1):
            if count:
                survival *= draft.survival[count - 1]
                tokens += survival
            if count < least:
                continue
            gain = tokens - self._rate * costs[count]
            if gain > best_gain:
                best_gain, best_count = gain, count
        return draft.first(best_count)

    def commit(self, step: Step) -> None:
        """Correct the cost curve and the rate."""
        self._curve.observe(step.rows, step.evaluate_seconds)
        seconds = step.propose_seconds + step.evaluate_seconds + step.verify_seconds
        # weighted by time, so that it is tokens ÷ seconds and not a mean of ratios
        weight = min(0.2, 0.05 * seconds / self._curve.seconds(1))
        self._rate += weight * (len(step.tokens) / max(seconds, 1e-6) - self._rate)


SWITCH_BELOW = 0.75
"""A drafter surer than this is not interrupted: asking all others for each token costs more
than the few better guesses bring."""
GIVE_UP_BELOW = 0.05
"""A draft whose tokens together survive with less than this is long enough."""


def compose(drafters: Tokens[Drafter], limit: int) -> Draft:
    """One draft of at most `limit` tokens, handed from drafter to drafter.

    The surest about the next token drafts until it is unsure; then all are asked again for what
    would follow, until nobody knows more or the whole is unlikely to survive.
    """
    draft, survival = NO_DRAFT, 1.0
    while len(draft) < limit and survival >= GIVE_UP_BELOW:
        proposals = [drafter.propose(limit - len(draft), draft.tokens) for drafter in drafters]
        proposals = [proposal for proposal in proposals if proposal]
        if not proposals:
            break
        part = max(proposals, key=_promise)
        if len(proposals) > 1:
            part = part.first(_sure_tokens(part))
        for probability in part.survival:
            survival *= probability
        draft += part
    return draft


def _promise(draft: Draft) -> float:
    """Expected accepted tokens among the first four: sureness first, length second."""
    total, survival = 0.0, 1.0
    for probability in draft.survival[:4]:
        survival *= probability
        total += survival
    return total


def _sure_tokens(draft: Draft) -> int:
    """How many tokens to take before others are asked: at least one."""
    for position in range(1, len(draft)):
        if draft.survival[position] < SWITCH_BELOW:
            return position
    return len(draft)


def make_policy(name: str, curve: CostCurve, fewest: int = 1) -> Policy:
    """The policy called `none`, `fixed:k` or `cost`. Raises UsageError for any other name."""
    if name == "none":
        return NonePolicy()
    if name == "cost":
        return CostPolicy(curve, fewest)
    kind, _, count = name.partition(":")
    if kind == "fixed" and count.isdecimal():
        return FixedPolicy(int(count))
    raise UsageError(f"no policy is called {name!r}; known are none, fixed:k (1 … 63) and cost")
