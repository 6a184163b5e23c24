"""Runs a workload to its JSON: opens the session, measures task by task, keeps every row.

An interrupted run resumes where it stopped, by the journal. It does not know how a report looks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from redraft.bench import provenance
from redraft.bench.corpus import fair_corpus, with_corpus
from redraft.bench.figures import summarise
from redraft.bench.journal import Journal
from redraft.bench.measure import Measuring
from redraft.bench.recorder import Recorder
from redraft.bench.rows import TaskRow, from_json, to_json
from redraft.bench.task_run import WAYS, run_task
from redraft.bench.tasks import BenchTask, Workload
from redraft.bench.watch import Watch
from redraft.bench.workloads import tasks_sha256
from redraft.config import Settings
from redraft.files import write_atomically
from redraft.session import Session


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """What is to be measured, and where the results go."""

    workload: Workload
    tasks: tuple[BenchTask, ...]
    """Those to run."""
    sample: Mapping[str, object]
    """How they were chosen; see `redraft.bench.tasks.Selection.describe`."""
    set_sha256: str
    """Of the whole set they were chosen from."""
    repeats: int
    output: Path
    corpus: Path | None = None
    """Folder of index files to draft from; None for no corpus."""
    fresh: bool = False
    """Start over, whatever was measured before."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Cells that have no tasks here, and why."""
    command: str = ""
    """What a reader types to measure this again."""
    traces: Path | None = None
    """Folder that gets a trace of each task; None for no traces."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished bench."""

    path: Path
    document: Mapping[str, Any]
    """The JSON's content."""


def run_bench(plan: BenchPlan, settings: Settings, watch: Watch) -> Outcome:
    """Measure, and write `<workload>-<time>.json` into `plan.output`.

    Raises what sessions raise; UsageError and InputError for a journal or corpus that cannot be
    used. Whatever ends it early, rows that were finished are kept.
    """
    tested = with_corpus(quiet(settings), plan.corpus)
    with Session(tested, watch.stage) as session:
        facts = fair_corpus(plan.corpus, session.loaded.tokenizer) if plan.corpus else None
        watch.stage("reading checksums")
        origin = {**asked(plan), **provenance.origin(session, facts)}
        with Journal(plan.output, plan.workload, holds_for(origin), plan.fresh) as journal:
            before = provenance.moment()
            rows = _measure(plan, session, journal, watch)
            found = {**summarise(rows), "rows": list(map(to_json, rows))}
            document = {**origin, "begun": before, "ended": provenance.moment(), **found}
            path = write_document(plan.output, plan.workload, document)
            journal.discard()
    return Outcome(path, document)


def asked(plan: BenchPlan) -> dict[str, Any]:
    """What was asked for, for the JSON."""
    return {
        "workload": plan.workload,
        "command": plan.command,
        "tasks_sha256": tasks_sha256(plan.tasks),
        "set_sha256": plan.set_sha256,
        "sample": dict(plan.sample),
        "skipped": dict(plan.skipped),
        "repeats": plan.repeats,
    }


def write_document(folder: Path, name: str, document: Mapping[str, Any]) -> Path:
    """Write a result beside earlier ones. Returns its path; raises InputError."""
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    path = folder / f"{name}-{moment}.json"
    number = 1
    while path.exists():
        number += 1
        path = folder / f"{name}-{moment}-{number}.json"
    write_atomically(path, orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")
    return path


def quiet(settings: Settings) -> Settings:
    """No run records, which would push out the user's own; room for the second sequence."""
    live = max(2, settings.live_sequences)
    return replace(settings, record=False, live_sequences=live)


def _measure(
    plan: BenchPlan, session: Session, journal: Journal, watch: Watch
) -> Sequence[TaskRow]:
    rows = {row.name: row for row in map(from_json, journal.rows)}
    left = [task for task in plan.tasks if task.name not in rows]
    per_task = WAYS * plan.repeats
    watch.begin(per_task * len(plan.tasks), per_task * len(rows))
    measuring = Measuring(session)
    recorder = Recorder(session, plan.workload, plan.traces) if plan.traces else None
    keep = recorder.keep if recorder else None
    for task in left:
        watch.task(task.name)
        units = _Units(watch)
        row = run_task(measuring, session.loaded.tokenizer, task, plan.repeats, units.add, keep)
        watch.unit(per_task - units.count)  # what an excluded task saves
        journal.append(to_json(row))
        rows[row.name] = row
        watch.finished(f"{len(rows)}/{len(plan.tasks)} {told(row)}")
    return [rows[task.name] for task in plan.tasks]


class _Units:
    """Counts the decodes of one task on their way to the watch."""

    def __init__(self, watch: Watch) -> None:
        self._watch, self.count = watch, 0

    def add(self) -> None:
        self.count += 1
        self._watch.unit()


def told(row: TaskRow) -> str:
    """A finished task on one line."""
    loud = "" if row.equal in (True, None) else f", DIFFERS from plain at token {row.differs_at}"
    if row.timings is None or row.drafting is None or row.excluded is not None:
        return f"{row.name}: not counted: {row.reason}{loud}"
    speed = f"{row.timings.speedup:.2f}x"
    per_forward = row.output_tokens / row.drafting.forwards
    return f"{row.name}: {speed}, {row.output_tokens} tokens, {per_forward:.1f} a forward{loud}"


def holds_for(origin: Mapping[str, Any]) -> dict[str, Any]:
    """The part of the origin that rows of one bench must share."""
    names = ("version", "commit", "source_sha256", "machine", "weights_sha256", "tasks_sha256")
    return {name: origin[name] for name in (*names, "settings", "corpus", "repeats")}
