"""Policies: which drafter drafts how much next.

`none` never drafts, `fixed:k` takes k tokens of the most confident drafter, `cost` takes what pays
by the cost curve. A policy knows drafters by their proposals only, and no engine.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Tokens
from time import perf_counter

from redraft.cost import CostCurve
from redraft.errors import DrafterFailed, UsageError
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
    is worth 1 + S_1 + … + S_n tokens for C(n + 1) seconds and the time to draft it. The best
    average over a run is reached by maximising tokens - rate · seconds, where rate is the tokens
    per second the run reaches (renewal reward; Dinkelbach's transform of the ratio). Where the
    draft at hand promises a better ratio than the run reaches, the best ratio decides: text like
    it will follow, and what is not drafted now is drafted then. `fewest` is the smallest number of
    tokens a forward may have: with 2, the first token costs nothing more.

    A drafter that takes noticeable time, such as a small model, is asked only where its tokens
    are expected to pay for it too.
    """

    def __init__(self, curve: CostCurve, fewest: int = 1) -> None:
        self._curve = curve
        self._fewest = max(1, fewest)
        self._longest = _efficient_rows(curve.table()) - 1
        self._pace: dict[str, _Pace] = {}
        self._tokens = self._seconds = 0.0

    def start(self, context: DraftContext) -> None:
        """Begin with the rate that is usual, worth some steps."""
        plain = self._curve.seconds(1)
        self._tokens, self._seconds = _USUAL_RATE * _USUAL_STEPS, plain * _USUAL_STEPS
        for pace in self._pace.values():
            pace.begin()

    def choose(self, drafters: Tokens[Drafter], room: int) -> Draft:
        """The composed draft, cut where another row no longer pays."""
        limit = min(self._longest, room)
        costs = self._curve.table()
        rate = self._tokens / self._seconds
        slow = [drafter for drafter in drafters if self._is_slow(drafter, costs[0])]
        fast = [drafter for drafter in drafters if drafter not in slow]
        best, best_gain = self._cut(compose(fast, limit, self._ask), costs, rate)
        for drafter in slow:
            pace = self._pace[drafter.name]
            count, expected = pace.best_count(limit, costs, rate, self._fewest)
            if expected > best_gain:
                draft, gain = self._cut(self._ask(drafter, count, ()), costs, rate)
                if gain > best_gain:
                    best, best_gain = draft, gain
        return best

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
        begun = perf_counter()
        draft = propose(drafter, limit, after)
        pace = self._pace.setdefault(drafter.name, _Pace())
        pace.observe(draft, perf_counter() - begun)
        return draft

    def commit(self, step: Step) -> None:
        """Correct the cost curve and the rate."""
        self._curve.observe(step.rows, step.evaluate_seconds)
        self._tokens += len(step.tokens)
        self._seconds += step.propose_seconds + step.evaluate_seconds + step.verify_seconds


_USUAL_RATE = 1.3
"""Tokens per plain step to begin with: replayed edits, functions and completions were fastest
with 1.2 to 1.5, and lost at most 1 % with 0.85 or 1.8."""
_USUAL_STEPS = 128
_CAUTION = 0.995
"""Factor on every survival. A long draft that breaks early costs more than one that holds wins,
so an estimate must be a little better than right; 0.99 to 1 replay alike, 0.98 loses 1 %."""
_EFFICIENT = 1.05
_SLOW = 0.05
"""Share of a plain step from which on a drafter's time for one token is weighed."""


def _efficient_rows(costs: Tokens[float]) -> int:
    """The fewest rows whose cost per row is within 5 % of the best: a longer forward only risks
    more, as what is not drafted now costs no more in the next one."""
    each = [cost / (number + 1) for number, cost in enumerate(costs)]
    return 1 + next(i for i, cost in enumerate(each) if cost <= _EFFICIENT * min(each))


class _Pace:
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


SWITCH_BELOW = 0.5
"""A drafter surer than this is not interrupted: in replays, asking all others more often brought
no tokens and cost half of the drafting time."""
GIVE_UP_BELOW = 0.05
"""A draft whose tokens together survive with less than this is long enough."""

Ask = Callable[[Drafter, int, tuple[int, ...]], Draft]


def propose(drafter: Drafter, limit: int, after: tuple[int, ...]) -> Draft:
    """The drafter's proposal, with its name and bin 0 where it leaves them out.

    Raises DrafterFailed for a proposal that cannot be used and for whatever the drafter raises.
    """
    try:
        draft = drafter.propose(limit, after)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise DrafterFailed(f"drafter {drafter.name!r} failed: {reason}; leave it out") from error
    count = len(draft.tokens)
    if len(draft.survival) != count:
        raise DrafterFailed(
            f"drafter {drafter.name!r} gave {count} tokens with {len(draft.survival)} survivals;"
            " a draft has one for each token"
        )
    if len(draft.drafters) == len(draft.evidence) == count:
        return draft
    names = draft.drafters if len(draft.drafters) == count else (drafter.name,) * count
    evidence = draft.evidence if len(draft.evidence) == count else (0,) * count
    return Draft(draft.tokens, draft.survival, names, evidence)


def compose(drafters: Tokens[Drafter], limit: int, ask: Ask = propose) -> Draft:
    """One draft of at most `limit` tokens, handed from drafter to drafter.

    The surest about the next tokens drafts until it is unsure; then all are asked again for what
    would follow, until nobody knows more or the whole is unlikely to survive.
    """
    draft, survival = NO_DRAFT, 1.0
    while len(draft) < limit and survival >= GIVE_UP_BELOW:
        proposals = [ask(drafter, limit - len(draft), draft.tokens) for drafter in drafters]
        proposals = [proposal for proposal in proposals if proposal]
        if not proposals:
            break
        part = max(proposals, key=_promise)
        if len(proposals) > 1:
            part = part.first(_sure_tokens(part))
        for probability in part.survival:
            survival *= probability
        draft += part
    return draft.first(limit)


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
