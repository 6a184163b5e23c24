"""The flags that the bench commands share, in one place.

Typer reads a command's signature; so that none has a dozen parameters, a command takes one value
of `RunOptions` or `ExactOptions`, and `with_options` spells its fields out as flags.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_type_hints

import typer

from redraft.bench.tasks import Selection

OUTPUT = Path("bench-results")
OutputFolder: TypeAlias = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="Where results go.")
]
Fresh: TypeAlias = Annotated[
    bool, typer.Option("--fresh/--resume", help="Start over, or go on where it stopped.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="JSON on one line instead.")]


@dataclass(frozen=True, slots=True)
class ReplayedOptions:
    """What is done with recorded outputs otherwise than when they were recorded."""

    drafters: Annotated[
        str | None,
        typer.Option("--drafters", metavar="NAMES", help="Who drafts. \\[as recorded]"),
    ] = None
    corpus: Annotated[
        Path | None,
        typer.Option("--corpus", metavar="DIR", help="Index folder for the corpus drafter."),
    ] = None
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="Whose vocabulary. \\[as recorded]"),
    ] = None


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """Which tasks the user asked for, and how they are drafted."""

    path: Annotated[
        list[Path] | None,
        typer.Option("--path", metavar="FILE", help="File of tasks (.jsonl, .jsonl.gz)."),
    ] = None
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="The first N tasks.")
    ] = None
    sample: Annotated[
        int | None,
        typer.Option("--sample", min=1, metavar="N", help="N tasks of all kinds, fixed by --seed."),
    ] = None
    corpus: Annotated[
        Path | None,
        typer.Option(
            "--corpus", metavar="DIR", help="Index folder for the corpus drafter; else no corpus."
        ),
    ] = None
    fresh: Fresh = False

    def selection(self, seed: int) -> Selection:
        """Which tasks were asked for."""
        return Selection(self.limit, self.sample, seed)


@dataclass(frozen=True, slots=True)
class RunOptions(TaskOptions):
    """What the user asked of a bench, besides settings."""

    repeats: Annotated[
        int, typer.Option("--repeats", min=1, max=99, metavar="N", help="Timed runs of each way.")
    ] = 3
    quick: Annotated[bool, typer.Option("--quick", help="The same as --repeats 1.")] = False
    output: OutputFolder = OUTPUT
    traces: Annotated[
        Path | None,
        typer.Option("--traces", metavar="DIR", help="Keep a trace of each task here, for replay."),
    ] = None
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Exit with 0 where the tasks cannot be had.")
    ] = False
    as_json: AsJson = False

    @property
    def times(self) -> int:
        """Repeats that were asked for."""
        return 1 if self.quick else self.repeats


@dataclass(frozen=True, slots=True)
class TraceOptions(TaskOptions):
    """What the user asked of a recording, besides settings."""

    output: OutputFolder = Path("traces")


@dataclass(frozen=True, slots=True)
class ScenarioOptions(RunOptions):
    """What the user asked of the scenarios, besides settings."""

    cell: Annotated[
        list[str] | None,
        typer.Option(
            "--cell",
            metavar="CELL",
            help="Only this; may be repeated. A scenario (completion, function, refactoring), a "
            "language (go, rust, python, typescript), or both: function/go.",
        ),
    ] = None
    every: Annotated[
        bool, typer.Option("--all", help="All tasks instead of the fixed sample of 4 per cell.")
    ] = False


@dataclass(frozen=True, slots=True)
class PeerOptions(ScenarioOptions):
    """What the user asked of the comparison with peers, besides settings."""

    workload: Annotated[
        str,
        typer.Option("--workload", metavar="NAME", help="Tasks of which bench both sides answer."),
    ] = "edits"
    mode: Annotated[
        list[str] | None,
        typer.Option("--mode", metavar="MODE", help="Only these: plain, ngram-simple, draft, …"),
    ] = None


@dataclass(frozen=True, slots=True)
class ExactOptions:
    """What the user asked of the exactness bench, besides settings."""

    functions: Annotated[
        Path | None, typer.Option("--functions", metavar="FILE", help="HumanEval's file.")
    ] = None
    completions: Annotated[
        list[Path] | None,
        typer.Option("--completions", metavar="FILE", help="HumanEval-Infilling's files."),
    ] = None
    sample: Annotated[
        int | None,
        typer.Option("--sample", min=1, metavar="N", help="N generations, fixed by --seed."),
    ] = None
    corpus: Annotated[
        Path | None,
        typer.Option("--corpus", metavar="DIR", help="Index folder; else a small one is built."),
    ] = None
    output: OutputFolder = OUTPUT
    fresh: Fresh = False
    as_json: AsJson = False


@dataclass(frozen=True, slots=True)
class SyntaxOptions:
    """What the user asked of the syntax bench, besides settings."""

    files: Annotated[
        int, typer.Option("--files", min=1, metavar="N", help="Most files of one language.")
    ] = 40
    offsets: Annotated[
        int, typer.Option("--offsets", min=1, metavar="N", help="Random offsets in each file.")
    ] = 25
    output: OutputFolder = OUTPUT
    as_json: AsJson = False


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the flags of the class that its argument `options` is annotated with.

    With `**`, since typer passes parameters by name.
    """
    own = get_type_hints(command, include_extras=True)
    kind = own["options"]
    hints = get_type_hints(kind, include_extras=True)
    added = [
        inspect.Parameter(
            item.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=item.default,
            annotation=hints[item.name],
        )
        for item in fields(kind)
    ]
    kept = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=own[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if name != "options"
    ]

    @wraps(command)
    def with_flags(**given: Any) -> None:
        options = kind(**{item.name: given.pop(item.name) for item in added})
        command(options=options, **given)

    with_flags.__signature__ = inspect.Signature([*added, *kept])  # type: ignore[attr-defined]
    with_flags.__annotations__ = {item.name: item.annotation for item in (*added, *kept)}
    del with_flags.__wrapped__  # typer would look through it
    return with_flags
