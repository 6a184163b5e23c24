"""Rows and figures: the arithmetic that published numbers rest on."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.bench.figures import summarise
from redraft.bench.rows import Drafting, TaskRow, Timings, from_json, to_json

seconds = st.floats(0.01, 100.0)


def times(plain: float, drafted: float, same: float = 2.0) -> Timings:
    return Timings(
        same_numerics=(same,),
        drafted=(drafted,),
        plain=(plain,),
        control=(plain * 1.1,),
        drafted_engine=(drafted * 0.9,),
        plain_prompt=1.0,
        drafted_prompt=1.0,
    )


COUNTS = Drafting(
    forwards=10,
    proposed=40,
    accepted=20,
    reached=(10, 10, 5),
    survived=(9, 6, 1),
    by_drafter={"source": (30, 18), "suffix": (10, 2)},
)
ROW = TaskRow(
    name="one",
    language="python",
    kind="rename",
    excluded=None,
    reason="",
    equal=True,
    differs_at=None,
    exact=True,
    prompt_tokens=100,
    output_tokens=30,
    output_sha256="00",
    unchanged_share=0.9,
    drift=3,
    drafting=COUNTS,
    timings=times(4.0, 2.0),
)


@st.composite
def timings(draw: st.DrawFn) -> Timings:
    repeats = draw(st.integers(1, 4))
    series = st.lists(seconds, min_size=repeats, max_size=repeats).map(tuple)
    drafted = draw(series)
    return Timings(
        draw(series), drafted, draw(series), draw(series), drafted, draw(seconds), draw(seconds)
    )


@given(timings())
def test_ratios_of_one_task(one: Timings) -> None:
    assert one.speedup == pytest.approx(median(one.plain) / median(one.drafted))
    lowest, highest = sorted((one.speedup, one.plain_prompt / one.drafted_prompt))
    assert lowest * 0.999 <= one.speedup_total <= highest * 1.001
    assert len(one.control_ratios) == len(one.plain)
    assert one.spread >= 0
    same = replace(one, control=one.plain, drafted=one.plain)
    assert same.speedup == 1 and set(same.control_ratios) == {1}


@given(timings(), st.booleans())
def test_a_row_comes_back_from_json(one: Timings, whole: bool) -> None:
    row = replace(ROW, timings=one if whole else None, drafting=COUNTS if whole else None)
    assert from_json(orjson.loads(orjson.dumps(to_json(row)))) == row


def test_speedups_are_ratios_of_sums_not_means_of_ratios() -> None:
    rows = [ROW, replace(ROW, name="two", kind="types", timings=times(9.0, 9.0))]
    found = summarise(rows)
    assert found["speedup"] == pytest.approx(13 / 11)
    assert found["speedup_total"] == pytest.approx(15 / 13)
    assert found["speedup_over_same_numerics"] == pytest.approx(4 / 11)
    assert (found["worst"], found["worst_task"]) == (1.0, "two")
    assert found["tasks"] == 2
    assert found["by_kind"]["rename"]["speedup"] == pytest.approx(2.0)
    assert found["time_outside_engine"] == pytest.approx(0.1)
    assert found["control"]["median"] == pytest.approx(1.1)


def test_acceptance_is_summed_by_position_and_by_drafter() -> None:
    longer = replace(COUNTS, reached=(4, 4, 4, 2), survived=(4, 3, 2, 1))
    found = summarise([ROW, replace(ROW, name="two", drafting=longer)])
    assert found["survival_by_position"] == pytest.approx([13 / 14, 9 / 14, 3 / 9, 1 / 2])
    assert found["reached_by_position"] == [14, 14, 9, 2]
    assert found["tokens_per_forward"] == pytest.approx(60 / 20)
    assert found["numerics_drift"] == pytest.approx(6 / 60)
    assert found["accepted_of_proposed"] == pytest.approx(0.5)
    assert found["by_drafter"]["source"] == {"proposed": 60, "accepted": 36}


def test_what_does_not_count_is_compared_but_not_timed() -> None:
    looped = replace(ROW, name="loop", excluded="loop", reason="repeats", timings=None)
    bad = replace(looped, name="bad", excluded="check", equal=False, differs_at=7)
    found = summarise([ROW, looped, bad])
    assert found["tasks"] == 1 and found["speedup"] == pytest.approx(2.0)
    assert found["output_tokens"] == ROW.output_tokens
    assert (found["equal"], found["compared"]) == (False, 3)
    assert found["unequal"] == [{"task": "bad", "differs_at": 7}]
    assert found["excluded_by_cause"] == {"loop": 1, "check": 1}


def test_an_excluded_row_never_counts_even_with_times() -> None:
    found = summarise([replace(ROW, excluded="length")])
    assert found["tasks"] == 0 and found["speedup"] is None


def test_losses_name_both_baselines() -> None:
    slow = replace(ROW, name="slow", timings=times(1.0, 2.0))
    uneven = replace(ROW, name="uneven", timings=times(4.0, 2.0, same=1.9))
    found = summarise([ROW, slow, uneven])
    assert [loss["task"] for loss in found["losses"]] == ["slow", "uneven"]
    assert found["worst_over_same_numerics_task"] == "uneven"


def test_the_unchanged_share_of_a_set() -> None:
    rows = [replace(ROW, unchanged_share=share) for share in (0.5, 0.59, 0.61, 0.9)]
    found = summarise(rows)
    assert found["unchanged_share"] == pytest.approx(0.65)
    assert found["unchanged_below_60_percent"] == pytest.approx(0.5)


def test_nothing_at_all() -> None:
    found = summarise([])
    assert found["equal"] is None and found["speedup"] is None and found["tasks"] == 0
