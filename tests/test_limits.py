"""Time limits of a run."""

from __future__ import annotations

import pytest

from redraft import limits
from redraft.limits import Deadlines
from redraft.requests import Options
from redraft.tokens import NO_DRAFT, Choice, Prefill, Step, Verdict


class Clock:
    now = 0.0


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> type[Clock]:
    Clock.now = 0.0
    monkeypatch.setattr(limits, "perf_counter", lambda: Clock.now)
    return Clock


def step(last: bool = False) -> Step:
    verdict = Verdict(NO_DRAFT, 0, (Choice(1, 0.0),))
    return Step(0, 0, verdict, 1, 0.0, 0.0, 0.0, "stop" if last else None)


def test_a_prompt_is_cut_when_its_time_is_over_and_more_than_the_last_tokens_are_missing() -> None:
    deadlines = Deadlines(Options(prompt_seconds=1.0), fewest=2)
    assert not deadlines.passed(Prefill(128, 500, 0.1), "")
    Clock.now = 1.0
    assert deadlines.passed(Prefill(256, 500, 0.1), "")
    assert not deadlines.passed(Prefill(498, 500, 0.1), "")


def test_an_output_is_cut_after_its_time_once_a_line_is_whole() -> None:
    deadlines = Deadlines(Options(decode_seconds=1.0), fewest=2)
    Clock.now = 50.0  # the prompt's time does not count
    assert not deadlines.passed(step(), "a\n")
    Clock.now = 51.0
    assert not deadlines.passed(step(), "no line is whole")
    assert deadlines.passed(step(), "a\nb")
    assert not deadlines.passed(step(last=True), "a\nb")


def test_without_limits_nothing_is_cut() -> None:
    deadlines = Deadlines(Options(), fewest=2)
    Clock.now = 1e9
    assert not deadlines.passed(step(), "\n") and not deadlines.passed(Prefill(1, 500, 0.0), "")
