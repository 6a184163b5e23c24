"""Pipes, devices and endless files where a bench or the gate wants a file: refused at once."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from redraft.bench.journal import Journal
from redraft.bench.replay.curves import find_curve
from redraft.bench.report import read_document
from redraft.bench.traces import read_trace
from redraft.bench.workloads.records import read_records
from redraft.errors import InputError
from redraft.regular import NotRegular, read_regular
from redraft.schedule import read_weights


def records(path: Path) -> object:
    return read_records(path, ("text",))


def curve(path: Path) -> object:
    return find_curve(str(path))


def journal(path: Path) -> object:
    path.rename(path.with_name("edits.unfinished.jsonl"))
    with Journal(path.parent, "edits", {}) as opened:
        return opened


@pytest.mark.parametrize("read", [read_document, read_trace, read_weights, records, curve, journal])
def test_a_pipe_is_refused_without_waiting(tmp_path: Path, read: Callable[[Path], object]) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="is not a regular file"):
        read(pipe)


@pytest.mark.parametrize("read", [read_document, read_trace, read_weights, records, curve])
def test_a_device_is_refused(read: Callable[[Path], object]) -> None:
    with pytest.raises(InputError, match="is not a regular file"):
        read(Path("/dev/zero"))


@pytest.mark.parametrize("gzipped", [False, True])
def test_no_more_is_read_than_the_limit(tmp_path: Path, gzipped: bool) -> None:
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(b"x" * 9) if gzipped else b"x" * 9)
    assert read_regular(path, 9, gzipped) == b"x" * 9
    with pytest.raises(OSError, match="longer than 8 bytes"):
        read_regular(path, 8, gzipped)
    with pytest.raises(NotRegular):
        read_regular(Path("/dev/zero"), 8, gzipped)
