"""The front door, on the fake engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import pytest

from redraft.calibration import CalibrationKey, CalibrationStore
from redraft.config import Settings, load_settings
from redraft.context import OtherFile
from redraft.cost import CostCurve
from redraft.errors import ContextFull, SequenceClosed, UsageError
from redraft.models import Metadata
from redraft.requests import Options, TextRequest
from redraft.results import Result
from redraft.session import CompleteRequest, EditRequest, GenerateRequest, Session
from redraft.tokens import Step

EDIT = EditRequest("def f(a):\n    return a\n" * 6, "Rename a to b", "a.py", "python")


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("REDRAFT_HOME", str(tmp_path / "home"))
    options = {"engine": "fake", "max_tokens": 60, "drafters": ("source", "suffix")}
    return load_settings(options, tmp_path)


@pytest.fixture
def session(settings: Settings) -> Iterator[Session]:
    with Session(settings) as opened:
        yield opened


def fresh_tokens(settings: Settings, request: EditRequest) -> tuple[int, ...]:
    with Session(settings) as session:
        run = session.edit(request)
        list(run)
        return run.result.tokens


def test_the_events_add_up_to_the_result(session: Session) -> None:
    for run in (
        session.edit(EDIT),
        session.complete(CompleteRequest("def f(", "):\n    pass\n", "python")),
        session.generate(GenerateRequest("A stack", "go")),
    ):
        events = list(run)
        result, steps = run.result, [e.event for e in events if isinstance(e.event, Step)]
        assert tuple(t for step in steps for t in step.tokens) == result.tokens
        assert "".join(event.text for event in events) == result.text.removesuffix("\n")
        assert result.statistics.output_tokens == len(result.tokens)
        assert result.statistics.forwards == len(steps)
        assert steps[-1].finish_reason is not None and result.exact
        assert result.run_id is not None


def test_forced_drafts_and_pruning_change_nothing(settings: Settings) -> None:
    plain = replace(settings, policy="none", drafters=("source",), syntax=False)
    followed = replace(settings, policy="fixed:6", drafters=("source", "suffix", "forced"))
    said: list[str] = []
    with (
        Session(plain) as without,
        Session(followed, lambda stage, share: said.append(stage)) as session,
    ):
        for _ in range(2):
            runs = [
                (
                    one.edit(EDIT),
                    one.complete(CompleteRequest("def f(", "):\n    pass\n", "python")),
                    one.generate(GenerateRequest("A stack", "go")),
                )
                for one in (without, session)
            ]
            for expected, found in zip(*runs, strict=True):
                list(expected)
                list(found)
                assert found.result.tokens == expected.result.tokens
                assert found.result.finish_reason == expected.result.finish_reason
    assert not [stage for stage in said if "without syntax" in stage]


def test_drafts_change_nothing_but_the_number_of_forwards(
    settings: Settings, tmp_path: Path
) -> None:
    plain = load_settings(
        {"engine": "fake", "max_tokens": 60, "policy": "none", "drafters": ("source",)}, tmp_path
    )
    assert fresh_tokens(settings, EDIT) == fresh_tokens(plain, EDIT)


def test_a_second_run_finds_the_prompt_in_the_cache_and_says_the_same(session: Session) -> None:
    first = session.edit(EDIT)
    list(first)
    again = session.edit(EDIT)
    list(again)
    assert again.result.tokens == first.result.tokens
    assert first.result.statistics.reused_tokens == 0
    assert again.result.statistics.reused_tokens > again.result.statistics.prompt_tokens - 3
    session.forget()
    cold = session.edit(EDIT)
    list(cold)
    assert cold.result.statistics.reused_tokens == 0


def test_a_run_is_iterated_once(session: Session) -> None:
    run = session.edit(EDIT)
    list(run)
    result = run.result
    with pytest.raises(UsageError, match="once"):
        list(run)
    assert run.result is result


def test_two_runs_of_one_session_do_not_mix(session: Session, settings: Settings) -> None:
    first, second = iter(session.edit(EDIT)), session.generate(GenerateRequest("A stack"))
    next(first)
    with pytest.raises(UsageError, match="under way"):
        list(second)
    list(first)
    run = session.edit(EDIT)
    list(run)
    assert run.result.tokens == fresh_tokens(settings, EDIT)


def test_runs_in_slots_of_their_own_can_be_interleaved(settings: Settings) -> None:
    requests = [EDIT, replace(EDIT, text="y = 2\n" * 9), replace(EDIT, instruction="Sort it")]
    with Session(settings, slots=3) as session:
        runs = [session.edit(request) for request in requests]
        for _ in zip_longest(*runs):
            pass
        assert [run.slot for run in runs] == [0, 1, 2]
        again = [session.edit(request) for request in requests]
        for _ in zip_longest(*again):
            pass
    for run, warm, request in zip(runs, again, requests, strict=True):
        assert run.result.tokens == warm.result.tokens == fresh_tokens(settings, request)
        assert warm.result.statistics.reused_tokens > 100


def test_options_go_before_settings(session: Session) -> None:
    ask = TextRequest(("def f(a):\n    return a\n",))

    def result(options: Options) -> Result:
        run = session.start(ask, options)
        list(run)
        return run.result

    plain = result(Options(max_tokens=20))
    assert len(plain.tokens) <= 20
    stop = plain.text[3]
    cut = result(Options(max_tokens=20, stop=(stop,)))
    assert cut.text == plain.text[: plain.text.index(stop)] and cut.stopped_by == stop
    hot = [result(Options(max_tokens=20, temperature=2.0, seed=3, index=n)) for n in (0, 1)]
    assert len({one.tokens for one in (plain, *hot)}) == 3
    nothing = result(Options(max_tokens=0))
    assert nothing.tokens == () and nothing.finish_reason == "length" and nothing.run_id is None
    timed = result(Options(max_tokens=20, prompt_seconds=0.0))
    assert timed.finish_reason in ("length", "stop")  # so short a prompt is not cut


def test_a_prompt_that_takes_too_long_is_cut_and_kept(session: Session) -> None:
    ask = TextRequest(("x = 1\n" * 200,))
    first = session.start(ask, Options(max_tokens=5, prompt_seconds=0.0))
    list(first)
    assert first.result.finish_reason == "time" and first.result.text == ""
    second = session.start(ask, Options(max_tokens=5))
    list(second)
    assert 0 < second.result.statistics.reused_tokens < 1200


def test_other_files_come_before_the_prefix_where_there_is_room(session: Session) -> None:
    files = tuple(OtherFile(f"{n}.py", "z = 1\n" * 20) for n in range(3))
    session.loaded = replace(session.loaded, metadata=_with_separator(session.loaded.metadata))
    request = CompleteRequest("a", "b", others=files)
    all_of_them = session.complete(request).plan.context.prompt
    assert all_of_them.count(262) == 4
    session.loaded = replace(session.loaded, context_length=300)
    some = session.complete(request).plan.context.prompt
    assert some.count(262) == 2 and b"2.py" in bytes(t for t in some if t < 256)


def _with_separator(metadata: Metadata) -> Metadata:
    return replace(metadata, fim=replace(metadata.fim, file_separator=262))


@pytest.mark.parametrize("events", [1, 2, 4])
def test_a_closed_run_leaves_the_session_as_good_as_new(
    session: Session, settings: Settings, events: int
) -> None:
    run = session.edit(EDIT)
    iterator = iter(run)
    for _ in range(events):
        next(iterator)
    iterator.close()  # type: ignore[attr-defined]
    assert run.result.finish_reason == "cancelled"
    whole = session.edit(EDIT)
    list(whole)
    assert whole.result.tokens == fresh_tokens(settings, EDIT)


@pytest.mark.parametrize("after", [0, 1, 3])
def test_cancelling_ends_the_run_with_what_it_has(session: Session, after: int) -> None:
    run = session.edit(EDIT)
    if not after:
        run.cancel()
    for number, _ in enumerate(run, 1):
        if number == after:
            run.cancel()
    assert run.result.finish_reason == "cancelled"
    assert len(run.result.tokens) == run.result.statistics.output_tokens


def test_a_result_is_not_there_before_the_end(session: Session) -> None:
    run = session.edit(EDIT)
    with pytest.raises(UsageError, match="before"):
        _ = run.result


def test_a_prompt_larger_than_the_context_says_so(session: Session) -> None:
    with pytest.raises(ContextFull, match="--context"):
        session.edit(EditRequest("x = 1\n" * 2000, "Change"))


def test_after_close_a_session_refuses(settings: Settings) -> None:
    session = Session(settings)
    session.close()
    with pytest.raises(SequenceClosed):
        list(session.edit(EDIT))


def test_fast_numerics_promise_nothing(settings: Settings, tmp_path: Path) -> None:
    fast = load_settings({"engine": "fake", "max_tokens": 9, "numerics": "fast"}, tmp_path)
    with Session(fast) as session:
        run = session.generate(GenerateRequest("A stack"))
        list(run)
        assert not run.result.exact and "numerics" in run.result.exact_because


@pytest.mark.parametrize(("name", "value"), [("policy", "fixed:99"), ("drafters", ("nobody",))])
def test_unknown_policies_and_drafters_are_refused_at_once(
    tmp_path: Path, name: str, value: object
) -> None:
    with pytest.raises(UsageError):
        Session(load_settings({"engine": "fake", name: value}, tmp_path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"context": -5}, "context is '-5'; it must be a whole number, 256 … 1048576"),
        ({"threads": -1}, "threads is '-1'; it must be a whole number, 0 … 1024"),
        ({"threads": "4"}, "threads is '4'; it must be a whole number, 0 … 1024"),
        ({"live_sequences": 0}, "live_sequences is '0'; it must be a whole number, 1 … 64"),
        ({"temperature": float("nan")}, "temperature is 'nan'; it must be a number, 0 … 100"),
        (
            {"policy": "fastest"},
            "policy is 'fastest'; it must be none, cost, gate, seed, seed-regions or fixed:k",
        ),
        ({"engine": "warp"}, "engine is 'warp'; it must be one of auto, ik, llamacpp, fake"),
        ({"drafters": ("nobody",)}, "it must be different names of source, suffix"),
        ({"drafters": ["source"]}, "it must be different names of source, suffix"),
        ({"numerics": "exact"}, "numerics is 'exact'; it must be one of invariant, fast"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_settings_made_by_hand_are_checked_like_others(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    options: dict[str, object] = {"engine": "fake", "home": tmp_path, **change}
    with pytest.raises(UsageError) as caught:
        Session(Settings(**options))  # type: ignore[arg-type]  # on purpose
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_measurement_of_a_busy_machine_is_made_again(settings: Settings, tmp_path: Path) -> None:
    weights = tmp_path / "weights.gguf"
    weights.write_bytes(b"weights")
    store = CalibrationStore(tmp_path, CalibrationKey("fake", weights, 2))
    for slower, kept in ((1.0, True), (3.0, False)):
        session = Session(settings)
        session.loaded = replace(session.loaded, store=store)
        store.store(session.loaded.calibration)
        session.curve = CostCurve({1: 0.02, 2: 0.03})
        for _ in range(40):
            session.curve.observe(2, 0.03 / slower)
        session.close()
        assert (store.load() is not None) is kept
