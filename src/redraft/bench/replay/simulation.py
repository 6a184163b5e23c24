"""Decodes one recorded output again and says what it took: a row as a bench has them.

It runs the loop as it is, with the drafters and the policy it is given. It does not know how they
were chosen or how rows are summed up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence as Tokens
from dataclasses import dataclass

from redraft.bench.measure import by_position
from redraft.bench.replay.curves import Curve
from redraft.bench.replay.recorded import RecordedSequence, SimulatedClock, recorded_plan
from redraft.bench.rows import Drafting, TaskRow, Timings
from redraft.bench.traces import Trace
from redraft.bench.workloads import unchanged_share
from redraft.decode import FILLER, decode
from redraft.protocols import Drafter, Policy
from redraft.tokens import Step


@dataclass(frozen=True, slots=True)
class Machine:
    """What stands in for weights and processor: the true cost of forwards, and the clock."""

    curve: Curve
    clock: SimulatedClock
    row_seconds: float = 0.0
    """What sampling one row takes."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What one way of drafting took for one output."""

    drafting: Drafting
    seconds: float
    engine_seconds: float
    output: tuple[int, ...]


def simulate(trace: Trace, machine: Machine, drafters: Tokens[Drafter], policy: Policy) -> Counted:
    """Decode the trace's output by these drafters and this policy."""
    clock = machine.clock
    sequence = RecordedSequence(clock, machine.curve.seconds)
    plan = recorded_plan(trace, clock, machine.row_seconds)
    steps = [event for event in decode(sequence, plan, drafters, policy) if isinstance(event, Step)]
    seconds = sum(
        step.propose_seconds + step.evaluate_seconds + step.verify_seconds for step in steps
    )
    return Counted(
        drafting=count(steps),
        seconds=seconds,
        engine_seconds=sum(step.evaluate_seconds for step in steps),
        output=tuple(token for step in steps for token in step.tokens),
    )


def count(steps: Tokens[Step]) -> Drafting:
    """Proposed and accepted tokens of these steps, without fillers."""
    by_drafter: dict[str, tuple[int, int]] = {}
    for step in steps:
        for position, name in enumerate(step.verdict.draft.drafters):
            if name == FILLER:
                break
            proposed, accepted = by_drafter.get(name, (0, 0))
            right = position < step.verdict.accepted
            by_drafter[name] = (proposed + 1, accepted + right)
    reached, survived = by_position(steps)
    return Drafting(len(steps), sum(reached), sum(survived), reached, survived, by_drafter)


def task_row(trace: Trace, machine: Machine, counted: Counted) -> TaskRow:
    """The row of a replay. Its plain seconds are one-token forwards of the same curve."""
    tokens = len(trace.output)
    each = [machine.curve.seconds(rows) for rows in (1, trace.origin.fewest)]
    plain, same = ((cost + machine.row_seconds) * tokens for cost in each)
    return TaskRow(
        name=trace.task,
        kind=trace.kind,
        language=trace.context.language,
        excluded=None,
        reason="",
        equal=counted.output == trace.output,
        differs_at=None,
        exact=True,
        prompt_tokens=len(trace.context.prompt),
        output_tokens=tokens,
        output_sha256=hashlib.sha256(str(trace.output).encode()).hexdigest(),
        unchanged_share=_unchanged(trace),
        drift=0,
        drafting=counted.drafting,
        timings=Timings(
            same_numerics=(same,),
            drafted=(counted.seconds,),
            plain=(plain,),
            control=(plain,),
            drafted_engine=(counted.engine_seconds,),
            plain_prompt=0.0,
            drafted_prompt=0.0,
        ),
    )


def _unchanged(trace: Trace) -> float | None:
    if trace.origin.workload != "edits":
        return None
    return unchanged_share(trace.context.source, trace.output)


def row_seconds(trace: Trace) -> float:
    """What sampling one row took when the trace was recorded; 0 where that was not timed with
    care, as other programs may have run beside it."""
    if trace.plain_seconds is None:
        return 0.0
    sampled = sum(min(step.accepted + 1, step.rows) for step in trace.steps)
    return sum(step.verify_seconds for step in trace.steps) / max(1, sampled)
