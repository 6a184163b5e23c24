"""The cost curve."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.cost import MEASURED_ROWS, CostCurve, measure_cost
from redraft.engines.fake import FakeEngine
from redraft.protocols import MAX_ROWS

seconds = st.floats(1e-4, 10.0)
measured = st.dictionaries(st.integers(1, MAX_ROWS), seconds, min_size=1)
SHAPE = {1: 1.0, 2: 1.2, 4: 2.0, 8: 3.4, 16: 6.0}


@st.composite
def plausible(draw: st.DrawFn) -> dict[int, float]:
    """A fixed part and a part per row, as forwards cost: no split of one is cheaper than it."""
    fixed, each = draw(seconds), draw(seconds)
    rows = draw(st.sets(st.integers(1, MAX_ROWS), min_size=1))
    return {count: fixed + each * count for count in rows}


@given(plausible())
def test_holds_what_was_measured_and_lies_between_elsewhere(curve: dict[int, float]) -> None:
    cost = CostCurve(curve)
    table = cost.table()
    assert len(table) == MAX_ROWS
    for rows in range(1, MAX_ROWS + 1):
        assert table[rows - 1] == pytest.approx(cost.seconds(rows))
        if rows in curve:
            assert cost.seconds(rows) == pytest.approx(curve[rows])
        below = [count for count in curve if count <= rows]
        above = [count for count in curve if count >= rows]
        if below and above:
            ends = (curve[max(below)], curve[min(above)])
            assert min(ends) * 0.999 <= cost.seconds(rows) <= max(ends) * 1.001
    last = max(curve)
    assert cost.seconds(MAX_ROWS) <= curve[last] * MAX_ROWS / last * 1.001


@given(measured)
def test_is_never_dearer_than_measured_nor_than_its_parts(curve: dict[int, float]) -> None:
    table = CostCurve(curve).table()
    for rows, took in curve.items():
        assert table[rows - 1] <= took * 1.001
    for (rows, took), (others, too) in product(curve.items(), repeat=2):
        if rows + others <= MAX_ROWS:
            assert table[rows + others - 1] <= (took + too) * 1.001


@given(measured)
def test_no_row_is_cheaper_than_the_one_before_it(curve: dict[int, float]) -> None:
    """So that no noisy timing forbids the drafts beyond it."""
    table = np.array(CostCurve(curve).table())
    each = np.diff(table)
    assert (np.diff(each) >= -1e-9 * table.max()).all()


@given(plausible(), st.integers(2, MAX_ROWS), st.floats(1.0, 5.0))
def test_one_slow_timing_between_others_changes_nothing(
    curve: dict[int, float], rows: int, slowness: float
) -> None:
    if not min(curve) < rows < max(curve):
        return
    quiet = CostCurve(curve)
    noisy = CostCurve(curve | {rows: quiet.seconds(rows) * slowness})
    assert noisy.table() == pytest.approx(quiet.table())


def test_a_timing_that_met_a_busy_moment_does_not_bend_the_curve() -> None:
    quiet, busy = CostCurve(SHAPE | {32: 12.0}), CostCurve(SHAPE | {32: 900.0})
    assert busy.seconds(32) == pytest.approx(quiet.seconds(32))


@given(measured, st.lists(st.tuples(st.integers(-1, 70), st.floats(-1, 100)), max_size=40))
def test_stays_positive_and_finite_whatever_is_observed(
    curve: dict[int, float], observed: list[tuple[int, float]]
) -> None:
    cost = CostCurve(curve)
    for rows, took in observed:
        cost.observe(rows, took)
    assert all(np.isfinite(value) and value > 0 for value in cost.table())


def test_nonsense_is_not_observed() -> None:
    cost = CostCurve(SHAPE)
    before = cost.table()
    for rows, took in ((0, 1.0), (65, 1.0), (4, 0.0), (4, -1.0)):
        cost.observe(rows, took)
    assert cost.table() == before


def test_follows_the_speed_of_the_machine() -> None:
    cost = CostCurve(SHAPE)
    for step in range(80):
        rows = (1, 4, 8)[step % 3]
        cost.observe(rows, 3.0 * SHAPE[rows])
    for rows, took in SHAPE.items():
        assert cost.seconds(rows) == pytest.approx(3.0 * took, rel=0.15)


def test_learns_that_one_row_count_is_dearer_than_measured() -> None:
    cost = CostCurve(SHAPE)
    for _ in range(300):
        cost.observe(4, 1.3 * SHAPE[4])
        cost.observe(1, SHAPE[1])
        cost.observe(8, SHAPE[8])
    assert 1.1 < cost.seconds(4) / SHAPE[4] < 1.4
    assert 0.8 < cost.seconds(1) / SHAPE[1] < 1.05


def test_one_slow_forward_changes_little() -> None:
    cost = CostCurve(SHAPE)
    before = cost.table()
    cost.observe(4, 500.0)
    assert all(new < 1.3 * old for new, old in zip(cost.table(), before, strict=True))


def test_measures_each_row_count_and_leaves_the_sequence() -> None:
    sequence = FakeEngine().open_sequence()
    sequence.evaluate([1, 2, 3], rows=0)
    measured = measure_cost(sequence, 264)
    assert sorted(measured) == list(MEASURED_ROWS)
    assert all(value > 0 for value in measured.values())
    assert sequence.length == 3
