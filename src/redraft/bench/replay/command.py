"""What `redraft bench replay` does: from its flags to a plan, a report and an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redraft.bench.options import OUTPUT, AsJson, OutputFolder, ReplayedOptions

if TYPE_CHECKING:
    from redraft.bench.replay.run import ReplayPlan
    from redraft.bench.traces import Trace, TraceOrigin
    from redraft.protocols import Tokenizer


@dataclass(frozen=True, slots=True)
class ReplayOptions(ReplayedOptions):
    """What the user asked of a replay."""

    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="NAME",
            help="A policy, best-single or lookup; several side by side. \\[cost and the last two]",
        ),
    ] = None
    curve: Annotated[
        str,
        typer.Option(
            "--curve",
            metavar="FILE|NAME",
            help="What forwards cost: recorded, a known name, or JSON of doctor or bench.",
        ),
    ] = "recorded"
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            metavar="FILE",
            help="JSON of a bench of the same tasks: print its speedup, and use its curve.",
        ),
    ] = None
    believe: Annotated[
        str | None,
        typer.Option("--believe", metavar="FILE|NAME", help="The curve that policies are told."),
    ] = None
    pair: Annotated[
        str | None,
        typer.Option("--pair", metavar="NAME", help="Simulate a larger target and small model."),
    ] = None
    model_acceptance: Annotated[
        float | None,
        typer.Option(
            "--model-acceptance", min=0, max=1, help="Of a simulated model drafter's tokens."
        ),
    ] = None
    model_cost: Annotated[
        float, typer.Option("--model-cost", min=0, help="Of its token, in one-row forwards.")
    ] = 0.12
    everything: Annotated[
        bool, typer.Option("--all", help="Also tasks that do not count for speed.")
    ] = False
    weights: Annotated[
        Path | None,
        typer.Option("--gate-weights", metavar="FILE", help="Of the gate. \\[the package's own]"),
    ] = None
    within: Annotated[
        float | None,
        typer.Option(
            "--within",
            metavar="PERCENT",
            help="Exit with 1 where simulated and real speedup differ by more.",
        ),
    ] = None
    output: OutputFolder = OUTPUT
    as_json: AsJson = False


def replay(paths: Sequence[Path], options: ReplayOptions, command: str) -> None:
    """Replay the traces in these files and folders.

    Raises InputError and UsageError for what cannot be replayed, CheckFailed for `--within`.
    """
    from redraft.bench.replay.report import print_replay
    from redraft.bench.replay.run import run_replay
    from redraft.bench.traces import read_traces
    from redraft.bench.watch import watching
    from redraft.terminal.screen import write_json

    traces = read_traces(paths)
    plan = _plan(traces, options)
    with watching() as watch:
        tokenizer = vocabulary(traces[0].origin, options.model)
        outcome = run_replay(plan, tokenizer, watch, options.output, command)
    if options.as_json:
        write_json(outcome.document)
    else:
        print_replay(outcome.document)
    print(outcome.path, flush=True)
    _check_difference(outcome.document["real"], options.within)


def _plan(traces: Sequence[Trace], options: ReplayOptions) -> ReplayPlan:
    from redraft.bench.replay.baselines import SmallModel
    from redraft.bench.replay.curves import RECORDED, find_curve, find_pair
    from redraft.bench.replay.run import BASELINES, ReplayPlan
    from redraft.bench.report import read_document
    from redraft.errors import UsageError
    from redraft.schedule import read_weights
    from redraft.syntax import Syntax

    pair = find_pair(options.pair) if options.pair else None
    name = pair.curve if pair and options.curve == RECORDED else options.curve
    if options.against and name == RECORDED:
        name = str(options.against)
    curve = None if name == RECORDED else find_curve(name)
    acceptance = options.model_acceptance
    if acceptance is None and pair:
        acceptance = pair.acceptance
    model = None
    if acceptance is not None:
        if curve is None:
            raise UsageError("a simulated model needs a curve to cost a share of; name a --curve")
        cost = pair.cost if pair else options.model_cost
        model = SmallModel(acceptance, cost * curve.seconds(1))
    drafters = chosen_drafters(options.drafters, options.corpus, traces)
    return ReplayPlan(
        traces=tuple(trace for trace in traces if options.everything or trace.excluded is None),
        policies=tuple(options.policy or ("cost", *BASELINES)),
        drafters=drafters if model is None or "model" in drafters else (*drafters, "model"),
        curve=curve,
        believed=find_curve(options.believe) if options.believe else None,
        corpus=options.corpus,
        model=model,
        weights=read_weights(options.weights) if options.weights else None,
        follow=Syntax,
        against=read_document(options.against) if options.against else None,
    )


def chosen_drafters(
    named: str | None, corpus: Path | None, traces: Sequence[Trace]
) -> tuple[str, ...]:
    """Those that were named, else those of the recording, with the corpus where there is one."""
    if named is not None:
        return tuple(name.strip() for name in named.split(",") if name.strip())
    recorded = traces[0].origin.drafters if traces else ()
    return (*recorded, *(("corpus",) if corpus and "corpus" not in recorded else ()))


def vocabulary(origin: TraceOrigin, model: str | None) -> Tokenizer:
    """The vocabulary that a recording's token ids are of, or that of another model's name."""
    from redraft.loading import load_tokenizer

    return load_tokenizer(origin.engine, model or origin.model, lambda stage, share: None)


def _check_difference(real: Any, within: float | None) -> None:
    from redraft.errors import CheckFailed, UsageError

    if within is None:
        return
    if real is None:
        raise UsageError(
            "--within needs real runs of a replayed policy: traces that a bench recorded with"
            " --traces by the same drafters, or the JSON of a bench of these tasks by --against"
        )
    if abs(real["difference"]) > within / 100:
        raise CheckFailed(
            f"simulated {real['simulated']:.2f}x is {real['difference']:+.1%} off the measured "
            f"{real['speedup']:.2f}x; the cost curve does not fit the recorded run"
        )
