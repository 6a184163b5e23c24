"""Records traces: of tasks drafted once, without the plain runs that a speed needs.

Nothing here is timed against anything, so it may run beside other programs. It does not know how
traces are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from redraft.bench.corpus import with_corpus
from redraft.bench.measure import Measuring
from redraft.bench.recorder import Recorder
from redraft.bench.run import quiet
from redraft.bench.task_run import exclusion
from redraft.bench.tasks import BenchTask
from redraft.bench.watch import Watch
from redraft.config import Settings
from redraft.errors import ContextFull
from redraft.session import Session


@dataclass(frozen=True, slots=True)
class RecordingPlan:
    """What is to be recorded, and where it goes."""

    workload: str
    tasks: tuple[BenchTask, ...]
    folder: Path
    corpus: Path | None = None
    fresh: bool = False
    """Record again what the folder has."""


def record(plan: RecordingPlan, settings: Settings, watch: Watch) -> Sequence[str]:
    """Draft each task once and keep its trace; tasks that have one already are passed over.

    Returns the names of tasks that could not be recorded, since their prompt does not fit. Raises
    what sessions raise, and UsageError for a folder with traces of other weights.
    """
    too_long: list[str] = []
    with Session(with_corpus(quiet(settings), plan.corpus), watch.stage) as session:
        recorder = Recorder(session, plan.workload, plan.folder)
        left = [task for task in plan.tasks if plan.fresh or not recorder.has(task)]
        watch.begin(len(plan.tasks), len(plan.tasks) - len(left))
        measuring = Measuring(session)
        for task in left:
            watch.task(task.name)
            try:
                drafted = measuring.drafted(task)
            except ContextFull:
                too_long.append(task.name)
                continue
            cause, reason = exclusion(task, drafted)
            recorder.keep(task, drafted, cause)
            watch.unit()
            count = drafted.statistics
            watch.finished(
                f"{task.name}: {count.output_tokens} tokens, {count.forwards} forwards"
                + (f"; does not count for speed: {reason}" if cause else "")
            )
    return too_long
