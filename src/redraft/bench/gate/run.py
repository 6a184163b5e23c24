"""Trains the gate from traces, tests it, and runs its control experiment; results as JSON.

It does not know how a result is shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from redraft.bench.figures import summarise
from redraft.bench.gate.control import CrossValidation, ShuffledKinds, compare
from redraft.bench.gate.examples import Examples, gather_all
from redraft.bench.gate.training import FOLDS, RIDGE, fit, online, quality, split, still
from redraft.bench.provenance import code
from redraft.bench.replay.following import Follow, FollowedSyntax
from redraft.bench.replay.run import Replayer, ReplayPlan
from redraft.bench.rows import TaskRow
from redraft.bench.traces import Trace
from redraft.bench.watch import Watch
from redraft.errors import UsageError
from redraft.protocols import DraftContext, Tokenizer
from redraft.schedule import Weights

HELD_OUT = 0
"""The fold that training never sees."""


def train(plan: ReplayPlan, tokenizer: Tokenizer, watch: Watch) -> Weights:
    """Weights learned from the traces outside the held-out fold, with a card that says how they
    do inside. Raises InputError where the traces are too few to split."""
    watch.stage("replaying traces")
    examples = gather_all(Replayer(plan, tokenizer), plan.traces)
    learned, tested = split(examples, HELD_OUT)
    if plan.follow is not None:
        # once more without syntax, as there is none for some languages
        bare = replace(plan, traces=_of(plan.traces, learned), follow=None)
        learned = [*learned, *gather_all(Replayer(bare, tokenizer), bare.traces)]
    watch.stage("fitting")
    weights = fit(learned)
    return replace(weights, card=_card(plan, learned, tested, weights))


def _of(traces: Sequence[Trace], examples: Sequence[Examples]) -> tuple[Trace, ...]:
    tasks = {one.task for one in examples}
    return tuple(trace for trace in traces if trace.task in tasks)


def evaluate(
    plan: ReplayPlan, tokenizer: Tokenizer, weights: Weights, watch: Watch
) -> dict[str, Any]:
    """How good these weights are on tasks that they were not learned from."""
    watch.stage("replaying traces")
    examples = gather_all(Replayer(plan, tokenizer), plan.traces)
    seen = set(weights.card.get("tasks", ()))
    unseen = [one for one in examples if one.task not in seen]
    return {"tasks": len(unseen), **_qualities(weights, unseen)}


def _card(
    plan: ReplayPlan, learned: Sequence[Examples], tested: Sequence[Examples], weights: Weights
) -> dict[str, Any]:
    traces = plan.traces
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": code().commit,
        "traces_sha256": _traces_sha256(traces),
        "recorded_at": sorted({trace.origin.commit for trace in traces}),
        "weights_sha256": sorted({trace.origin.weights_sha256 or "" for trace in traces}),
        "workloads": sorted({trace.origin.workload for trace in traces}),
        "drafters": list(plan.drafters),
        "syntax": plan.follow is not None,
        "ridge": RIDGE,
        "tasks": sorted({one.task for one in learned}),
        "tokens": int(sum(len(one.accepted) for one in learned)),
        "held_out": {
            "rule": f"SHA-256 of the task's name, modulo {FOLDS}, is {HELD_OUT}",
            "tasks": len(tested),
            **_qualities(weights, tested),
        },
    }


def _qualities(weights: Weights, examples: Sequence[Examples]) -> dict[str, Any]:
    if not examples:
        raise UsageError("the gate has learned from all of these tasks; name traces of others")
    accepted = np.concatenate([one.accepted for one in examples])
    estimates = {
        "drafters": np.concatenate([one.estimates for one in examples]),
        "gate": still(weights, examples),
        "gate_online": online(weights, examples),
    }
    found = {name: asdict(quality(values, accepted)) for name, values in estimates.items()}
    return {"tokens": len(accepted), "accepted": float(accepted.mean()), **found}


def _traces_sha256(traces: Sequence[Trace]) -> str:
    """Of tasks, prompts and outputs, which is all that training takes from a trace."""
    digest = hashlib.sha256()
    for trace in traces:
        digest.update(f"{trace.task}\0{trace.context}\0{trace.output}\0".encode())
    return digest.hexdigest()


def control(plan: ReplayPlan, tokenizer: Tokenizer, watch: Watch) -> dict[str, Any]:
    """Speed of four ways over the same tasks, and the differences that answer what syntax brings.

    Raises UsageError where nothing follows syntax, InputError where the traces are too few.
    """
    if plan.follow is None:
        raise UsageError("the control experiment is about syntax; leave --no-syntax out")
    ways = {
        "gate": plan,
        "kinds-shuffled": replace(plan, follow=_shuffled(plan.follow)),
        "no-syntax": replace(plan, follow=None),
    }
    watch.begin((1 + len(ways)) * len(plan.traces), 0)
    rows: dict[str, list[TaskRow]] = {}
    for name, way in ways.items():
        watch.task(name)
        rows[name] = CrossValidation(way, tokenizer).rows(watch.unit)
    watch.task("cost")
    rows["cost"] = Replayer(replace(plan, follow=None), tokenizer).rows("cost", watch.unit)
    pairs = (("gate", "kinds-shuffled"), ("gate", "no-syntax"), ("gate", "cost"))
    return {
        "simulated": True,
        "commit": code().commit,
        "traces_sha256": _traces_sha256(plan.traces),
        "curve": plan.curve.name if plan.curve else "recorded",
        "ways": {name: _figures(found) for name, found in rows.items()},
        "differences": [
            asdict(compare(f"{one} over {other}", rows[one], rows[other])) for one, other in pairs
        ],
    }


def _figures(rows: Sequence[TaskRow]) -> dict[str, Any]:
    found = summarise(rows)
    names = ("tasks", "speedup", "worst", "tokens_per_forward", "accepted_of_proposed")
    return {name: found[name] for name in (*names, "time_outside_engine")}


class _Shuffled(ShuffledKinds):
    """A followed view whose kinds say nothing."""

    def __init__(self, view: FollowedSyntax) -> None:
        super().__init__(view, "kinds")
        self._followed = view

    def start(self, context: DraftContext) -> None:
        """Tell the view."""
        self._followed.start(context)

    def commit(self, tokens: Sequence[int]) -> None:
        """Tell the view."""
        self._followed.commit(tokens)


def _shuffled(follow: Follow) -> Follow:
    return lambda tokenizer: _Shuffled(follow(tokenizer))
