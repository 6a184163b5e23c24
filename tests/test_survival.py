"""Calibrated survival."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.survival import SurvivalTable
from redraft.tokens import Choice, Draft, Verdict


def verdict(drafters: str, accepted: int, bins: list[int], ended: bool = False) -> Verdict:
    count = len(drafters)
    draft = Draft((7,) * count, (0.5,) * count, tuple(drafters), tuple(bins))
    return Verdict(draft, accepted, (Choice(7, 0.0),) * (accepted + (not ended)))


def test_starts_from_the_priors() -> None:
    table = SurvivalTable([0.2, 0.9])
    assert table.estimate(0) == pytest.approx(0.2)
    assert table.estimate(1) == pytest.approx(0.9)


def test_learns_up_to_and_including_the_first_rejected() -> None:
    table = SurvivalTable([0.5] * 4, weight=1.0, memory=1e9)
    table.observe(verdict("aaaa", 2, [0, 1, 2, 3]), "a")
    assert table.estimate(0) == pytest.approx(0.75)
    assert table.estimate(1) == pytest.approx(0.75)
    assert table.estimate(2) == pytest.approx(0.25)
    assert table.estimate(3) == pytest.approx(0.5)  # its condition did not hold: nothing is known


def test_an_end_inside_the_draft_rejects_nothing() -> None:
    table = SurvivalTable([0.5] * 4, weight=1.0, memory=1e9)
    table.observe(verdict("aaaa", 2, [0, 1, 2, 3], ended=True), "a")
    assert table.estimate(1) == pytest.approx(0.75)
    assert table.estimate(2) == pytest.approx(0.5)


def test_learns_from_its_own_tokens_only() -> None:
    table = SurvivalTable([0.5] * 3, weight=1.0, memory=1e9)
    table.observe(verdict("aba", 3, [0, 1, 2]), "a")
    assert table.estimate(0) == pytest.approx(0.75)
    assert table.estimate(1) == pytest.approx(0.5)
    table.observe(verdict("bbb", 3, [0, 0, 0]), "a")
    assert table.estimate(0) == pytest.approx(0.75)


def test_an_empty_draft_teaches_nothing() -> None:
    table = SurvivalTable([0.3])
    table.observe(verdict("", 0, []), "a")
    assert table.estimate(0) == pytest.approx(0.3)


@given(st.floats(0, 1), st.lists(st.booleans(), max_size=300))
def test_estimates_are_probabilities(prior: float, outcomes: list[bool]) -> None:
    table = SurvivalTable([prior], memory=20.0)
    for outcome in outcomes:
        table.observe(verdict("a", int(outcome), [0]), "a")
        assert 0.0 <= table.estimate(0) <= 1.0


def test_follows_what_is_observed_and_forgets_what_was() -> None:
    table = SurvivalTable([0.1], memory=50.0)
    for _ in range(400):
        table.observe(verdict("a", 1, [0]), "a")
    assert table.estimate(0) > 0.8
    for _ in range(100):
        table.observe(verdict("a", 0, [0]), "a")
    assert table.estimate(0) < 0.2
