"""Replay: recorded on the fake engine, decoded again without it, by other policies and curves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from bench_doubles import write_functions

from redraft.bench.cli import app
from redraft.bench.replay.baselines import SimulatedModel, SmallModel, look_up
from redraft.bench.replay.curves import Curve, find_curve, find_pair
from redraft.bench.replay.recorded import RecordedSequence, SimulatedClock
from redraft.bench.replay.run import BASELINES, Replayer, ReplayPlan, check, real
from redraft.bench.replay.simulation import Machine, row_seconds, simulate
from redraft.bench.traces import Trace, read_traces
from redraft.cost import CostCurve
from redraft.engines.fake import FakeTokenizer
from redraft.errors import CheckFailed, InputError, UsageError
from redraft.protocols import Sequence
from redraft.schedule import make_policy
from schedule_doubles import Lines

CURVE = Curve("test", "made up", {1: 0.05, 2: 0.06, 4: 0.09, 8: 0.15, 16: 0.3, 64: 1.2})
DRAFTERS = ("source", "suffix")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recorded with a policy that does not look at the clock, beside plain timing."""
    root = tmp_path_factory.mktemp("recorded")
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("REDRAFT_HOME", str(root / "home"))
    path = write_functions(root / "functions.jsonl", 6)
    words = ["functions", f"--path={path}", "--engine=fake", "--temperature=0.8", "--quick"]
    places = [f"--traces={root / 'traces'}", f"--output={root / 'out'}"]
    app(
        [*words, "--max-tokens=700", "--policy=fixed:5", "--drafters=source,suffix", *places],
        standalone_mode=False,
    )
    monkeypatch.undo()
    return root / "traces"


@pytest.fixture(scope="module")
def traces(folder: Path) -> tuple[Trace, ...]:
    found = tuple(read_traces([folder]))
    assert sum(trace.excluded is None for trace in found) >= 2
    return found


@pytest.fixture(scope="module")
def repetitive(folder: Path) -> tuple[Trace, ...]:
    """Recorded without timing, cold, so that outputs repeat themselves and drafts are accepted."""
    root = folder.parent
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("REDRAFT_HOME", str(root / "home"))
    words = ["trace", "functions", f"--path={root / 'functions.jsonl'}", "--engine=fake"]
    asked = ["--temperature=0.3", "--max-tokens=120", "--policy=fixed:5"]
    place = f"--output={root / 'repetitive'}"
    app([*words, *asked, "--drafters=source,suffix", place], standalone_mode=False)
    monkeypatch.undo()
    found = tuple(read_traces([root / "repetitive"]))
    assert sum(step.accepted for trace in found for step in trace.steps) > 100
    return found


def plan(traces: tuple[Trace, ...], *policies: str, curve: Curve | None = CURVE) -> ReplayPlan:
    return ReplayPlan(traces, policies, DRAFTERS, curve)


def test_the_recorded_policy_makes_the_recorded_drafts(repetitive: tuple[Trace, ...]) -> None:
    """Token by token: a policy without a clock replays as it ran, so acceptance is exact."""
    for trace in repetitive:
        replayer = Replayer(plan((trace,), "fixed:5"), FakeTokenizer())
        machine = replayer.machine(trace)
        drafters, _ = replayer.equipment(trace, machine)
        policy = make_policy("fixed:5", CostCurve(CURVE.seconds_by_rows))
        counted = simulate(trace, machine, drafters, policy)
        assert counted.output == trace.output
        own = [sum(name != "filler" for name in step.drafters) for step in trace.steps]
        accepted = sum(map(min, own, (step.accepted for step in trace.steps)))
        drafting = counted.drafting
        assert drafting.forwards == trace.forwards
        assert (drafting.proposed, drafting.accepted) == (sum(own), accepted)
        forwards = sum(CURVE.seconds(max(2, step.rows)) for step in trace.steps)
        assert forwards * 0.999 <= counted.engine_seconds <= forwards * 1.05 + 0.05


@pytest.mark.parametrize("policy", ["none", "cost", "gate", "seed", "fixed:9", *BASELINES])
def test_every_way_gives_the_recorded_output(traces: tuple[Trace, ...], policy: str) -> None:
    rows = Replayer(plan(traces, policy), FakeTokenizer()).rows(policy)
    assert [row.name for row in rows] == [trace.task for trace in traces]
    for row, trace in zip(rows, traces, strict=True):
        assert row.equal and row.timings is not None and row.drafting is not None
        assert row.output_tokens == len(trace.output)
        assert row.timings.plain[0] == pytest.approx(len(trace.output) * 0.05)
        assert row.drafting.accepted <= row.drafting.proposed
        assert row.timings.drafted_engine[0] <= row.timings.drafted[0] * (1 + 1e-9)


def test_best_single_is_no_slower_than_each(traces: tuple[Trace, ...]) -> None:
    best = Replayer(plan(traces, "best-single"), FakeTokenizer()).rows("best-single")
    for name in DRAFTERS:
        alone = replace(plan(traces, "cost"), drafters=(name,))
        for one, other in zip(best, Replayer(alone, FakeTokenizer()).rows("cost"), strict=True):
            assert one.timings and other.timings
            assert one.timings.drafted_engine[0] <= other.timings.drafted_engine[0] * 1.2


def test_looking_up_copies_after_the_first_occurrence(traces: tuple[Trace, ...]) -> None:
    trace = replace(traces[0], output=(7, 8, 9, 7, 8, 9, 7, 8, 9), room=99)
    machine = Machine(Curve("flat", "", {1: 1.0, 200: 1.0}), SimulatedClock())
    counted = look_up(trace, machine)
    assert counted.output == trace.output
    # 7, 8, 9 and 7 are new after this prompt; then the first 7 is found, and all that followed it
    assert counted.drafting.forwards < 9
    assert counted.seconds == counted.drafting.forwards


def test_a_simulated_model_is_right_as_often_as_asked(traces: tuple[Trace, ...]) -> None:
    clock = SimulatedClock()
    trace = replace(traces[0], output=tuple(range(2000)))
    model = SimulatedModel(trace, SmallModel(0.7, 0.5), clock)
    model.start(trace.context)
    before = clock()
    draft = model.propose(2000)
    assert clock() - before >= 1000
    right = sum(one == other for one, other in zip(draft.tokens, trace.output, strict=True))
    assert 0.65 < right / 2000 < 0.75
    assert draft == SimulatedModel(trace, SmallModel(0.7, 0.5), clock).propose(2000)
    assert model.propose(3, (0, 1)).tokens == draft.tokens[2:5]


def test_a_model_that_costs_too_much_is_left_out(traces: tuple[Trace, ...]) -> None:
    shares = []
    for seconds in (0.0001, 10.0):
        asked = ReplayPlan(
            traces, ("cost",), ("suffix", "model"), CURVE, model=SmallModel(0.8, seconds)
        )
        rows = Replayer(asked, FakeTokenizer()).rows("cost")
        proposed = [row.drafting.by_drafter.get("model", (0, 0))[0] for row in rows if row.drafting]
        shares.append(sum(proposed))
    assert shares[0] > 10 * max(1, shares[1])


def test_the_clock_and_the_sequence() -> None:
    clock = SimulatedClock()
    sequence = RecordedSequence(clock, CURVE.seconds)
    assert isinstance(sequence, Sequence)
    before = clock()
    sequence.evaluate([1, 2, 3], 0)
    assert clock() - before < 0.05  # prefill is no decode time
    assert sequence.evaluate([4, 5], 1).shape == (1, 0)
    assert 0.06 <= clock() - before < 0.11
    fork = sequence.fork()
    sequence.truncate(1)
    assert (sequence.length, fork.length) == (1, 5)


def test_curves_come_by_name_and_file(tmp_path: Path) -> None:
    flat = find_curve("flat-a100-32b-bf16")
    assert "simulated" in flat.source
    assert flat.seconds(1) == pytest.approx(65.5e9 / 2.039e12)
    assert flat.seconds(64) == flat.seconds(1) < flat.seconds(256)
    assert find_curve("server-2-cores-a").seconds(64) == pytest.approx(2 * 0.6545)
    pair = find_pair("32b-1.5b")
    assert pair.cost == 0.12 and 0 < pair.acceptance < 1 and pair.source
    path = tmp_path / "doctor.json"
    for content in ({"measured": {"seconds_by_rows": {"1": 0.1}}}, {"cost_curve": {"1": 0.1}}):
        path.write_bytes(orjson.dumps(content))
        assert find_curve(str(path)).seconds(1) == 0.1
    for text in ("{", "{}", "[]", '{"cost_curve": {"0": 1}}', '{"cost_curve": {"x": 1}}'):
        path.write_text(text)
        with pytest.raises(InputError, match="no cost curve"):
            find_curve(str(path))
    with pytest.raises(UsageError, match="flat-h100"):
        find_curve("fast")
    with pytest.raises(UsageError, match="known are 32b"):
        find_pair("other")


def test_what_cannot_be_replayed_is_refused(traces: tuple[Trace, ...]) -> None:
    for wrong, message in (
        (replace(plan(traces, "cost"), traces=()), "--all"),
        (replace(plan(traces, "cost"), drafters=()), "needs drafters"),
        (replace(plan(traces, "cost"), drafters=("model",)), "--model-acceptance"),
        (replace(plan(traces, "cost"), drafters=("other",)), "no drafter"),
        (plan(traces, "other"), "no policy"),
    ):
        with pytest.raises((UsageError, InputError), match=message):
            check(wrong)


# --- the command -------------------------------------------------------------------------------


def replayed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    app(["replay", *words], standalone_mode=False)
    out = capsys.readouterr().out
    content: dict[str, Any] = orjson.loads(Path(out.splitlines()[-1]).read_bytes())
    assert "simulated" in out
    return content


def test_the_command_prints_a_line_per_policy_and_the_real_speed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = replayed(
        capsys, str(folder), "--policy=fixed:5", "--policy=lookup", f"--output={tmp_path / 'new'}"
    )
    assert [way["policy"] for way in one["ways"]] == ["fixed:5", "lookup"]
    assert one["simulated"] is True and one["curve"] == "recorded"
    assert one["real"]["policy"] == "fixed:5" and one["real"]["speedup"] > 0
    assert str(tmp_path) not in orjson.dumps(one).decode()


def test_a_simulation_that_is_off_fails_the_check(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["replay", str(folder), "--policy=fixed:5", f"--output={tmp_path}"]
    slow = "--curve=server-2-cores-a"  # forwards of the fake engine take microseconds
    with pytest.raises(CheckFailed, match="off the measured"):
        app([*words, slow, "--within=1"], standalone_mode=False)
    with pytest.raises(UsageError, match="--against"):
        app([*words[:2], "--policy=none", words[-1], "--within=10"], standalone_mode=False)


def test_a_pair_brings_its_curve_and_its_model(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = replayed(
        capsys, str(folder), "--all", "--pair=32b-1.5b", "--policy=cost", f"--output={tmp_path}"
    )
    assert one["curve"] == "flat-a100-32b-bf16" and one["drafters"][-1] == "model"
    assert one["model"]["seconds"] == pytest.approx(0.12 * 65.5e9 / 2.039e12)
    assert one["real"] is None


def test_only_the_recorded_way_is_compared_with_the_real_one(traces: tuple[Trace, ...]) -> None:
    asked = plan(traces, "fixed:5", curve=None)
    rows = Replayer(asked, FakeTokenizer()).rows("fixed:5")
    way = {
        "policy": "fixed:5",
        "rows": [
            {"name": row.name, "timings": {"plain": row.timings.plain, "drafted": (1.0,)}}
            for row in rows
            if row.timings
        ],
    }
    found = real(asked, [way])
    assert found is not None and found["tasks"] == sum(
        trace.plain_seconds is not None for trace in traces
    )
    assert real(replace(asked, drafters=("suffix",)), [way]) is None
    assert real(asked, [way | {"policy": "cost"}]) is None


def test_a_published_bench_is_compared_with_task_by_task(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [path] = (folder.parent / "out").glob("functions-*.json")
    published = orjson.loads(path.read_bytes())
    one = replayed(
        capsys, str(folder), "--policy=fixed:5", f"--against={path}", f"--output={tmp_path}"
    )
    assert one["curve"] == path.name
    assert one["real"]["speedup"] == pytest.approx(published["speedup"])
    assert one["real"]["tasks"] == published["tasks"]
    other = replayed(
        capsys, str(folder), "--policy=cost", f"--against={path}", f"--output={tmp_path}"
    )
    assert other["real"] is None


def test_sampling_time_counts_only_where_it_was_timed(traces: tuple[Trace, ...]) -> None:
    timed = next(trace for trace in traces if trace.plain_seconds is not None)
    assert row_seconds(timed) > 0
    assert row_seconds(replace(timed, plain_seconds=None)) == 0


def test_traces_say_where_each_drafted_token_stands(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDRAFT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("redraft.bench.recorder.Syntax", lambda tokenizer: Lines())
    words = ["trace", "functions", f"--path={folder.parent / 'functions.jsonl'}", "--limit=1"]
    asked = ["--engine=fake", "--max-tokens=60", "--temperature=0.3", f"--output={tmp_path}"]
    app([*words, *asked], standalone_mode=False)
    [trace] = read_traces([tmp_path])
    done = 0
    for step in trace.steps:
        assert len(step.syntax) == len(step.tokens)
        before = [*trace.context.source, *trace.output[:done]]
        for count, place in enumerate(step.syntax):
            lines = [*before, *step.tokens[:count]].count(10)
            assert place == ("odd" if lines % 2 else "even", lines % 3, "", *place[3:])
        done += step.committed
    assert done == len(trace.output) == 60


def test_recording_alone_gives_the_same_output(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDRAFT_HOME", str(tmp_path / "home"))
    path = folder.parent / "functions.jsonl"
    words = ["trace", "functions", f"--path={path}", "--engine=fake", "--temperature=0.8"]
    again = [*words, "--max-tokens=700", f"--output={tmp_path / 'again'}"]
    app([*again, "--limit=3"], standalone_mode=False)
    app(again, standalone_mode=False)
    known = {trace.task: trace.output for trace in read_traces([folder])}
    found = read_traces([tmp_path / "again"])
    assert {trace.task: trace.output for trace in found} == known
    assert all(trace.plain_seconds is None for trace in found)
    with pytest.raises(UsageError, match="other weights or sampling"):
        app([*again, "--seed=5"], standalone_mode=False)
