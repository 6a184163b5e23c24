"""Runs the comparison with peers to its JSON, task by task, resumably."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from redraft.bench import provenance
from redraft.bench.corpus import fair_corpus, with_corpus
from redraft.bench.journal import Journal
from redraft.bench.measure import Measuring
from redraft.bench.peers.compare import Ground, Row, compare_task
from redraft.bench.peers.figures import summarise
from redraft.bench.peers.specs import DRAFT, Field
from redraft.bench.run import BenchPlan, Outcome, asked, holds_for, quiet, write_document
from redraft.bench.watch import Watch
from redraft.config import Settings
from redraft.errors import ModelMissing, UsageError
from redraft.models import find
from redraft.session import Session

NAME = "peers"


def run_peers(plan: BenchPlan, field: Field, settings: Settings, watch: Watch) -> Outcome:
    """Measure, and write `peers-<time>.json` into `plan.output`.

    Raises as `redraft.bench.run.run_bench` does; UsageError where the settings sample.
    """
    if settings.temperature:
        raise UsageError("peers are compared greedily; leave --temperature out")
    field = _without_missing(field, settings)
    with Session(with_corpus(quiet(settings), plan.corpus), watch.stage) as session:
        facts = fair_corpus(plan.corpus, session.loaded.tokenizer) if plan.corpus else None
        watch.stage("reading checksums")
        origin = {**asked(plan), **provenance.origin(session, facts), **_told(plan, field)}
        rows_hold_for = {**holds_for(origin), "peers": origin["peers"]}
        with Journal(plan.output, NAME, rows_hold_for, plan.fresh) as journal:
            before = provenance.moment()
            rows = _compare(plan, field, session, journal, watch)
            found = {**summarise(rows, field.contenders), "rows": list(rows)}
            moments = {"begun": before, "ended": provenance.moment()}
            document = {**origin, **moments, **found}
            path = write_document(plan.output, NAME, document)
            journal.discard()
    return Outcome(path, document)


def _told(plan: BenchPlan, field: Field) -> dict[str, Any]:
    """What the JSON says besides what every bench says. Outputs of different numerics are no
    evidence about exactness, so nothing counts as compared."""
    return {
        "workload": NAME,
        "tasks_of": plan.workload,
        "peers": {"versions": field.versions, "modes": [one.name for one in field.contenders]},
        "skipped": {**plan.skipped, **field.skipped},
        "equal": None,
        "unequal": [],
        "compared": 0,
        "exact": None,
    }


def _without_missing(field: Field, settings: Settings) -> Field:
    """The field without modes whose weights are not here."""
    lacking = [one for one in field.contenders if one.mode == DRAFT]
    if not lacking or settings.engine == "fake":
        return field
    try:
        find(settings.small_model)
    except ModelMissing as error:
        kept = tuple(one for one in field.contenders if one not in lacking)
        skipped = {**field.skipped, **{one.name: str(error) for one in lacking}}
        return replace(field, contenders=kept, skipped=skipped)
    return field


def _compare(
    plan: BenchPlan, field: Field, session: Session, journal: Journal, watch: Watch
) -> Sequence[Row]:
    rows: dict[str, Mapping[str, Any]] = {row["name"]: row for row in journal.rows}
    per_task = plan.repeats * (1 + len(field.contenders))
    watch.begin(per_task * len(plan.tasks), per_task * len(rows))
    measuring, ground = Measuring(session), _ground(session)
    for task in plan.tasks:
        if task.name in rows:
            continue
        watch.task(task.name)
        row = compare_task(measuring, task, field.contenders, ground, plan.repeats, watch.unit)
        journal.append(row)
        rows[task.name] = journal.rows[-1]
        watch.finished(f"{len(rows)}/{len(plan.tasks)} {_line(row)}")
    return [rows[task.name] for task in plan.tasks]


def _ground(session: Session) -> Ground:
    loaded, settings = session.loaded, session.settings
    is_fake = loaded.path is None
    return Ground(
        model="" if is_fake else str(loaded.path),
        small_model="" if is_fake else str(find(settings.small_model)),
        context=loaded.context_length,
        threads=settings.threads,
    )


def _line(row: Row) -> str:
    """A finished task on one line."""
    if row["excluded"] is not None:
        return f"{row['name']}: not counted: {row['reason']}"
    failed = sum(peer["problem"] is not None for peer in row["peers"].values())
    told = f"{row['output_tokens']} tokens, {len(row['peers']) - failed} modes"
    return f"{row['name']}: {told}" + (f", {failed} failed" if failed else "")
