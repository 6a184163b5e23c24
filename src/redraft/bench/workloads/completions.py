"""Completion tasks: HumanEval-Infilling's single lines and random spans, to be filled in.

Knows the fields of that benchmark. Does not know any model's fill-in-the-middle template.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from redraft.bench.workloads.records import read_records
from redraft.errors import InputError

FIELDS = ("task_id", "prompt", "suffix", "canonical_solution")
KINDS = {"SingleLineInfilling": "single-line", "RandomSpanInfillingLight": "random-span"}
"""First part of a task's id in the benchmark, and our name for the kind."""


@dataclass(frozen=True, slots=True)
class CompletionTask:
    """A gap in a file: what stands before it, what after, and what stood there."""

    name: str
    kind: str
    """`single-line` or `random-span`."""
    prefix: str
    suffix: str
    canonical: str
    """The text taken out. Other texts may be as good; it is a reference, not a check."""

    @property
    def identity(self) -> tuple[str, ...]:
        """What makes the task what it is, for the hash of a set."""
        return (self.name, self.prefix, self.suffix)


def completion_tasks(paths: Iterable[Path]) -> tuple[CompletionTask, ...]:
    """The tasks in the benchmark's files at `paths` (`.jsonl` or `.jsonl.gz`), in their order.

    Raises WorkloadMissing without one of the files, InputError when one is damaged or holds
    other tasks than single lines and random spans.
    """
    return tuple(
        CompletionTask(
            name=record["task_id"],
            kind=_kind(record["task_id"], path),
            prefix=record["prompt"],
            suffix=record["suffix"],
            canonical=record["canonical_solution"],
        )
        for path in paths
        for record in read_records(path, FIELDS)
    )


def _kind(task_id: str, path: Path) -> str:
    family = task_id.partition("/")[0]
    if family not in KINDS:
        raise InputError(f"{path} holds {family!r}, not one of {', '.join(KINDS)}")
    return KINDS[family]
