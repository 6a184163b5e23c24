"""Tasks of every workload in one form: what a session is asked, and how the answer is judged.

Knows the workloads and the requests; does not know weights, clocks or files of results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal, TypeAlias

from redraft.bench import workloads
from redraft.bench.workloads.checks import Check
from redraft.errors import UsageError
from redraft.session import CompleteRequest, EditRequest, GenerateRequest, Run, Session

if TYPE_CHECKING:
    from redraft.bench.workloads.scenarios import ScenarioTask

Workload = Literal["edits", "functions", "completions", "scenarios"]
FromFiles = Literal["edits", "functions", "completions"]
"""Workloads of one set; scenarios are a set of cells, each of which may be missing."""
Request: TypeAlias = EditRequest | GenerateRequest | CompleteRequest

FUNCTION_TOKENS = 512
COMPLETION_TOKENS = 128
"""Most tokens of an output, unless the user says; a whole file gets what the session gives it."""


@dataclass(frozen=True, slots=True)
class BenchTask:
    """One task, ready to be asked."""

    name: str
    kind: str
    identity: tuple[str, ...]
    """See `redraft.bench.workloads.Task`."""
    request: Request
    max_tokens: int = 0
    """Most tokens of the output; 0: what the session gives."""
    check: Check | None = field(default=None, compare=False, repr=False)
    """None when the answer is good, else one line that says why not."""


def ask(session: Session, request: Request) -> Run:
    """The run that answers a request."""
    if isinstance(request, EditRequest):
        return session.edit(request)
    if isinstance(request, GenerateRequest):
        return session.generate(request)
    return session.complete(request)


def load_tasks(workload: FromFiles, paths: Sequence[Path]) -> tuple[BenchTask, ...]:
    """All tasks of a workload, in its own order.

    Raises WorkloadMissing when its data cannot be had here, FileNotNamed when it is the caller who
    has to say where they are, InputError when they are damaged, and
    UsageError for files that the workload does not take.
    """
    if workload == "edits":
        if paths:
            raise UsageError("edits are cut from a pinned package; leave --path out")
        sources = workloads.package_sources(workloads.EDIT_PACKAGE)
        return tuple(map(_edit, workloads.edit_tasks(sources)))
    if not paths:
        file = "HumanEval.jsonl.gz" if workload == "functions" else "HumanEval-…Infilling.jsonl.gz"
        raise workloads.FileNotNamed(f"{workload} come from a file; name {file} by --path")
    if workload == "completions":
        return tuple(map(_completion, workloads.completion_tasks(paths)))
    if len(paths) > 1:
        raise UsageError("functions come from one file; give --path once")
    return tuple(map(_function, workloads.function_tasks(paths[0])))


def _edit(task: workloads.EditTask) -> BenchTask:
    name = PurePosixPath(task.path_in_package).name
    request = EditRequest(task.source, task.instruction, name, "python")
    return BenchTask(task.name, task.kind, task.identity, request, check=task.check)


def _function(task: workloads.FunctionTask) -> BenchTask:
    # the session puts the source in a fence itself, so the one in the task's own wording is left
    # out; a model that sees the code twice has an easier time, and so have drafters
    wording = task.instruction
    request = GenerateRequest(wording, "python", task.prompt.strip() + "\n")
    return BenchTask(task.name, task.kind, task.identity, request, FUNCTION_TOKENS)


def _completion(task: workloads.CompletionTask) -> BenchTask:
    single_line = task.kind == "single-line"
    request = CompleteRequest(task.prefix, task.suffix, "python", single_line)
    return BenchTask(task.name, task.kind, task.identity, request, COMPLETION_TOKENS)


def scenario_task(task: ScenarioTask) -> BenchTask:
    """A scenario's task in the bench's form; its kind is its cell."""
    request: Request
    if task.scenario == "refactoring":
        request = EditRequest(task.source, task.instruction, task.file, task.language)
        return BenchTask(task.name, task.kind, task.identity, request, check=task.check)
    single_line = task.scenario == "completion"
    room = COMPLETION_TOKENS if single_line else FUNCTION_TOKENS
    request = CompleteRequest(task.source, task.suffix, task.language, single_line)
    return BenchTask(task.name, task.kind, task.identity, request, room)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which tasks of a set are run."""

    first: int | None = None
    """So many from the beginning, or all."""
    sampled: int | None = None
    """So many, stratified by kind and fixed by `seed`, or all."""
    seed: int = 0

    def describe(self, count: int, of: int) -> dict[str, object]:
        """For the record: how many of how many tasks, and how they were chosen."""
        by = "sample" if self.sampled else "first" if self.first else "all"
        return {"tasks": count, "of": of, "by": by, "seed": self.seed if self.sampled else None}


def select(tasks: Sequence[BenchTask], selection: Selection) -> tuple[BenchTask, ...]:
    """The tasks to run, in the set's order. Raises UsageError for two ways of choosing at once."""
    if selection.first and selection.sampled:
        raise UsageError("--limit and --sample are two ways of choosing; give one of them")
    if selection.sampled:
        return workloads.sample(tasks, selection.sampled, selection.seed)
    return tuple(tasks[: selection.first])
