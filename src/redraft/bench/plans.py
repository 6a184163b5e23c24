"""From what a user asked of a bench to the plan that is run: tasks, sample and the typed command.

It does not know how a plan is run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, get_args

import typer

from redraft.bench.options import RunOptions, ScenarioOptions
from redraft.bench.tasks import BenchTask, FromFiles, load_tasks, select
from redraft.errors import RedraftError, UsageError

if TYPE_CHECKING:
    from redraft.bench.run import BenchPlan
    from redraft.config import Settings


class TasksMissing(RedraftError):
    """The tasks of a workload cannot be had here."""

    exit_code: ClassVar[int] = 3


def workload_from_files(name: str) -> FromFiles:
    """The workload called `name`. Raises UsageError with the known names."""
    known = get_args(FromFiles)
    if name not in known:
        raise UsageError(f"there is no workload {name}; name scenarios, {', '.join(known)}")
    found: FromFiles = name  # type: ignore[assignment]
    return found


def plan_from_files(workload: FromFiles, options: RunOptions, settings: Settings) -> BenchPlan:
    """The plan of a workload that is one set of tasks. Raises as `tasks_from_files` does."""
    from redraft.bench.run import BenchPlan
    from redraft.bench.workloads import tasks_sha256

    tasks = tasks_from_files(workload, options.path or (), options.skip_missing)
    selection = options.selection(settings.seed)
    chosen = select(tasks, selection)
    return BenchPlan(
        workload=workload,
        tasks=chosen,
        sample=selection.describe(len(chosen), len(tasks)),
        set_sha256=tasks_sha256(tasks),
        repeats=options.times,
        output=options.output,
        corpus=options.corpus,
        fresh=options.fresh,
        command=command_line(),
        traces=options.traces,
    )


def plan_of_scenarios(options: ScenarioOptions, settings: Settings) -> BenchPlan:
    """The plan of the chosen cells. Raises UsageError for options that scenarios do not take and
    TasksMissing where no cell has tasks."""
    from redraft.bench.run import BenchPlan
    from redraft.bench.scenarios import choose
    from redraft.bench.workloads import tasks_sha256

    if options.path:
        raise UsageError("scenarios are cut from pinned packages; leave --path out")
    with _missing_tasks("scenarios", options.skip_missing):
        chosen = choose(options.cell or (), options.every, options.selection(settings.seed))
    for cell, reason in chosen.skipped.items():
        print(f"{cell} skipped: {reason}", file=sys.stderr)
    return BenchPlan(
        workload="scenarios",
        tasks=chosen.tasks,
        sample=chosen.sample,
        set_sha256=tasks_sha256(chosen.whole),
        repeats=options.times,
        output=options.output,
        corpus=options.corpus,
        fresh=options.fresh,
        skipped=chosen.skipped,
        command=command_line(),
        traces=options.traces,
    )


def tasks_from_files(
    workload: FromFiles, paths: Sequence[Path], skip_missing: bool
) -> tuple[BenchTask, ...]:
    """A workload's tasks.

    Raises UsageError where nobody says which file has them and TasksMissing where they cannot be
    had, or ends the command where that is no failure.
    """
    with _missing_tasks(workload, skip_missing):
        return load_tasks(workload, paths)


def command_line() -> str:
    """What was typed, without folders: a figure names it, and folders are this machine's."""
    return " ".join(["redraft", *map(_word, sys.argv[1:])])


def _word(word: str) -> str:
    flag, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    value = Path(value).name if "/" in value else value
    return f"{flag}{equals}" + (f"'{value}'" if " " in value else value)


@contextmanager
def _missing_tasks(workload: str, skip: bool) -> Iterator[None]:
    """What to do where tasks cannot be had: say so and exit with 0, or raise."""
    from redraft.bench.workloads import FileNotNamed, WorkloadMissing

    try:
        yield
    except WorkloadMissing as error:
        if skip:
            print(f"{workload} skipped: {error}", file=sys.stderr)
            raise typer.Exit(0) from None
        if isinstance(error, FileNotNamed):
            raise UsageError(str(error)) from None
        raise TasksMissing(str(error)) from None
