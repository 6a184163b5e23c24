"""Counts of a run. Most are tested where runs are; here is what depends on time."""

from __future__ import annotations

import pytest

from redraft.cost import CostCurve
from redraft.statistics import PlainEstimate
from redraft.tokens import NO_DRAFT, Choice, Step, Verdict

CURVE = {1: 0.02, 2: 0.025, 8: 0.08}


def step(tokens: int, rows: int, seconds: float) -> Step:
    choices = tuple(Choice(1, 0.0) for _ in range(tokens))
    return Step(0, 0, Verdict(NO_DRAFT, 0, choices), rows, 0.0, seconds, 0.0)


@pytest.mark.parametrize("slower", [1.0, 12.0])
def test_a_busy_machine_slows_plain_decoding_too(slower: float) -> None:
    plain = PlainEstimate(CostCurve(CURVE))
    for tokens, rows in ((1, 2), (6, 8), (2, 8)):
        plain.add(step(tokens, rows, CURVE[rows] * slower))
    assert plain.seconds == pytest.approx(9 * 0.02 * slower)


def test_without_steps_there_is_nothing_to_estimate() -> None:
    assert PlainEstimate(CostCurve(CURVE)).seconds == 0.0
