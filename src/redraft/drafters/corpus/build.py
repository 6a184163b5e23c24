"""Builds and updates the corpus indexes of a folder, one per segment and language.

Runs in a process of its own at the lowest priority (`start_in_background`), or wherever
`build_index` is called. Files that did not change are not tokenised again; if none changed,
nothing is written. Does not know where indexes are kept or who asks for them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from redraft.drafters.corpus.files import Check, Segment, SourceFile, source_files
from redraft.drafters.corpus.index import (
    SUFFIX,
    CorpusIndex,
    IndexedFile,
    fingerprint,
    index_bytes,
    open_index,
    write_index,
)
from redraft.errors import InputError
from redraft.protocols import Tokenizer

_SEPARATOR = np.array([-1], np.int32)

LONGEST_LINE = 2000
"""Bytes; a file with a longer line is taken for generated or minified."""

PACKAGE_SHARE = 8
"""No installed package takes more than one part in this many of the budget, unless preferred."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Bounds of what one segment may take."""

    max_tokens: int = 10_000_000
    max_bytes: int = 100_000_000
    """Of all its index files on disk; a token takes 8."""
    max_file_bytes: int = 1_000_000
    """Larger source files are left out."""


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What one build did."""

    segment: str
    busy: bool = False
    """Another process was building this segment, so nothing was done."""
    files: int = 0
    tokens: int = 0
    reused: int = 0
    """Files whose tokens were taken over from the old index."""
    unreadable: int = 0
    """Files left out because they could not be read, are not UTF-8 or look generated."""
    index_bytes: int = 0
    written: tuple[str, ...] = ()
    """Languages whose index was written; the others had not changed."""
    seconds: float = 0.0


def build_index(
    directory: Path,
    segment: Segment,
    tokenizer: Tokenizer,
    budget: Budget | None = None,
    check: Check = lambda: None,
) -> BuildReport:
    """Bring the indexes of `segment` in `directory` up to date with its files.

    Writes `<segment>.<language>.index` for each language found. May be killed at any time: an
    index is either the old one or the new one. `check` is called at every file and between the
    stages of sorting, and may raise to stop. Raises InputError if `directory` cannot be written
    or has no room.
    """
    started = time.perf_counter()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with FileLock(directory / f"{segment.name}.lock", timeout=0):
            report = _build(directory, segment, tokenizer, budget or Budget(), check)
    except Timeout:
        return BuildReport(segment.name, busy=True)
    except OSError as error:
        raise InputError(
            f"cannot write the corpus index in {directory}: {error.strerror or error}; "
            "make room there or choose another folder"
        ) from error
    return replace(report, seconds=time.perf_counter() - started)


def start_in_background(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Start `command`, which builds indexes, so that it yields the processor to everything else.

    Its output goes to `log`; it outlives this process. Raises InputError if it cannot be started.
    """
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        raise InputError(f"cannot start {command[0]} to build the corpus index: {error}") from error
    _lower_priority(process.pid)
    return process


def _lower_priority(process_id: int) -> None:
    """Run only when a processor would otherwise be idle, as far as the system knows that."""
    with suppress(OSError):  # it has ended already, or a container forbids it: only a courtesy
        os.setpriority(os.PRIO_PROCESS, process_id, 19)
        if hasattr(os, "SCHED_IDLE"):
            os.sched_setscheduler(process_id, os.SCHED_IDLE, os.sched_param(0))


class _Stream:
    """The tokens of one language, file after file."""

    def __init__(self) -> None:
        self.parts: list[NDArray[np.int32]] = []
        self.files: list[IndexedFile] = []
        self.length = 0

    def append(self, file: SourceFile, tokens: NDArray[np.int32]) -> None:
        start = self.length + 1
        self.files.append(
            IndexedFile(str(file.path), file.modified_ns, file.size, start, len(tokens))
        )
        self.parts += (_SEPARATOR, tokens)
        self.length = start + len(tokens)


class _Collector:
    """Gathers the tokens of files, from the old indexes where they have not changed."""

    def __init__(self, tokenizer: Tokenizer, budget: Budget, old: dict[str, CorpusIndex]) -> None:
        self.streams: dict[str, _Stream] = {}
        self.reused = 0
        self.unreadable = 0
        self._tokenizer = tokenizer
        self._budget = budget
        self._known = {file.path: (file, index) for index in old.values() for file in index.files()}

    def add(self, file: SourceFile) -> int:
        """Take a file in. Returns its tokens, 0 if it is unfit, -1 if the budget is used up."""
        tokens = self._from_index(file)
        reused = tokens is not None
        if tokens is None:
            text = _readable(file.path)
            if text is None:
                self.unreadable += 1
                return 0
            tokens = np.array(self._tokenizer.encode(text), np.int32)
        if not self._fits(file.language, len(tokens) + 1):
            return -1
        self.reused += reused
        self.streams.setdefault(file.language, _Stream()).append(file, tokens)
        return len(tokens)

    def _from_index(self, file: SourceFile) -> NDArray[np.int32] | None:
        found = self._known.get(str(file.path))
        if found is None:
            return None
        known, index = found
        if (known.modified_ns, known.size) != (file.modified_ns, file.size):
            return None
        return np.asarray(index.tokens[known.start : known.start + known.length])

    def _fits(self, language: str, more: int) -> bool:
        tokens = more + sum(stream.length for stream in self.streams.values())
        languages = len(self.streams.keys() | {language})
        size = index_bytes(tokens, self._tokenizer.vocab_size * languages)
        return tokens <= self._budget.max_tokens and size <= self._budget.max_bytes


def _build(
    directory: Path, segment: Segment, tokenizer: Tokenizer, budget: Budget, check: Check
) -> BuildReport:
    for leftover in directory.glob(f".{segment.name}.*"):
        leftover.unlink()  # of a build that was killed; the lock says that none is running
    mark = fingerprint(tokenizer)
    old = open_indexes(directory, segment.name, mark)
    collector = _Collector(tokenizer, budget, old)
    _collect(collector, segment, budget, check)
    written = []
    for language, stream in collector.streams.items():
        if language in old and old[language].files() == stream.files:
            continue
        path = directory / f"{segment.name}.{language}{SUFFIX}"
        _require_room(directory, index_bytes(stream.length, tokenizer.vocab_size))
        tokens = np.concatenate(stream.parts)
        write_index(path, mark, tokenizer.vocab_size, tokens, stream.files, check)
        written.append(language)
    for path in directory.glob(f"{segment.name}.*{SUFFIX}"):
        if path.name.split(".")[1] not in collector.streams:
            path.unlink()
    return BuildReport(
        segment.name,
        files=sum(len(stream.files) for stream in collector.streams.values()),
        tokens=sum(stream.length for stream in collector.streams.values()),
        reused=collector.reused,
        unreadable=collector.unreadable,
        index_bytes=sum(
            path.stat().st_size for path in directory.glob(f"{segment.name}.*{SUFFIX}")
        ),
        written=tuple(written),
    )


def _require_room(directory: Path, size: int) -> None:
    """Raise InputError before seconds of sorting if what they give cannot be written."""
    free = shutil.disk_usage(directory).free
    if free < size:
        raise InputError(
            f"no room for the corpus index: {size / 1e6:,.1f} MB are needed in {directory} and"
            f" {free / 1e6:,.1f} MB are free there; make room, or set REDRAFT_HOME to a folder on"
            " another disk"
        )


def _collect(collector: _Collector, segment: Segment, budget: Budget, check: Check) -> None:
    share = budget.max_tokens // PACKAGE_SHARE
    taken: dict[str, int] = {}
    for file in source_files(segment, budget.max_file_bytes, check):
        check()
        limited = segment.installed and file.package not in segment.prefer
        if limited and taken.get(file.package, 0) >= share:
            continue
        tokens = collector.add(file)
        if tokens < 0:
            return
        taken[file.package] = taken.get(file.package, 0) + tokens


def open_indexes(directory: Path, segment: str, mark: str) -> dict[str, CorpusIndex]:
    """The sound indexes of one segment by language."""
    found = {}
    for path in sorted(directory.glob(f"{segment}.*{SUFFIX}")):
        index = open_index(path, mark)
        if index is not None:
            found[path.name.split(".")[1]] = index
    return found


def _readable(path: Path) -> str | None:
    """The file's text with plain newlines, or None if it cannot serve as an example of code."""
    try:
        content = path.read_bytes()
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    if "\0" in text or max(map(len, content.split(b"\n"))) > LONGEST_LINE:
        return None
    return text.removeprefix("\ufeff").replace("\r\n", "\n")
