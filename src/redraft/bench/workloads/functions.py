"""Function tasks: HumanEval's signatures and docstrings, to be written out by a chat model.

Knows HumanEval's fields. Does not run solutions, and keeps neither tests nor reference solutions.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from redraft.bench.workloads.records import read_records

FIELDS = ("task_id", "prompt", "entry_point", "canonical_solution")
LONGEST = (("short", 3), ("medium", 8))
"""Strata by non-blank lines of the reference solution: about a third of HumanEval each."""


@dataclass(frozen=True, slots=True)
class FunctionTask:
    """One function to write."""

    name: str
    kind: str
    """`short`, `medium` or `long`, by the reference solution."""
    prompt: str
    """Imports, signature and docstring, as HumanEval has them."""
    entry_point: str

    @property
    def instruction(self) -> str:
        """What a chat model is asked, besides the prompt."""
        return f"Complete the function `{self.entry_point}`. Repeat the given code."

    @property
    def identity(self) -> tuple[str, ...]:
        """What makes the task what it is, for the hash of a set."""
        return (self.name, self.instruction, self.prompt)


def function_tasks(path: Path) -> tuple[FunctionTask, ...]:
    """The tasks in HumanEval's file at `path` (`.jsonl` or `.jsonl.gz`), in its order.

    Raises WorkloadMissing without the file, InputError when it is damaged.
    """
    return tuple(
        FunctionTask(
            name=record["task_id"],
            kind=_length(record["canonical_solution"]),
            prompt=record["prompt"],
            entry_point=record["entry_point"],
        )
        for record in read_records(path, FIELDS)
    )


def _length(solution: str) -> str:
    lines = sum(bool(line.strip()) for line in solution.splitlines())
    return next((kind for kind, most in LONGEST if lines <= most), "long")
