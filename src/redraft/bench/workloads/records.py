"""Reads JSON Lines, plain or gzipped, into checked records. Does not know what the fields mean."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path

import orjson

from redraft.bench.workloads.availability import WorkloadMissing
from redraft.errors import InputError
from redraft.regular import read_regular

_LARGEST_FILE = 256 << 20
"""Bytes when unpacked; the largest known file of tasks has some megabytes."""


def read_records(path: Path, fields: Sequence[str]) -> list[dict[str, str]]:
    """The named text fields of every record, in the file's order; blank lines are passed over.

    Raises WorkloadMissing when there is no such file, and InputError (with the line's number
    where one is at fault) when it is damaged, empty or lacks a field.
    """
    lines = _content(path).splitlines()
    records = [
        _record(line, fields, f"{path} line {number}")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]
    if not records:
        raise InputError(f"{path} holds no tasks; get the file again")
    return records


def _content(path: Path) -> bytes:
    try:
        return read_regular(path, _LARGEST_FILE, gzipped=path.suffix == ".gz")
    except FileNotFoundError:
        raise WorkloadMissing(f"no file {path}; name an existing .jsonl or .jsonl.gz") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a sound gzip file ({error}); get it again") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def _record(line: bytes, fields: Sequence[str], place: str) -> dict[str, str]:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{place} is not JSON ({error}); get the file again") from error
    if not isinstance(record, dict):
        raise InputError(f"{place} is not a JSON object; is this the right file?")
    for name in fields:
        if not isinstance(record.get(name), str):
            raise InputError(f"{place} has no text field {name!r}; is this the right file?")
    return {name: record[name] for name in fields}
