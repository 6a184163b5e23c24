"""The exactness bench and the reports, on the fake engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from bench_doubles import Countdown, write_completions, write_functions

from redraft import engines
from redraft.bench import exact_tasks
from redraft.bench.cli import app
from redraft.bench.exact import MOST_TOKENS, SINGLE_POLICY, drafter_sets
from redraft.bench.exact_tasks import gather
from redraft.bench.report import markdown, read_document
from redraft.bench.tasks import load_tasks
from redraft.bench.workloads import WorkloadMissing
from redraft.errors import Cancelled, CheckFailed, InputError


@pytest.fixture(autouse=True)
def _away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REDRAFT_HOME", str(tmp_path / "home"))

    def without_package(workload: Any, paths: Any) -> Any:
        if workload == "edits":
            raise WorkloadMissing("no package index is reachable")
        return load_tasks(workload, paths)

    monkeypatch.setattr(exact_tasks, "load_tasks", without_package)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """A corpus for the fake vocabulary."""
    from redraft.drafters.corpus.build import build_index
    from redraft.drafters.corpus.files import Segment
    from redraft.engines.fake import FakeTokenizer

    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text(Path(__file__).read_text())
    segment = Segment("project", (tmp_path / "code",))
    build_index(tmp_path / "index", segment, FakeTokenizer())
    return tmp_path / "index"


def exact(index: Path, *words: str) -> Any:
    common = ("exact", "--engine=fake", "--max-tokens=60", f"--corpus={index}")
    return app([*common, *words], standalone_mode=False)


def last_path(capsys: pytest.CaptureFixture[str]) -> Path:
    return Path(capsys.readouterr().out.splitlines()[-1])


def test_every_drafter_alone_and_all_together(
    index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exact(index, "--sample=8")
    one = read_document(last_path(capsys))
    assert one["equal"] is True and one["compared"] == 8 * 6 and one["generations"] == 8
    assert list(one["by_set"]) == ["source", "suffix", "corpus", "model", "forced", "mixture"]
    assert one["by_set"]["source"]["policy"] == SINGLE_POLICY
    assert one["by_set"]["mixture"]["policy"] == "cost"
    for name in ("suffix", "corpus", "model"):
        assert one["by_set"][name]["proposed"] > 0
    assert len(one["by_workload"]) == 6
    assert any("no package index" in note for note in one["notes"])
    assert one["corpus"]["tokens"] > 1000
    assert max(row["tokens"] for row in one["rows"]) <= 60


def test_outputs_are_cut_where_nobody_says(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exact(index, "--sample=6", "--drafters=suffix", "--max-tokens=0")
    lengths = [row["tokens"] for row in read_document(last_path(capsys))["rows"]]
    assert max(lengths) <= MOST_TOKENS


def test_the_full_set_has_sixty_generations(tmp_path: Path) -> None:
    functions = write_functions(tmp_path / "f.jsonl", 10)
    completions = write_completions(tmp_path / "c.jsonl", 10)
    here = gather(functions, [completions])
    assert len(here.generations) == 52  # six built-in edits, since the package is missing here
    assert len(here.notes) == 2 and "52 generations" in here.notes[-1]
    without = gather(None, [])
    assert len(without.generations) == 36 and len(without.notes) == 4
    assert len({generation.name for generation in without.generations}) == 36
    greedy = [one for one in without.generations if one.temperature == 0]
    assert len(greedy) == 18


def test_a_broken_engine_is_told_loudly(
    index: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = engines.Entry("bench_doubles:open_rounding")
    monkeypatch.setitem(engines.BUILT_IN, "fake", broken)
    with pytest.raises(CheckFailed, match="differ from plain"):
        exact(index, "--sample=6")
    said = capsys.readouterr()
    one = orjson.loads(Path(said.out.splitlines()[-1]).read_bytes())
    assert one["equal"] is False
    assert {entry["set"] for entry in one["unequal"]} <= set(one["by_set"])
    assert "DIFFER" in said.out and "DIFFER" in said.err


def test_a_drafter_that_never_proposed_is_named(
    index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exact(index, "--sample=2", "--drafters=source", "--policy=none")
    one = read_document(last_path(capsys))
    assert list(one["by_set"]) == ["source"]
    proposed = one["by_set"]["source"]["proposed"]
    assert (proposed == 0) == any("proposed nothing" in note for note in one["notes"])


def test_an_interrupted_comparison_goes_on(
    index: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(engines.BUILT_IN, "fake", engines.Entry("bench_doubles:open_interrupted"))
    finished: list[str] = []

    def stop_soon(self: Any, text: str) -> None:
        finished.append(text)
        if len(finished) == 2:
            monkeypatch.setattr(Countdown, "left", 10)

    monkeypatch.setattr("redraft.bench.watch.Lines.finished", stop_soon)
    with pytest.raises(Cancelled):
        exact(index, "--sample=4", "--drafters=suffix")
    monkeypatch.setattr(Countdown, "left", None)
    exact(index, "--sample=4", "--drafters=suffix")
    one = read_document(last_path(capsys))
    assert one["generations"] == 4 and len(finished) == 4


def test_sets() -> None:
    assert [one.name for one in drafter_sets(("a", "b"), "cost")] == ["a", "b", "mixture"]
    assert [one.name for one in drafter_sets(("a",), "cost")] == ["a"]
    assert drafter_sets(("a", "b"), "fixed:2")[-1].policy == "fixed:2"


def test_reports_show_a_file_again(
    index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exact(index, "--sample=2", "--drafters=suffix")
    first = capsys.readouterr().out.splitlines()
    path = write_functions(tmp_path / "functions.jsonl")
    common = ("functions", f"--path={path}", "--engine=fake", "--quick", "--limit=2")
    app([*common, "--temperature=0.8"], standalone_mode=False)
    second = capsys.readouterr().out.splitlines()
    app(["report", first[-1], second[-1]], standalone_mode=False)
    assert capsys.readouterr().out.splitlines() == [*first[:-1], *second[:-1]]
    app(["report", "--markdown", first[-1], second[-1]], standalone_mode=False)
    shown = capsys.readouterr().out
    assert "| functions | 2 of 6 |" in shown and "| suffix | 2 | 2 |" in shown
    rows = [line for line in shown.splitlines() if line]
    assert all(line.startswith("| ") and line.endswith(" |") for line in rows)


def test_markdown_keeps_the_mark_of_a_dirty_tree(
    index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exact(index, "--sample=1", "--drafters=suffix")
    document = {**read_document(last_path(capsys)), "commit": "0123456789abcdef-dirty"}
    assert "0123456789ab-dirty" in markdown([document])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "there is no file"),
        (b"", "is not JSON"),
        (b"[1]", "not the JSON of a bench"),
        (b"{}", "not the JSON of a bench"),
        (
            b'{"version":99,"workload":"edits","commit":"","machine":{},"rows":[],"equal":true}',
            "form 99",
        ),
    ],
)
def test_files_that_are_no_results(tmp_path: Path, content: bytes | None, says: str) -> None:
    path = tmp_path / "x.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=says):
        app(["report", str(path)], standalone_mode=False)
