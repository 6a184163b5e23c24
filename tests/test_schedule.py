"""Policies: what they draft, and that they never judge against their own figures."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.cost import CostCurve
from redraft.errors import DrafterFailed, UsageError
from redraft.protocols import DraftContext
from redraft.schedule import (
    CostPolicy,
    FixedPolicy,
    NonePolicy,
    SeedPolicy,
    compose,
    make_policy,
    propose,
)
from redraft.tokens import NO_DRAFT, Choice, Draft, Step, Verdict

SECONDS = {1: 1.0, 2: 1.2, 4: 2.0, 8: 3.4, 16: 6.0, 32: 12.0, 64: 24.0}
"""Of a forward; far more than these drafters take."""
CONTEXT = DraftContext((1, 2, 3))
survivals = st.lists(st.floats(0, 1), max_size=40)
curves = st.lists(st.floats(0.01, 3.0), min_size=7, max_size=7).map(
    lambda steps: {2**number: 1.0 + sum(steps[: number + 1]) for number in range(7)}
)


@dataclass
class Says:
    """A drafter that says one thing from each position on."""

    name: str
    survival: list[float]
    first: int = 0

    def start(self, context: DraftContext) -> None:
        """Nothing to prepare."""

    def propose(self, limit: int, after: tuple[int, ...] = ()) -> Draft:
        rest = self.survival[len(after) : len(after) + limit]
        count = len(rest)
        tokens = tuple(range(self.first + len(after), self.first + len(after) + count))
        return Draft(tokens, tuple(rest), (self.name,) * count, (0,) * count)

    def commit(self, verdict: Verdict) -> None:
        """Nothing to learn."""


def cost_policy(curve: dict[int, float] | None = None, fewest: int = 1) -> CostPolicy:
    policy = CostPolicy(CostCurve(curve or SECONDS), fewest)
    policy.start(CONTEXT)
    return policy


def step(rows: int, tokens: int, seconds: float) -> Step:
    verdict = Verdict(NO_DRAFT, 0, (Choice(1, 0.0),) * tokens)
    return Step(0, 0, verdict, rows, 0.0, seconds, 0.0)


def tokens_a_second(survival: tuple[float, ...], curve: CostCurve, fewest: int) -> float:
    expected = so_far = 1.0
    for probability in survival:
        so_far *= probability
        expected += so_far
    return expected / curve.seconds(max(len(survival) + 1, fewest))


# --- none and fixed -------------------------------------------------------------------------


def test_none_never_drafts() -> None:
    policy = NonePolicy()
    policy.start(CONTEXT)
    assert policy.choose([Says("a", [1.0] * 9)], 9) == NO_DRAFT


@given(survivals, st.integers(1, 63), st.integers(0, 63))
def test_fixed_takes_what_there_is_up_to_its_count(
    survival: list[float], count: int, room: int
) -> None:
    policy = FixedPolicy(count)
    draft = policy.choose([Says("a", survival)], room)
    assert draft.tokens == tuple(range(len(draft)))
    assert len(draft) <= min(count, room, len(survival))
    if survival and min(survival) == 1.0:
        assert len(draft) == min(count, room, len(survival))


@pytest.mark.parametrize("count", [0, -1, 64])
def test_fixed_counts_out_of_range_are_refused(count: int) -> None:
    with pytest.raises(UsageError, match="1 … 63"):
        FixedPolicy(count)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("none", NonePolicy),
        ("fixed:5", FixedPolicy),
        ("cost", CostPolicy),
        ("gate", CostPolicy),
        ("seed", SeedPolicy),
        ("seed-regions", SeedPolicy),
    ],
)
def test_policies_by_name(name: str, kind: type) -> None:
    assert isinstance(make_policy(name, CostCurve(SECONDS)), kind)


@pytest.mark.parametrize("name", ["", "Cost", "fixed", "fixed:", "fixed:x", "fixed:-1", "fixed:0"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        make_policy(name, CostCurve(SECONDS))


# --- handing a draft from drafter to drafter ------------------------------------------------


@given(st.lists(survivals, max_size=3), st.integers(0, 63))
def test_a_composed_draft_continues_itself(many: list[list[float]], limit: int) -> None:
    drafters = [Says(str(number), survival) for number, survival in enumerate(many)]
    draft = compose(drafters, limit)
    assert len(draft) <= limit
    assert draft.tokens == tuple(range(len(draft)))
    for position, name in enumerate(draft.drafters):
        assert draft.survival[position] == many[int(name)][position]
    assert len(draft.survival) == len(draft.drafters) == len(draft.evidence) == len(draft)


def test_the_surer_drafter_begins_and_hands_over_where_it_is_unsure() -> None:
    sure_first = Says("a", [0.95, 0.95, 0.2, 0.2])
    sure_later = Says("b", [0.5, 0.5, 0.9, 0.9, 0.9])
    draft = compose([sure_later, sure_first], 5)
    assert draft.drafters == ("a", "a", "b", "b", "b")


def test_a_drafter_that_proposes_too_much_is_cut() -> None:
    class TooMuch(Says):
        def propose(self, limit: int, after: tuple[int, ...] = ()) -> Draft:
            return super().propose(limit + 5, after)

    assert len(compose([TooMuch("a", [0.9] * 40)], 6)) == 6
    assert len(FixedPolicy(3).choose([TooMuch("a", [0.9] * 40)], 9)) == 3


# --- cost -----------------------------------------------------------------------------------


@given(survivals, curves, st.integers(0, 63), st.sampled_from([1, 2, 4]), st.data())
def test_cost_never_drafts_what_its_own_figures_say_is_worse_than_none(
    survival: list[float], seconds: dict[int, float], room: int, fewest: int, data: st.DataObject
) -> None:
    """Whatever the run was like before: also after a slow or a lucky spell."""
    curve = CostCurve(seconds)
    policy = CostPolicy(curve, fewest)
    policy.start(CONTEXT)
    for _ in range(data.draw(st.integers(0, 3), label="spells")):
        rows = data.draw(st.integers(1, 64), label="rows")
        tokens = data.draw(st.integers(1, rows), label="tokens")
        factor = data.draw(st.sampled_from([0.1, 1.0, 30.0]), label="slowness")
        for _ in range(50):
            policy.commit(step(rows, tokens, factor * curve.measured[1] * rows))
    draft = policy.choose([Says("a", survival)], room)
    assert len(draft) <= room
    drafted = tokens_a_second(draft.survival, curve, fewest)
    assert drafted >= tokens_a_second((), curve, fewest) * (1 - 1e-9)


@given(survivals, curves, st.integers(2, 5))
def test_cost_drafts_whatever_costs_nothing_more(
    survival: list[float], seconds: dict[int, float], fewest: int
) -> None:
    """Tokens that only take the place of fillers are drafted, however unsure."""
    draft = cost_policy(seconds, fewest).choose([Says("a", survival)], 40)
    assert len(draft) >= min(fewest - 1, len(compose([Says("a", survival)], 40)), 1)


def test_sure_tokens_are_drafted_and_hopeless_ones_are_not() -> None:
    assert len(cost_policy().choose([Says("a", [1.0] * 40)], 40)) >= 7
    assert len(cost_policy().choose([Says("a", [0.05] * 40)], 40)) == 0
    assert len(cost_policy().choose([Says("a", [0.99, 0.99, 0.01, 0.99])], 40)) == 2


@given(st.floats(0, 1), st.floats(0, 1))
def test_surer_drafts_are_not_shorter(one: float, other: float) -> None:
    low, high = sorted((one, other))
    lengths = [len(cost_policy().choose([Says("a", [p] * 40)], 40)) for p in (low, high)]
    assert lengths[0] <= lengths[1]


def test_dearer_rows_make_shorter_drafts() -> None:
    lengths = []
    for factor in (0.05, 0.2, 0.5, 0.9):
        curve = {rows: 1.0 + factor * (rows - 1) for rows in (1, 2, 4, 8, 16, 32, 64)}
        lengths.append(len(cost_policy(curve).choose([Says("a", [0.8] * 40)], 40)))
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > lengths[-1]


def test_a_rows_price_learned_on_the_way_counts() -> None:
    policy = cost_policy()
    says = [Says("a", [0.75] * 40)]
    before = len(policy.choose(says, 40))
    for _ in range(300):
        policy.commit(step(before + 1, 1, 3.0 * SECONDS[8]))
        policy.commit(step(1, 1, SECONDS[1]))
    assert before > 0
    assert len(policy.choose(says, 40)) != before


def test_no_room_no_draft() -> None:
    assert cost_policy().choose([Says("a", [1.0] * 9)], 0) == NO_DRAFT
    assert cost_policy(fewest=2).choose([Says("a", [1.0] * 9)], 0) == NO_DRAFT
    assert cost_policy().choose([], 9) == NO_DRAFT


def test_a_slow_drafter_is_asked_only_where_it_pays() -> None:
    """Time stands still except while the slow drafter drafts."""
    now = 0.0

    class Slow(Says):
        asked = 0
        each = 0.4

        def propose(self, limit: int, after: tuple[int, ...] = ()) -> Draft:
            nonlocal now
            self.asked += 1
            draft = super().propose(limit, after)
            now += self.each * len(draft)
            return draft

    policy, slow = CostPolicy(CostCurve(SECONDS), clock=lambda: now), Slow("slow", [0.6] * 40)
    policy.start(CONTEXT)
    for _ in range(20):
        policy.choose([slow], 20)
    assert slow.asked <= 4  # so slow and so unsure, it never pays
    quick = Slow("quick", [0.9] * 40)
    quick.each = 0.06
    for _ in range(20):
        draft = policy.choose([quick], 20)
    assert quick.asked >= 20
    assert len(draft) > 0


class Foreign:
    """A drafter as a stranger writes it."""

    name = "foreign"

    def __init__(self, draft: Draft | Exception) -> None:
        self.draft = draft

    def start(self, context: DraftContext) -> None:
        pass

    def propose(self, limit: int, after: tuple[int, ...] = ()) -> Draft:
        if isinstance(self.draft, Exception):
            raise self.draft
        return self.draft

    def commit(self, verdict: Verdict) -> None:
        pass


def test_tokens_and_survival_are_enough_of_a_draft() -> None:
    draft = propose(Foreign(Draft((1, 2), (0.5, 0.4))), 4, ())
    assert draft == Draft((1, 2), (0.5, 0.4), ("foreign", "foreign"), (0, 0))


@pytest.mark.parametrize("draft", [Draft((1, 2), (0.5,)), ValueError("broken"), KeyError(3)])
def test_a_drafter_that_fails_is_named(draft: Draft | Exception) -> None:
    for policy in (CostPolicy(CostCurve(SECONDS), 2), FixedPolicy(3)):
        policy.start(DraftContext((1,)))
        with pytest.raises(DrafterFailed, match="'foreign'"):
            policy.choose([Foreign(draft)], 8)
