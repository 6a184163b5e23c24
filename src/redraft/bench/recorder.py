"""Makes traces of a session's answers and keeps them. It does not know why a task was answered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from redraft.bench.measure import Timed
from redraft.bench.provenance import code, weights_sha256
from redraft.bench.replay.following import FollowedSyntax
from redraft.bench.rows import Cause
from redraft.bench.tasks import BenchTask
from redraft.bench.traces import (
    Trace,
    TraceOrigin,
    TraceStep,
    read_trace,
    trace_path,
    trace_step,
    write_trace,
)
from redraft.errors import UsageError
from redraft.session import Session
from redraft.syntax import Syntax

_SAMPLING = ("temperature", "top_p", "top_k", "min_p", "seed")


class Recorder:
    """Makes traces of one session's answers and keeps them in `folder`."""

    def __init__(self, session: Session, workload: str, folder: Path) -> None:
        loaded, settings = session.loaded, session.settings
        self._folder = folder
        self._tokenizer = loaded.tokenizer
        self._origin = TraceOrigin(
            workload=workload,
            engine=loaded.engine_name,
            model=Path(settings.model).name,
            weights_sha256=weights_sha256(loaded),
            commit=code().commit,
            policy=settings.policy,
            drafters=settings.drafters,
            sampling={name: getattr(settings, name) for name in _SAMPLING},
            fewest=1
            if settings.numerics == "fast"
            else loaded.calibration.invariance.invariant_from or 1,
            cost_curve=loaded.calibration.seconds_by_rows,
        )

    def has(self, task: BenchTask) -> bool:
        """Whether the folder has this task's trace. Raises UsageError where that trace is of other
        weights or sampling, since traces of two outputs are not to be mixed."""
        path = trace_path(self._folder, self._origin.workload, task.name)
        if not path.exists():
            return False
        found, own = read_trace(path).origin, self._origin
        if (found.weights_sha256, found.sampling) != (own.weights_sha256, own.sampling):
            raise UsageError(
                f"{path} is of other weights or sampling; record into another folder, or over it"
                " with --fresh"
            )
        return True

    def _steps(self, drafted: Timed) -> tuple[TraceStep, ...]:
        """The steps, with the place of every drafted token where it is known. Looked up after
        the run, which so is timed without."""
        steps = tuple(map(trace_step, drafted.steps))
        return with_places(steps, drafted, Syntax(self._tokenizer))

    def keep(
        self, task: BenchTask, drafted: Timed, excluded: Cause | None, plain: float | None = None
    ) -> None:
        """Write the trace of an answer. `plain`: seconds of the fastest plain decoding."""
        trace = Trace(
            origin=self._origin,
            task=task.name,
            kind=task.kind,
            excluded=excluded,
            context=drafted.plan.context,
            room=drafted.plan.room,
            output=drafted.tokens,
            finish_reason=drafted.finish_reason,
            steps=self._steps(drafted),
            seconds=drafted.statistics.decode_seconds,
            plain_seconds=plain,
        )
        write_trace(self._folder, trace)


def with_places(
    steps: tuple[TraceStep, ...], drafted: Timed, view: FollowedSyntax
) -> tuple[TraceStep, ...]:
    """The steps of an answer with where each drafted token would stand."""
    view.start(drafted.plan.context)
    found = []
    for step, made in zip(steps, drafted.steps, strict=True):
        places = [view.place(step.tokens[:count]) for count in range(len(step.tokens))]
        columns = tuple(
            None
            if place is None
            else (place.kind, place.depth, place.definition, place.token_class, place.region)
            for place in places
        )
        found.append(replace(step, syntax=columns))
        view.commit(made.tokens)
    return tuple(found)
