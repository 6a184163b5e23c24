"""`redraft bench scenarios` from packages to JSON, with small packages and the fake engine."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from scenario_doubles import (
    GO,
    PYTHON,
    RUST,
    TYPESCRIPT,
    LocalClients,
    pin_of,
    write_deb,
    write_npm,
    write_wheel,
)

from redraft.bench import scenarios
from redraft.bench.cli import app
from redraft.bench.plans import TasksMissing
from redraft.bench.watch import Silent
from redraft.bench.workloads.scenarios import (
    PER_CELL,
    PUBLISHED_PER_CELL,
    gaps,
    refactorings,
    scenario_set,
)
from redraft.bench.workloads.scenarios.pins import SourcePin
from redraft.errors import UsageError

COPIES = 3
"""Files of each package; a cell has a task of each at least."""


@pytest.fixture
def index(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    return folder


@pytest.fixture
def pins(index: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[SourcePin, ...]:
    """A package for each language, served from a folder; all sizes of files will do."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REDRAFT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(refactorings, "FILE_TOKENS", (1, 10_000))
    monkeypatch.setattr(gaps, "BODY_TOKENS", (5, 400))
    go_top, crate = "usr/share/gocode/src/h/o/n", "usr/share/cargo/registry/n-1/src"
    files = range(COPIES)
    go = write_deb(index, "golang-n-dev", "1", {f"{go_top}/{n}.go": GO for n in files})
    rust = write_deb(index, "librust-n-dev", "1", {f"{crate}/{n}.rs": RUST for n in files})
    script = write_npm(index, "n", "1.0.0", {f"src/{n}.ts": TYPESCRIPT for n in files})
    python = write_wheel(index, "n", "1.0", {f"n/m{n}.py": PYTHON for n in files})
    found = (
        pin_of("go", go, "golang-n-dev", "1"),
        pin_of("rust", rust, "librust-n-dev", "1"),
        pin_of("typescript", script, "n", "1.0.0"),
        pin_of("python", python, "n", "1.0"),
    )
    monkeypatch.setattr(
        "redraft.bench.scenarios.scenario_set", lambda *given: scenario_set(pins=found)
    )
    return found


class PipClients(LocalClients):
    """Copies the wheel for pip too, whose real way is tested elsewhere."""

    def __call__(self, command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        if "pip" not in command:
            return super().__call__(command, folder)
        [wheel] = self.index.glob("*.whl")
        (folder / wheel.name).write_bytes(wheel.read_bytes())
        return subprocess.CompletedProcess(command, 0, "", "")


def bench(*words: str) -> Any:
    return app(["scenarios", "--engine=fake", "--quick", *words], standalone_mode=False)


def last(capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    said = capsys.readouterr().out
    document: dict[str, Any] = orjson.loads(Path(said.splitlines()[-1]).read_bytes())
    return document, said


def test_fetching_counts_the_tasks_of_each_cell(pins: tuple[SourcePin, ...], index: Path) -> None:
    fetched = scenarios.fetch_all(Silent(), pins, PipClients(index))
    assert fetched.problems == {} and fetched.skipped == {}
    assert set(fetched.counts) == set(scenarios.CELLS)
    assert all(COPIES <= count <= PER_CELL for count in fetched.counts.values())
    lines: list[str] = []
    scenarios.print_fetched(fetched, lines.append)
    assert len(lines) == len(scenarios.CELLS) + 1
    assert lines[-1] == f"{sum(fetched.counts.values())} tasks"


def test_the_command_fails_where_cells_are_missing(
    pins: tuple[SourcePin, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = scenarios.Fetched({"x.deb": "gone"}, {"function/go": 0}, {"function/go": "gone"})
    monkeypatch.setattr(scenarios, "fetch_all", lambda watch: given)
    with pytest.raises(TasksMissing, match="1 of 1 cells have no tasks"):
        app(["scenarios", "fetch"], standalone_mode=False)
    assert "function/go              skipped: gone" in capsys.readouterr().out


def test_tasks_follow_from_the_packages_and_the_seed(
    pins: tuple[SourcePin, ...], index: Path
) -> None:
    scenarios.fetch_all(Silent(), pins, PipClients(index))
    first = scenario_set(pins=pins)
    assert [task.identity for task in first.tasks] == [
        task.identity for task in scenario_set(pins=pins).tasks
    ]
    assert len({task.name for task in first.tasks}) == len(first.tasks)
    assert first.published <= {task.name for task in first.tasks}
    for cell in scenarios.CELLS:
        own = [task for task in first.tasks if task.kind == cell]
        marked = [task for task in own if task.name in first.published]
        assert len(marked) == min(len(own), PUBLISHED_PER_CELL)
    other = scenario_set(pins=pins, seed=2)
    assert [task.identity for task in other.tasks] != [task.identity for task in first.tasks]


def test_a_package_that_cannot_be_had_costs_its_language_only(
    pins: tuple[SourcePin, ...], index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (index / pins[0].archive).unlink()
    fetched = scenarios.fetch_all(Silent(), pins, PipClients(index))
    assert "Debian serves no version 1" in fetched.problems[pins[0].archive]
    assert set(fetched.skipped) == {
        "completion/go",
        "function/go",
        "refactoring/go",
    }
    assert fetched.counts["refactoring/go"] == 0 < fetched.counts["refactoring/rust"]
    bench("--cell=completion", "--max-tokens=200")
    one, said = last(capsys)
    assert "was not fetched" in one["skipped"]["completion/go"]
    assert "completion/go skipped" in said
    assert {row["kind"] for row in one["rows"]} == {
        "completion/rust",
        "completion/typescript",
        "completion/python",
    }


def test_rows_have_cell_and_language_and_the_published_sample_is_the_default(
    pins: tuple[SourcePin, ...], index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenarios.fetch_all(Silent(), pins, PipClients(index))
    bench("--cell=refactoring/go", "--cell=completion/rust", "--max-tokens=60")
    one, said = last(capsys)
    assert one["workload"] == "scenarios" and one["sample"]["by"] == "published"
    assert {(row["kind"], row["language"]) for row in one["rows"]} == {
        ("refactoring/go", "go"),
        ("completion/rust", "rust"),
    }
    assert one["equal"] is True and one["compared"] == len(one["rows"])
    assert one["sample"]["tasks"] == len(one["rows"]) <= one["sample"]["of"]
    assert all(cell in said for cell in one["by_kind"])
    bench("--cell=completion/rust", "--all", "--max-tokens=60")
    everything, _ = last(capsys)
    assert everything["sample"]["by"] == "all"
    assert len(everything["rows"]) == everything["sample"]["of"]
    bench("--cell=completion/rust", "--sample=2", "--max-tokens=60")
    sampled, _ = last(capsys)
    assert sampled["sample"]["by"] == "sample" and len(sampled["rows"]) == 2


def test_refusals(pins: tuple[SourcePin, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="there is no cell go/function"):
        bench("--cell=go/function")
    with pytest.raises(UsageError, match="leave --path out"):
        bench("--path=x.jsonl")
    with pytest.raises(TasksMissing, match="redraft bench scenarios fetch"):
        bench()
    assert bench("--skip-missing") == 0
    assert "skipped" in capsys.readouterr().err
