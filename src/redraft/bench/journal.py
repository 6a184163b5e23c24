"""Finished rows on disk, so that a bench of hours can be interrupted and resumed.

The first line says what the rows hold for (code, tasks, settings); rows follow, one a line, each
flushed before the next task begins. A torn last line, from a machine that went down, is dropped.
The file goes away when the bench is done: its rows are in the JSON then. It does not know rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson
from filelock import FileLock, Timeout

from redraft.errors import InputError, UsageError
from redraft.files import write_atomically
from redraft.regular import read_regular

SUFFIX = ".unfinished.jsonl"
_LARGEST_FILE = 1 << 30


class Journal:
    """The rows of one bench in `folder`, as a context manager that keeps others out.

    `holds_for` is what must be the same for rows to be taken over. Raises UsageError when the
    folder has rows of something else, or another process is adding to them; InputError where the
    folder cannot be written.
    """

    def __init__(
        self, folder: Path, name: str, holds_for: Mapping[str, Any], fresh: bool = False
    ) -> None:
        self.path = folder / f"{name}{SUFFIX}"
        self._holds_for = orjson.loads(orjson.dumps(holds_for))
        self._fresh = fresh
        self._lock = FileLock(folder / f".{name}.lock")
        self.rows: list[dict[str, Any]] = []
        """What was finished before, and since."""

    def __enter__(self) -> Journal:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout:
            raise UsageError(
                f"another bench is writing to {self.path}; wait for it, or use another --output"
            ) from None
        except OSError as error:
            raise _unwritable(self.path.parent, error) from None
        try:
            self._begin()
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    def append(self, row: Mapping[str, Any]) -> None:
        """Keep a row. Raises InputError when the disk refuses."""
        try:
            with self.path.open("ab") as file:
                file.write(orjson.dumps(row) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _unwritable(self.path, error) from None
        self.rows.append(orjson.loads(orjson.dumps(row)))

    def discard(self) -> None:
        """The rows are safe elsewhere."""
        self.path.unlink(missing_ok=True)

    def _begin(self) -> None:
        kept = None if self._fresh else self._read()
        if kept is None:
            write_atomically(self.path, orjson.dumps(self._holds_for) + b"\n")
            return
        self.rows = kept
        lines = [orjson.dumps(line) + b"\n" for line in (self._holds_for, *kept)]
        write_atomically(self.path, b"".join(lines))  # without a torn line, which rows would join

    def _read(self) -> list[dict[str, Any]] | None:
        """The rows of an unfinished bench; None where there is none."""
        try:
            lines = read_regular(self.path, _LARGEST_FILE).split(b"\n")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror}") from None
        parsed = [_parsed(line) for line in lines if line]
        if not parsed or parsed[0] is None:
            raise InputError(f"{self.path} is damaged; remove it, or start over with --fresh")
        self._refuse_other(parsed[0])
        whole = parsed[1:]
        if whole and whole[-1] is None:
            whole = whole[:-1]
        if any(row is None for row in whole):
            raise InputError(f"{self.path} is damaged; remove it, or start over with --fresh")
        return [row for row in whole if row is not None]

    def _refuse_other(self, found: Mapping[str, Any]) -> None:
        for name in (*self._holds_for, *found):
            before, now = found.get(name), self._holds_for.get(name)
            if before != now:
                raise UsageError(
                    f"{self.path} was begun with {name} {_short(before)}, this is {name} "
                    f"{_short(now)}; go on as it was begun, start over with --fresh, or use "
                    "another --output"
                )


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        content = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return content if isinstance(content, dict) else None


def _short(value: object) -> str:
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text if len(text) <= 40 else text[:39] + "…"


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path} cannot be written: {error.strerror or error}; use another --output")
