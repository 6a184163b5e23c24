"""`redraft corpus`: the indexes that the corpus drafter reads, for the project at hand."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from redraft.errors import Cancelled, InputError, UsageError
from redraft.terminal.screen import data_console, say, write_json

if TYPE_CHECKING:
    from redraft.config import Settings
    from redraft.drafters.corpus.build import BuildReport
    from redraft.drafters.corpus.files import Check, Segment

UPDATE_AFTER = 600.0
"""Seconds after which a command has the corpus updated again."""
_STAMP = "updated"
_LOG = "build.log"


@dataclass(frozen=True, slots=True)
class IndexFile:
    """One index on disk."""

    segment: str
    language: str
    bytes: int
    built: str
    """When: local time, ISO 8601."""


def build(settings: Settings, as_json: bool) -> None:
    """Bring the indexes up to date. Raises ModelError (their vocabulary is the model's) and
    InputError."""
    from redraft.terminal.job import Job
    from redraft.terminal.progress import display

    def work(job: Job[list[BuildReport]]) -> list[BuildReport]:
        from redraft.drafters.corpus.build import Budget, build_index
        from redraft.loading import load_tokenizer

        job.notify("loading the vocabulary")
        tokenizer = load_tokenizer(settings.engine, settings.model, job.notify)
        budget = Budget(max_tokens=settings.corpus_tokens)
        reports = []
        for segment in segments(settings, job.check):
            job.notify(f"indexing {segment.name}")
            directory = settings.corpus_directory
            reports.append(build_index(directory, segment, tokenizer, budget, job.check))
        return reports

    _stamp(settings)
    job = Job(work)
    with display() as shown:
        try:
            reports = job.do(shown.show)
        except Cancelled:
            raise Cancelled("interrupted; each index is as it was or up to date") from None
    if as_json:
        write_json([asdict(report) for report in reports])
        return
    for report in reports:
        say(_told(report))


def segments(settings: Settings, check: Check = lambda: None) -> Iterator[Segment]:
    """What is indexed: the project, and installed Python packages. `check` is called meanwhile,
    and may raise to stop."""
    from redraft.drafters.corpus.files import Segment, project_segment, python_segment

    if settings.corpus_paths:
        for path in settings.corpus_paths:
            if not path.exists():
                raise UsageError(f"corpus path {path} does not exist; correct corpus_paths")
        yield Segment("project", settings.corpus_paths, settings.corpus_exclude)
    elif settings.project is not None:
        yield project_segment(settings.project, settings.corpus_exclude)
    if settings.corpus_packages:
        yield python_segment(settings.project, settings.corpus_exclude, check)


def status(settings: Settings, as_json: bool) -> None:
    """Print the indexes there are."""
    from redraft.drafters.corpus.index import SUFFIX

    found = _indexes(settings.corpus_directory, SUFFIX)
    if as_json:
        write_json({"directory": settings.corpus_directory, "indexes": list(map(asdict, found))})
        return
    say(f"{settings.corpus_directory}")
    told = _last_line(settings.corpus_directory / _LOG)
    if told:
        say(f"last background build: {told}")
    if not found:
        say("no indexes yet; 'redraft corpus build' makes them")
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for heading in ("segment", "language", "size", "built"):
        table.add_column(heading, justify="right" if heading == "size" else "left")
    for index in found:
        table.add_row(index.segment, index.language, f"{index.bytes / 1e6:.1f} MB", index.built)
    data_console().print(table)


def clear(settings: Settings, every: bool, as_json: bool) -> None:
    """Remove the indexes of this project, or of every project. Raises InputError."""
    directory = settings.corpus_directory.parent if every else settings.corpus_directory
    is_there = directory.is_dir()
    if is_there:
        try:
            shutil.rmtree(directory)
        except OSError as error:
            raise InputError(f"{directory} cannot be removed: {error.strerror}") from None
    say(f"{directory}: removed" if is_there else "there is nothing to clear")
    if as_json:
        write_json({"directory": directory, "removed": is_there})


def update_in_background(settings: Settings) -> None:
    """Start a build that yields to everything else, unless one was started a while ago.

    Not for the fake engine, whose vocabulary is no model's. Raises nothing: an old corpus only
    drafts worse.
    """
    if settings.engine == "fake" or not settings.corpus_update or "corpus" not in settings.drafters:
        return
    if time.time() - _updated(settings.corpus_directory) < UPDATE_AFTER:
        return
    from redraft.drafters.corpus.build import start_in_background

    # -P: a project that has a file of one of Python's modules' names must not be imported
    command = [sys.executable, "-P", "-m", "redraft", "corpus", "build"]
    command += [f"--model={settings.model}", f"--engine={settings.engine}"]
    try:
        start_in_background(command, settings.corpus_directory / _LOG)
    except InputError as error:
        say(f"redraft: the corpus is not updated: {error}")


def _updated(directory: Path) -> float:
    """When a build was begun last; 0 when never."""
    try:
        return (directory / _STAMP).stat().st_mtime
    except OSError:
        return 0.0


def _stamp(settings: Settings) -> None:
    stamp = settings.corpus_directory / _STAMP
    try:
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.touch()
        os.utime(stamp)
    except OSError as error:
        raise InputError(
            f"{stamp.parent} cannot be written: {error.strerror}; set REDRAFT_HOME to a folder "
            "that you can write to"
        ) from None


def _indexes(directory: Path, suffix: str) -> list[IndexFile]:
    found = []
    for path in sorted(directory.glob(f"*.*{suffix}")):
        segment, language = path.name.removesuffix(suffix).split(".", 1)
        status = path.stat()
        built = datetime.fromtimestamp(status.st_mtime).isoformat(" ", "seconds")
        found.append(IndexFile(segment, language, status.st_size, built))
    return found


def _last_line(log: Path) -> str:
    """What the background build said last, so that its failure is seen."""
    try:
        lines = log.read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""


def _told(report: BuildReport) -> str:
    if report.busy:
        return f"{report.segment}: another process is building it"
    written = ", ".join(report.written) or "nothing new"
    return (
        f"{report.segment}: {report.files:,} files, {report.tokens:,} tokens, "
        f"{report.index_bytes / 1e6:.1f} MB in {report.seconds:.1f} s; written: {written}"
    )
