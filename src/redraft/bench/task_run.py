"""One task from first answer to finished row: equality first, then interleaved timing.

It decides which tasks count and in which order the ways take turns. It does not know files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from statistics import median
from typing import TypeAlias

from redraft.bench.measure import Forced, Measuring, Timed, first_difference
from redraft.bench.rows import Cause, Drafting, TaskRow, Timings
from redraft.bench.tasks import BenchTask
from redraft.bench.workloads import unchanged_share
from redraft.errors import ContextFull
from redraft.protocols import Tokenizer
from redraft.session import EditRequest

Keep: TypeAlias = Callable[[BenchTask, Timed, Cause | None, float | None], None]
"""Gets a task, its drafted run, why it does not count, and the seconds of its fastest plain
decoding."""
WAYS = 4
"""Decodes in one repeat: plain in the same numerics, drafted, fastest plain, its control."""


def run_task(
    measuring: Measuring,
    tokenizer: Tokenizer,
    task: BenchTask,
    repeats: int,
    done: Callable[[], None],
    keep: Keep | None = None,
) -> TaskRow:
    """Measure a task. `done` is called after each decode, `keep` with the drafted run of median
    speed.

    A task whose plain output does not count is drafted once, for equality, and not timed. Raises
    what the engine raises, but for a prompt that does not fit, which is a row.
    """
    try:
        runs = [_session_turn(measuring, task, False, done)]
    except ContextFull as error:
        return _without_run(task, str(error))
    reference, drafted = runs[0]
    cause, reason = exclusion(task, reference)
    timings, drift = None, 0
    if cause is None:
        forced = [_forced_turn(measuring, task, drafted, done)]
        for _ in range(repeats - 1):
            runs.append(_session_turn(measuring, task, True, done))
            forced.append(_forced_turn(measuring, task, drafted, done))
        timings, drift = _timings(runs, forced), forced[0][0].drift
    middle = _middle([run for _, run in runs])
    if keep is not None:
        keep(task, middle, cause, None if timings is None else median(timings.plain))
    outputs = [run.tokens for pair in runs for run in pair]
    different = [first_difference(reference.tokens, output) for output in outputs]
    source = task.request.text if isinstance(task.request, EditRequest) else None
    return TaskRow(
        name=task.name,
        kind=task.kind,
        language=task.request.language,
        excluded=cause,
        reason=reason,
        equal=all(place is None for place in different),
        differs_at=min((place for place in different if place is not None), default=None),
        exact=drafted.exact,
        prompt_tokens=reference.statistics.prompt_tokens,
        output_tokens=len(drafted.tokens),
        output_sha256=hashlib.sha256(drafted.text.encode("utf-8", "replace")).hexdigest(),
        unchanged_share=None if source is None else _unchanged(tokenizer, source, reference.text),
        drift=drift,
        drafting=_drafting(middle),
        timings=timings,
    )


def _session_turn(
    measuring: Measuring, task: BenchTask, keep_prompt: bool, done: Callable[[], None]
) -> tuple[Timed, Timed]:
    """Plain in the same numerics, then drafted, which finds the prompt evaluated."""
    reference = measuring.same_numerics(task, keep_prompt)
    done()
    drafted = measuring.drafted(task, keep_prompt=True)
    done()
    return reference, drafted


def _forced_turn(
    measuring: Measuring, task: BenchTask, drafted: Timed, done: Callable[[], None]
) -> tuple[Forced, Forced]:
    """Fastest plain, and its control."""
    plain = measuring.one_token(task, drafted.tokens)
    done()
    control = measuring.one_token(task, drafted.tokens)
    done()
    return plain, control


def exclusion(task: BenchTask, reference: Timed) -> tuple[Cause | None, str]:
    """Why a task does not count for speed, and one line more; (None, "") where it does."""
    reason = reference.finish_reason
    if reason in ("length", "loop", "context", "time"):
        return reason, f"plain output ended by {reason} after {len(reference.tokens)} tokens"
    problem = task.check(reference.text) if task.check is not None else None
    return ("check", problem) if problem is not None else (None, "")


def _without_run(task: BenchTask, reason: str) -> TaskRow:
    return TaskRow(
        name=task.name,
        kind=task.kind,
        language=task.request.language,
        excluded="context",
        reason=reason,
        equal=None,
        differs_at=None,
        exact=False,
        prompt_tokens=0,
        output_tokens=0,
        output_sha256="",
        unchanged_share=None,
        drift=0,
        drafting=None,
        timings=None,
    )


def _timings(runs: list[tuple[Timed, Timed]], forced: list[tuple[Forced, Forced]]) -> Timings:
    return Timings(
        same_numerics=tuple(one.statistics.decode_seconds for one, _ in runs),
        drafted=tuple(one.statistics.decode_seconds for _, one in runs),
        plain=tuple(one.statistics.decode_seconds for one, _ in forced),
        control=tuple(one.statistics.decode_seconds for _, one in forced),
        drafted_engine=tuple(one.statistics.engine_seconds for _, one in runs),
        plain_prompt=forced[0][0].statistics.prefill_seconds,
        drafted_prompt=runs[0][0].statistics.prefill_seconds,
    )


def _middle(runs: list[Timed]) -> Timed:
    """The run of median speed; runs differ in drafts, as policies watch the clock."""
    middle = median(run.statistics.decode_seconds for run in runs)
    return min(runs, key=lambda one: abs(one.statistics.decode_seconds - middle))


def _drafting(run: Timed) -> Drafting:
    count = run.statistics
    return Drafting(
        forwards=count.forwards,
        proposed=count.proposed,
        accepted=count.accepted,
        reached=run.reached,
        survived=run.survived,
        by_drafter={one.name: (one.proposed, one.accepted) for one in count.by_drafter},
    )


def _unchanged(tokenizer: Tokenizer, source: str, output: str) -> float:
    return unchanged_share(tokenizer.encode(source), tokenizer.encode(output))
