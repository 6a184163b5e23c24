"""Replays traces by several ways of drafting and sums each up; writes one JSON.

A way is a policy's name, or one of the baselines `best-single` (per task the one drafter that
turns out best) and `lookup` (long-window prompt lookup). It does not know how a report looks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from redraft import drafters as registry
from redraft.bench import provenance
from redraft.bench.figures import summarise
from redraft.bench.replay.baselines import SimulatedModel, SmallModel, look_up
from redraft.bench.replay.curves import RECORDED, Curve
from redraft.bench.replay.following import Follow, Follower
from redraft.bench.replay.recorded import SimulatedClock
from redraft.bench.replay.simulation import Counted, Machine, row_seconds, simulate, task_row
from redraft.bench.rows import TaskRow, to_json
from redraft.bench.run import Outcome, write_document
from redraft.bench.traces import Trace
from redraft.bench.watch import Watch
from redraft.cost import CostCurve
from redraft.drafters import Resources
from redraft.errors import InputError, UsageError
from redraft.protocols import Drafter, SyntaxView, Tokenizer
from redraft.schedule import SurvivalModel, Weights, make_policy
from redraft.syntax import Syntax

BEST_SINGLE, LOOKUP = "best-single", "lookup"
BASELINES = (BEST_SINGLE, LOOKUP)


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """What is replayed, and on what."""

    traces: tuple[Trace, ...]
    policies: tuple[str, ...]
    drafters: tuple[str, ...]
    curve: Curve | None = None
    """What a forward costs; None: the curve each trace brings, and its own sampling time."""
    believed: Curve | None = None
    """What policies are told before they have seen a forward; None: the truth."""
    corpus: Path | None = None
    model: SmallModel | None = None
    """Stands in for the `model` drafter."""
    weights: Weights | None = None
    """Of the gate; None: the package's own."""
    follow: Follow | None = None
    """Makes what follows syntax; None: nothing does."""
    against: Mapping[str, Any] | None = None
    """The JSON of a bench over the same tasks, whose speed stands beside the simulated one."""


def check(plan: ReplayPlan) -> None:
    """Raises UsageError or InputError for what cannot be replayed, before anything is."""
    if not plan.traces:
        raise InputError("none of the traces counts for speed; --all takes the others too")
    if not plan.drafters:
        raise UsageError("a replay needs drafters; name some by --drafters")
    if "model" in plan.drafters and plan.model is None:
        raise UsageError(
            "a replay has no weights for the model drafter; stand one in by --model-acceptance"
            " and --model-cost, or by --pair"
        )
    for name in plan.drafters:
        registry.find(name)
    for name in plan.policies:
        if name not in BASELINES:
            make_policy(name, CostCurve({1: 1.0}))  # a mistake is told before anything is run


class Replayer:
    """Replays the plan's traces with one vocabulary."""

    def __init__(self, plan: ReplayPlan, tokenizer: Tokenizer) -> None:
        self._plan = plan
        self._tokenizer = tokenizer

    def rows(self, policy: str, done: Callable[[], None] = lambda: None) -> list[TaskRow]:
        """A row per trace. `done` is called after each."""
        rows = []
        for trace in self._plan.traces:
            machine = self.machine(trace)
            rows.append(task_row(trace, machine, self._counted(policy, trace, machine)))
            done()
        return rows

    def machine(self, trace: Trace) -> Machine:
        """What the trace is replayed on."""
        curve, seconds = self._plan.curve, 0.0
        if curve is None:
            curve = Curve(RECORDED, "measured when recorded", trace.origin.cost_curve)
            seconds = row_seconds(trace)
        return Machine(curve, SimulatedClock(), seconds)

    def _counted(self, policy: str, trace: Trace, machine: Machine) -> Counted:
        names = self._plan.drafters
        if policy == LOOKUP:
            return look_up(trace, machine)
        if policy == BEST_SINGLE:
            ways = [self._decoded("cost", (name,), trace, machine) for name in names]
            return min(ways, key=lambda way: way.seconds)
        return self._decoded(policy, names, trace, machine)

    def _decoded(
        self, policy: str, names: Sequence[str], trace: Trace, machine: Machine
    ) -> Counted:
        believed, weights = self._plan.believed or machine.curve, self._plan.weights
        drafters, syntax = self.equipment(trace, machine, names)
        made = make_policy(
            policy,
            CostCurve(believed.seconds_by_rows),
            trace.origin.fewest,
            machine.clock,
            syntax,
            model=SurvivalModel(weights) if weights else None,
        )
        return simulate(trace, machine, drafters, made)

    def equipment(
        self, trace: Trace, machine: Machine, names: Sequence[str] | None = None
    ) -> tuple[list[Drafter], SyntaxView | None]:
        """Drafters, by default all of the plan's, and the view they keep up to date: new ones for
        each trace, so that all stores are empty, as in a bench."""
        plan = self._plan
        view = plan.follow(self._tokenizer) if plan.follow else None
        syntax = view if isinstance(view, Syntax) else None
        resources = Resources(self._tokenizer, corpus=plan.corpus, syntax=syntax)
        drafters: list[Drafter] = []
        for name in plan.drafters if names is None else names:
            if name == "model" and plan.model is not None:
                drafters.append(SimulatedModel(trace, plan.model, machine.clock))
            else:
                drafters.append(registry.build(name, resources))
        if view is not None:
            drafters.append(Follower(view))
        return drafters, view


def run_replay(
    plan: ReplayPlan, tokenizer: Tokenizer, watch: Watch, output: Path, command: str
) -> Outcome:
    """Replay all, and write `replay-<time>.json` into `output`.

    Raises as `check` does, and InputError where the folder cannot be written.
    """
    check(plan)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{output} cannot be made: {error.strerror}; use another -o") from None
    replayer = Replayer(plan, tokenizer)
    watch.begin(len(plan.policies) * len(plan.traces), 0)
    ways = []
    for policy in plan.policies:
        watch.task(policy)
        rows = replayer.rows(policy, watch.unit)
        figures = summarise(rows)
        ways.append({"policy": policy, **figures, "rows": list(map(to_json, rows))})
        watch.finished(f"{policy}: {figures['speedup']:.2f}x simulated")
    document = {**_origin(plan, command), "ways": ways, "real": real(plan, ways)}
    return Outcome(write_document(output, "replay", document), document)


def real(plan: ReplayPlan, ways: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The speed of real runs beside the simulated one of the same policy over the same tasks: of
    the bench to be compared with, else of the recorded runs by the same drafters. None where no
    such runs were timed."""
    for way in ways:
        measured = _measured(plan, way["policy"])
        rows = [row for row in way["rows"] if row["name"] in measured]
        if not rows:
            continue
        simulated = sum(row["timings"]["plain"][0] for row in rows) / sum(
            row["timings"]["drafted"][0] for row in rows
        )
        found = [measured[row["name"]] for row in rows]
        speedup = sum(plain for plain, _ in found) / sum(drafted for _, drafted in found)
        return {
            "policy": way["policy"],
            "tasks": len(rows),
            "speedup": speedup,
            "simulated": simulated,
            "difference": simulated / speedup - 1.0,
        }
    return None


def _measured(plan: ReplayPlan, policy: str) -> dict[str, tuple[float, float]]:
    """By task: seconds of fastest plain decoding and of this policy's."""
    if plan.against is not None:
        if plan.against["policy"] != policy:
            return {}
        timed = [row for row in plan.against["rows"] if row["excluded"] is None and row["timings"]]
        return {
            row["name"]: (median(row["timings"]["plain"]), median(row["timings"]["drafted"]))
            for row in timed
        }
    return {
        trace.task: (trace.plain_seconds, trace.seconds)
        for trace in plan.traces
        if trace.plain_seconds is not None
        and trace.origin.policy == policy
        and set(trace.origin.drafters) == set(plan.drafters)
    }


def _origin(plan: ReplayPlan, command: str) -> dict[str, Any]:
    found, first = provenance.code(), plan.traces[0].origin
    curve = plan.curve
    return {
        "version": provenance.VERSION,
        "workload": "replay",
        "simulated": True,
        "command": command,
        "commit": found.commit,
        "source_sha256": found.source_sha256,
        "recorded_at": sorted({trace.origin.commit for trace in plan.traces}),
        "workloads": sorted({trace.origin.workload for trace in plan.traces}),
        "weights_sha256": first.weights_sha256,
        "drafters": list(plan.drafters),
        "curve": RECORDED if curve is None else curve.name,
        "curve_source": "measured when recorded" if curve is None else curve.source,
        "believed": plan.believed.name if plan.believed else None,
        "model": None
        if plan.model is None
        else {"acceptance": plan.model.acceptance, "seconds": plan.model.seconds},
    }
