"""The seed rule, line by line, and where syntax or acceptance is not known."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from redraft.cost import CostCurve
from redraft.protocols import DraftContext
from redraft.schedule import SeedPolicy, SeedRule, make_policy
from redraft.tokens import FILLER, Choice, Draft, Step, Verdict
from schedule_doubles import FixedPlace, Place, Sure

RULE = SeedRule()


@dataclass
class Moment:
    """A policy with syntax that stands still."""

    policy: SeedPolicy

    def length(self) -> int:
        return len(self.policy.choose([Sure()], 40))

    def after(self, proposed: int, accepted: int, drafter: str = "sure") -> Moment:
        draft = Draft((1,) * proposed, (0.9,) * proposed, (drafter,) * proposed, (0,) * proposed)
        choices = (Choice(1, 0.0),) * (accepted + 1)
        self.policy.commit(Step(0, 0, Verdict(draft, accepted, choices), proposed + 1, 0, 0, 0))
        return self


def moment(depth: int = 0, region: str = "expression", regions: bool = False) -> Moment:
    view = FixedPlace(Place("statement", depth, "", "identifier", region))
    policy = SeedPolicy(RULE, view, regions)
    policy.start(DraftContext((1,)))
    return Moment(policy)


def test_it_starts_at_five_with_and_without_syntax() -> None:
    bare = SeedPolicy(RULE)
    bare.start(DraftContext((1,)))
    assert Moment(bare).length() == moment().length() == moment(depth=5).length() == 5


def test_deep_code_gets_three() -> None:
    assert moment(depth=6).length() == 3
    assert moment(depth=6).after(5, 5).length() == 3


@pytest.mark.parametrize(
    ("proposed", "accepted", "length"), [(4, 1, 3), (4, 2, 5), (5, 4, 5), (6, 5, 7), (5, 5, 7)]
)
def test_acceptance_decides_by_its_bounds(proposed: int, accepted: int, length: int) -> None:
    assert moment().after(proposed, accepted).length() == length


def test_between_the_bounds_nothing_changes() -> None:
    long = moment().after(5, 5)
    assert long.length() == 7
    assert long.after(5, 2).length() == 7  # 7 of 10
    short = moment().after(4, 1)
    assert short.length() == 3
    assert short.after(4, 4).length() == 3  # 5 of 8


def test_only_recent_drafts_count() -> None:
    one = moment().after(7, 0)
    for _ in range(RULE.recent):
        one.after(7, 7)
    assert one.length() == 7


def test_fillers_are_no_drafts() -> None:
    assert moment().after(1, 0, FILLER).length() == 5


@pytest.mark.parametrize("region", ["declaration", "boilerplate", "test"])
def test_regions_widen_only_in_the_other_policy(region: str) -> None:
    assert moment(region=region).length() == 5
    assert moment(region=region, regions=True).length() == 7
    assert moment(depth=9, region=region, regions=True).length() == 7
    assert moment(region=region, regions=True).after(4, 1).length() == 3
    assert moment(region="expression", regions=True).length() == 5


def test_a_new_generation_forgets() -> None:
    one = moment().after(5, 5)
    assert one.length() == 7
    one.policy.start(DraftContext((2,)))
    assert one.length() == 5


def test_thresholds_are_the_callers() -> None:
    rule = SeedRule(deep=1)
    view = FixedPlace(Place("statement", 2, "", "identifier", "expression"))
    policy = make_policy("seed", CostCurve({1: 1.0}), syntax=view, rule=rule)
    policy.start(DraftContext((1,)))
    assert len(policy.choose([Sure()], 40)) == 3
    assert len(policy.choose([Sure()], 2)) == 2
