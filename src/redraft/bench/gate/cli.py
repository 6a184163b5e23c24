"""The commands of `redraft gate`: train from traces, evaluate, and the control experiment."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from redraft.bench.options import AsJson, ReplayedOptions, with_options

if TYPE_CHECKING:
    from redraft.bench.replay.run import ReplayPlan
    from redraft.protocols import Tokenizer

app = typer.Typer(
    name="gate",
    help="The learned survival model of the policy `gate`: train it, and see what it is worth.",
    epilog="Example: redraft gate train traces/edits -o gate.json",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_UNENDED = ("loop", "length", "context", "time")
"""Outputs that did not end by themselves repeat themselves, which teaches too much certainty."""
Traces: TypeAlias = Annotated[
    list[Path], typer.Argument(metavar="TRACE...", help="Traces, or folders of them.")
]


@dataclass(frozen=True, slots=True)
class GateOptions(ReplayedOptions):
    """What the commands of the gate have in common."""

    curve: Annotated[
        str, typer.Option("--curve", metavar="FILE|NAME", help="As for bench replay.")
    ] = "recorded"
    syntax: Annotated[
        bool, typer.Option("--syntax/--no-syntax", help="Whether syntax is among the features.")
    ] = True
    as_json: AsJson = False


@app.command(epilog="Example: redraft gate train traces/edits traces/functions -o gate.json")
@with_options
def train(
    traces: Traces,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where it goes.")],
    options: GateOptions,
) -> None:
    """Learn weights from recorded outputs, and test them on tasks kept apart."""
    from redraft.bench.gate.run import train
    from redraft.bench.watch import watching
    from redraft.files import write_atomically
    from redraft.schedule.survival_model import weights_json

    with watching() as watch:
        plan, tokenizer = _prepared(traces, options)
        weights = train(plan, tokenizer, watch)
    write_atomically(output, weights_json(weights))
    _tell(weights.card if options.as_json else weights.card["held_out"], options.as_json)
    print(f"use it by --policy gate --gate-weights {output}", file=sys.stderr)
    print(output)


@app.command(epilog="Example: redraft gate evaluate traces/functions --gate-weights gate.json")
@with_options
def evaluate(
    traces: Traces,
    options: GateOptions,
    weights: Annotated[
        Path | None,
        typer.Option("--gate-weights", metavar="FILE", help="From gate train. \\[the package's]"),
    ] = None,
) -> None:
    """Log-loss and calibration error on tasks that the weights were not learned from."""
    from redraft.bench.gate.run import evaluate
    from redraft.bench.watch import watching
    from redraft.schedule import default_weights, read_weights

    found = read_weights(weights) if weights else default_weights()
    with watching() as watch:
        plan, tokenizer = _prepared(traces, options)
        result = evaluate(plan, tokenizer, found, watch)
    _tell(result, options.as_json)


@app.command(epilog="Example: redraft gate control traces/edits --curve server-2-cores-b")
@with_options
def control(traces: Traces, options: GateOptions) -> None:
    """What syntax brings: the gate with it, with node kinds shuffled, and without it."""
    from redraft.bench.gate.run import control
    from redraft.bench.watch import watching
    from redraft.terminal.screen import write_json

    with watching() as watch:
        plan, tokenizer = _prepared(traces, options)
        result = control(plan, tokenizer, watch)
    if options.as_json:
        write_json(result)
        return
    for name, figures in result["ways"].items():
        print(
            f"{name}: {figures['speedup']:.3f}x simulated, "
            f"{figures['tokens_per_forward']:.2f} tokens a forward, "
            f"{figures['time_outside_engine']:.1%} of the time outside the engine"
        )
    for found in result["differences"]:
        print(
            f"{found['name']}: {found['change']:+.2%} "
            f"(95% of resamples between {found['low']:+.2%} and {found['high']:+.2%})"
        )


def _prepared(paths: list[Path], options: GateOptions) -> tuple[ReplayPlan, Tokenizer]:
    """The traces whose output ended by itself, and their vocabulary."""
    from redraft.bench.replay.command import chosen_drafters, vocabulary
    from redraft.bench.replay.curves import RECORDED, find_curve
    from redraft.bench.replay.run import ReplayPlan, check
    from redraft.bench.traces import read_traces
    from redraft.syntax import Syntax

    traces = tuple(trace for trace in read_traces(paths) if trace.excluded not in _UNENDED)
    plan = ReplayPlan(
        traces=traces,
        policies=("gate",),
        drafters=chosen_drafters(options.drafters, options.corpus, traces),
        curve=None if options.curve == RECORDED else find_curve(options.curve),
        corpus=options.corpus,
        follow=Syntax if options.syntax else None,
    )
    check(plan)
    return plan, vocabulary(traces[0].origin, options.model)


def _tell(found: Mapping[str, Any], as_json: bool) -> None:
    from redraft.terminal.screen import write_json

    if as_json:
        write_json(found)
        return
    print(f"{found['tasks']} tasks, {found['tokens']:,} tokens, {found['accepted']:.0%} accepted")
    for name in ("drafters", "gate", "gate_online"):
        print(
            f"{name.replace('_', ' ')}: log-loss {found[name]['log_loss']:.4f}, "
            f"calibration error {found[name]['calibration_error']:.4f}"
        )
