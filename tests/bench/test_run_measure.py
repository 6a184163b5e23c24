"""The four ways of timing a task: what is forced, what is emptied, what is equal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.bench.measure import Measuring, by_position, first_difference
from redraft.bench.task_run import WAYS, run_task
from redraft.bench.tasks import BenchTask, Selection, load_tasks, select
from redraft.config import Settings
from redraft.session import CompleteRequest, EditRequest, GenerateRequest, Session
from redraft.tokens import Choice, Draft, Prefill, Step, Verdict

SOURCE = "def f(a):\n    b = a + 1\n    return b\n" * 4


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    settings = Settings(
        engine="fake",
        home=tmp_path,
        record=False,
        policy="fixed:5",
        drafters=("source", "suffix"),
        temperature=0.8,
        seed=3,
        max_tokens=300,
    )
    with Session(settings) as opened:
        yield opened


def edit(check: str | None = None) -> BenchTask:
    request = EditRequest(SOURCE, "Rename b to c.", "f.py", "python")
    return BenchTask("edit", "rename", ("edit",), request, check=lambda output: check)


def test_drafted_output_is_plain_output_and_is_forced_again(session: Session) -> None:
    measuring = Measuring(session)
    plain, drafted = measuring.same_numerics(edit()), measuring.drafted(edit())
    assert plain.tokens == drafted.tokens and plain.statistics.proposed == 0
    assert drafted.statistics.proposed == sum(drafted.reached) > 0
    assert drafted.statistics.accepted == sum(drafted.survived)
    forced = measuring.one_token(edit(), drafted.tokens)
    assert forced.statistics.output_tokens == len(drafted.tokens)
    assert forced.statistics.forwards == len(drafted.tokens)
    assert session.settings.policy == "fixed:5"


def test_a_free_choice_of_known_tokens_is_no_drift(session: Session) -> None:
    session.settings = replace(session.settings, numerics="fast")
    measuring = Measuring(session)
    plain = measuring.same_numerics(edit())
    assert measuring.one_token(edit(), plain.tokens).drift == 0
    changed = (*plain.tokens[:2], (plain.tokens[2] + 1) % 256, *plain.tokens[3:])
    assert 1 <= measuring.one_token(edit(), changed).drift < len(changed)


def test_every_run_starts_from_empty_stores(session: Session) -> None:
    measuring = Measuring(session)
    first = measuring.drafted(edit())
    again = measuring.drafted(edit())
    kept = measuring.drafted(edit(), keep_prompt=True)
    counts = [
        (run.statistics.proposed, run.statistics.accepted, run.reached)
        for run in (first, again, kept)
    ]
    assert counts[0] == counts[1] == counts[2]
    assert again.statistics.reused_tokens == 0
    assert kept.statistics.reused_tokens == kept.statistics.prompt_tokens - 1
    assert kept.statistics.prefill_seconds == 0 < first.statistics.prefill_seconds


def test_without_forgetting_a_run_profits_from_the_one_before(session: Session) -> None:
    measuring = Measuring(session)
    first = measuring.drafted(edit())
    request = edit().request
    assert isinstance(request, EditRequest)
    run = session.edit(request)
    assert sum(1 for _ in run) > 0
    assert run.result.tokens == first.tokens
    assert run.result.statistics.accepted > first.statistics.accepted


def test_the_prompt_of_plain_decoding_is_evaluated_once_a_task(session: Session) -> None:
    measuring = Measuring(session)
    tokens = measuring.drafted(edit()).tokens
    other = replace(edit(), request=CompleteRequest("x = ", "\ny = 2\n"))
    seconds = [
        measuring.one_token(task, tokens[:5]).statistics.prefill_seconds
        for task in (edit(), edit(), other, edit())
    ]
    assert [value > 0 for value in seconds] == [True, False, True, True]


def test_a_task_whose_plain_output_fails_its_check_is_drafted_once(session: Session) -> None:
    done: list[int] = []
    measuring, tokenizer = Measuring(session), session.loaded.tokenizer
    row = run_task(measuring, tokenizer, edit("b is left"), 3, lambda: done.append(1))
    assert (row.excluded, row.reason) == ("check", "b is left")
    assert row.equal is True and row.timings is None and len(done) == 2
    assert row.unchanged_share is not None and 0 <= row.unchanged_share <= 1


def test_a_counted_task_takes_all_turns(session: Session) -> None:
    done: list[int] = []
    measuring, tokenizer = Measuring(session), session.loaded.tokenizer
    row = run_task(measuring, tokenizer, edit(), 2, lambda: done.append(1))
    assert row.excluded is None and row.timings is not None
    assert len(done) == 2 * WAYS and len(row.timings.plain) == 2
    assert row.output_tokens == len(measuring.drafted(edit()).tokens)


def steps(*drafts: tuple[int, int, int]) -> list[Prefill | Step]:
    """Steps with (proposed, fillers behind them, accepted)."""
    found: list[Prefill | Step] = [Prefill(3, 3, 0.1)]
    for index, (proposed, fillers, accepted) in enumerate(drafts):
        count = proposed + fillers
        names = ("suffix",) * proposed + ("filler",) * fillers
        draft = Draft((1,) * count, (0.5,) * count, names, (0,) * count)
        verdict = Verdict(draft, accepted, (Choice(1, 0.0),) * (accepted + 1))
        found.append(Step(index, 0, verdict, count + 1, 0.0, 0.0, 0.0))
    return found


def test_positions_count_drafts_and_no_fillers() -> None:
    assert by_position(steps((3, 0, 2), (1, 0, 0), (0, 1, 1), (2, 1, 3))) == ((3, 2, 1), (2, 2, 0))
    assert by_position(steps()) == ((), ())


@given(st.lists(st.integers(0, 2), max_size=6), st.lists(st.integers(0, 2), max_size=6))
def test_the_first_difference(ours: list[int], theirs: list[int]) -> None:
    place = first_difference(ours, theirs)
    if place is None:
        assert ours == theirs
    else:
        assert ours[:place] == theirs[:place]
        assert ours[place : place + 1] != theirs[place : place + 1]


def test_requests_of_functions_and_completions(tmp_path: Path) -> None:
    from bench_doubles import write_completions, write_functions

    function = load_tasks("functions", [write_functions(tmp_path / "f.jsonl")])[0]
    assert isinstance(function.request, GenerateRequest)
    assert function.request.source.startswith("def ant(x: int)")
    assert function.request.instruction.count("def ant") == 0
    completion = load_tasks("completions", [write_completions(tmp_path / "c.jsonl")])[0]
    assert isinstance(completion.request, CompleteRequest)
    assert completion.request.single_line and completion.max_tokens == 128
    assert function.max_tokens == 512


def test_selection(tmp_path: Path) -> None:
    from bench_doubles import write_functions

    tasks = load_tasks("functions", [write_functions(tmp_path / "f.jsonl")])
    assert select(tasks, Selection()) == tasks
    assert select(tasks, Selection(first=2)) == tasks[:2]
    assert len(select(tasks, Selection(sampled=4, seed=1))) == 4
