"""`redraft bench peers` from flags to JSON, with the fake engine and a peer made for the test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from bench_doubles import write_completions
from peer_doubles import MODES, counting_spec

from redraft.bench.cli import app
from redraft.bench.peers import compare, specs
from redraft.bench.peers.messages import PeerOpening
from redraft.bench.peers.process import PeerProcess
from redraft.bench.report import markdown, read_document
from redraft.errors import Cancelled, UsageError


@pytest.fixture(autouse=True)
def _away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REDRAFT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setattr(specs, "PEERS", (counting_spec(),))


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return write_completions(tmp_path / "completions.jsonl", 3)


def peers(tasks: Path, *words: str) -> Any:
    given = ["peers", "--workload=completions", f"--path={tasks}", "--engine=fake", *words]
    return app(given, standalone_mode=False)


def last(capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    said = capsys.readouterr().out
    document: dict[str, Any] = orjson.loads(Path(said.splitlines()[-1]).read_bytes())
    return document, said


def test_each_mode_is_measured_beside_redraft_and_failures_are_told(
    tasks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    peers(tasks, "--repeats=2", "--limit=1")
    one, said = last(capsys)
    assert one["workload"] == "peers" and one["tasks_of"] == "completions" and one["tasks"] == 1
    assert one["peers"]["modes"] == [f"Counting {mode}" for mode in MODES]
    assert set(one["peers"]["versions"]) == {"pytest"}
    quick, plain = one["by_peer"]["Counting quick"], one["by_peer"]["Counting plain"]
    tokens = one["rows"][0]["output_tokens"]
    [found] = [one["rows"][0]["peers"]["Counting quick"]]
    assert found["tokens"] == tokens
    assert found["seconds_per_token"] == [0.25 / (tokens - 1)] * 2
    assert quick["tasks"] == 1 and plain["over_own_plain"] == pytest.approx(1.0)
    assert plain["tokens_per_forward"] == pytest.approx(1.0)
    assert quick["tokens_per_forward"] > 4
    assert quick["equal_tokens_share"] < 1 and quick["equal_outputs"] == 0
    for mode, words in (("aborting", "SIGABRT"), ("unsupported", "no unsupported")):
        [problem] = one["by_peer"][f"Counting {mode}"]["problems"].values()
        assert words in problem and one["by_peer"][f"Counting {mode}"]["tasks"] == 0
        assert f"failed: Counting {mode}" in said
    assert "too few to time" in said
    assert one["best_in_hindsight"]["Counting"]["tasks"] == 1
    assert str(tasks.parent) not in orjson.dumps(one).decode()


def test_redraft_and_peers_take_turns(
    tasks: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    real = compare.PeerProcess

    def noted(module: str, name: str, opening: PeerOpening) -> PeerProcess:
        order.append(opening.mode)
        return real(module, name, opening)

    drafted = compare.Measuring.drafted

    def ours(self: Any, *arguments: Any, **named: Any) -> Any:
        order.append("redraft")
        return drafted(self, *arguments, **named)

    monkeypatch.setattr(compare, "PeerProcess", noted)
    monkeypatch.setattr(compare.Measuring, "drafted", ours)
    peers(tasks, "--repeats=2", "--limit=1", "--mode=plain", "--mode=quick")
    assert order == ["redraft", "plain", "quick"] * 2
    last(capsys)


def test_an_interrupted_comparison_goes_on_where_it_stopped(
    tasks: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, begun = compare.compare_task, [0]

    def interrupted(*arguments: Any) -> Any:
        begun[0] += 1
        if begun[0] == 2:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr("redraft.bench.peers.run.compare_task", interrupted)
    words = ("--quick", "--mode=plain")
    with pytest.raises(Cancelled, match="the same command goes on"):
        peers(tasks, *words)
    capsys.readouterr()
    peers(tasks, *words)
    assert begun[0] == 4  # the first row was kept
    one, _ = last(capsys)
    assert len(one["rows"]) == 3


def test_a_peer_that_is_not_installed_is_listed_as_skipped(
    tasks: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(specs, "PEERS", (counting_spec("no_such_package"),))
    peers(tasks, "--quick", "--limit=1")
    one, said = last(capsys)
    assert "no_such_package is not installed" in one["skipped"]["Counting"]
    assert "skipped: Counting" in said and one["by_peer"] == {}


def test_an_output_that_does_not_end_by_itself_is_no_comparison(
    tasks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    peers(tasks, "--quick", "--limit=1", "--max-tokens=3", "--mode=plain")
    one, said = last(capsys)
    assert one["tasks"] == 0 and one["rows"][0]["excluded"] == "length"
    assert "not counted" in said and one["by_peer"]["Counting plain"]["worst"] is None


def test_the_report_shows_it_again(tasks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    peers(tasks, "--quick", "--limit=1", "--mode=plain")
    path = capsys.readouterr().out.splitlines()[-1]
    app(["report", path], standalone_mode=False)
    assert "Counting plain" in capsys.readouterr().out
    assert "| Counting plain | 1 |" in markdown([read_document(Path(path))])


def test_refusals(tasks: Path) -> None:
    with pytest.raises(UsageError, match="no peer has a mode warp"):
        peers(tasks, "--mode=warp")
    with pytest.raises(UsageError, match="greedily"):
        peers(tasks, "--temperature=0.5")
    with pytest.raises(UsageError, match="add --workload scenarios"):
        peers(tasks, "--cell=rust")
    with pytest.raises(UsageError, match="no workload nonsense"):
        app(["peers", "--workload=nonsense", "--engine=fake"], standalone_mode=False)
