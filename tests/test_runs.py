"""Run records: written as it goes, read back equal, tolerant of a torn end, private, pruned."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from amount import examples
from redraft import runs
from redraft.errors import InputError
from redraft.runs import RunHeader, RunOutcome, RunWriter
from redraft.tokens import Choice, Draft, Prefill, Step, Verdict

HEADER = RunHeader("edit", "a.py: rename x", "m", "fake", None, 7, {"policy": "cost"})
OUTCOME = RunOutcome("stop", True, "because", {"proposed": 2, "accepted": 1})
PIECES = {1: b"def", 2: "ä".encode()[:1], 3: "ä".encode()[1:], 4: b"\x00\xff"}


def step(index: int = 0, reason: str | None = None) -> Step:
    draft = Draft((1, 2), (0.9, 0.5), ("source", "suffix"), (0, 3))
    verdict = Verdict(draft, 1, (Choice(1, -0.25), Choice(4, -1.5)))
    return Step(index, 2 * index, verdict, 3, 0.001, 0.04, 0.002, reason)  # type: ignore[arg-type]


def record(directory: Path, steps: int = 2, keep: int = 50) -> RunWriter:
    writer = RunWriter(directory, HEADER, PIECES.__getitem__, keep)
    writer.step(Prefill(5, 7, 0.5))
    for index in range(steps):
        writer.step(step(index, "stop" if index == steps - 1 else None))
    return writer


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    writer = record(tmp_path)
    writer.close(OUTCOME)
    found = runs.read(writer.run_id, tmp_path)
    assert (found.id, found.header, found.outcome) == (writer.run_id, HEADER, OUTCOME)
    assert found.prefills == (Prefill(5, 7, 0.5),)
    assert len(found.steps) == 2
    first = found.steps[0]
    assert [draft.piece for draft in first.drafts] == [b"def", b"\xc3"]
    assert [draft.drafter for draft in first.drafts] == ["source", "suffix"]
    assert [choice.piece for choice in first.choices] == [b"def", b"\x00\xff"]
    assert (first.accepted, first.rows, first.evaluate_seconds) == (1, 3, 0.04)
    assert (first.finish_reason, found.steps[1].finish_reason) == (None, "stop")
    assert runs.latest(tmp_path) == writer.run_id
    assert runs.read(tmp_path / f"{writer.run_id}.jsonl", tmp_path) == found
    assert runs.read(writer.run_id[:-1], tmp_path) == found


def test_a_run_that_goes_on_or_was_killed_can_be_read(tmp_path: Path) -> None:
    writer = record(tmp_path)
    found = runs.read(runs.latest(tmp_path), tmp_path)
    assert len(found.steps) == 2
    assert found.outcome is None
    writer.close(OUTCOME)


@given(cut=some.integers(min_value=0))
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_beginning_of_a_record_reads_or_is_refused_in_one_line(
    tmp_path: Path, cut: int
) -> None:
    writer = record(tmp_path / "whole")
    writer.close(OUTCOME)
    data = (tmp_path / "whole" / f"{writer.run_id}.jsonl").read_bytes()
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(data[: cut % len(data)])
    whole_lines = torn.read_bytes().count(b"\n")
    if whole_lines == 0:
        with pytest.raises(InputError, match="is empty"):
            runs.read(torn, tmp_path)
        return
    found = runs.read(torn, tmp_path)
    assert len(found.prefills) + len(found.steps) == min(3, whole_lines - 1)
    assert (found.outcome is not None) == (whole_lines == 5)


@given(
    place=some.integers(min_value=0),
    junk=some.binary(min_size=1, max_size=9),
    whole=some.booleans(),
)
@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damage_is_an_input_error_of_one_line(
    tmp_path: Path, place: int, junk: bytes, whole: bool
) -> None:
    sound = tmp_path / "sound"
    if not sound.exists():
        record(sound).close(OUTCOME)
    data = (sound / f"{runs.latest(sound)}.jsonl").read_bytes()
    at = place % len(data)
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(junk + b"\n" if whole else data[:at] + junk + data[at + len(junk) :])
    try:
        runs.read(damaged, tmp_path)
    except InputError as error:
        assert "\n" not in str(error)
        assert "damaged" in str(error) or "empty" in str(error) or "newer" in str(error)


@given(value=some.recursive(some.none() | some.integers() | some.text(), some.lists, max_leaves=5))
@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_value_of_the_wrong_kind_is_an_input_error(tmp_path: Path, value: object) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(json.dumps({"version": 1, "settings": value}).encode() + b"\n")
    with pytest.raises(InputError, match="damaged in line 1"):
        runs.read(path, tmp_path)


def test_records_are_private_and_the_oldest_go(tmp_path: Path) -> None:
    directory = tmp_path / "runs"
    written = []
    for _ in range(4):
        writer = record(directory, 1, keep=2)
        writer.close(OUTCOME)
        written.append(writer.run_id)
    assert runs.list_runs(directory) == sorted(written)[-2:]
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    for path in directory.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_record_that_cannot_be_written_fails_no_run(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    writer = record(blocked)
    writer.close(OUTCOME)
    assert writer.problem is not None
    assert "not recorded" in writer.problem


def test_a_disk_that_fills_up_leaves_no_torn_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = RunWriter(tmp_path, HEADER, PIECES.__getitem__)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("redraft.runs.os.write", full)
    writer.step(step())
    monkeypatch.undo()
    writer.step(step(1))
    writer.close(OUTCOME)
    assert writer.problem is not None
    assert "No space left" in writer.problem
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("run", ["", "nope", "2", "\0", "/no/such.jsonl", "/tmp", "a\0/b"])
def test_no_such_run_is_an_input_error(tmp_path: Path, run: str) -> None:
    record(tmp_path).close(OUTCOME)
    record(tmp_path).close(OUTCOME)
    with pytest.raises(InputError) as caught:
        runs.read(run, tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["pipe", "device"])
def test_what_is_no_regular_file_is_not_read(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    with pytest.raises(InputError, match="cannot be read: it is not a regular file"):
        runs.read(tmp_path / name, tmp_path)


def test_without_records_latest_says_what_makes_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="run 'redraft edit'"):
        runs.latest(tmp_path / "none")


def test_a_record_of_a_newer_redraft_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    path.write_bytes(b'{"version":2}\n')
    with pytest.raises(InputError, match="newer redraft"):
        runs.read(path, tmp_path)
