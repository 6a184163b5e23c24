"""The generations of the exactness bench: tasks of every workload, each greedy and seeded.

Where the data of a workload are not here, built-in tasks stand in and more edits are taken. It
does not know drafters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from redraft.bench import workloads
from redraft.bench.builtin import builtin_completions, builtin_edits, builtin_functions
from redraft.bench.tasks import BenchTask, FromFiles, load_tasks

TASKS = 30
"""Tasks of the full set; each is answered greedily and seeded, so it has 60 generations."""
TEMPERATURE = 0.8
SEED = 1

_BUILT_IN: dict[FromFiles, Callable[[], tuple[BenchTask, ...]]] = {
    "edits": builtin_edits,
    "functions": builtin_functions,
    "completions": builtin_completions,
}


@dataclass(frozen=True, slots=True)
class Generation:
    """One task answered in one way; a `Task` to the sampler."""

    workload: FromFiles
    task: BenchTask
    temperature: float
    seed: int

    @property
    def name(self) -> str:
        """The task's name and the way."""
        way = f"seeded {self.temperature}" if self.temperature else "greedy"
        return f"{self.task.name} {way}"

    @property
    def kind(self) -> str:
        """Workload and way, so that a sample has some of each."""
        return f"{self.workload} {'seeded' if self.temperature else 'greedy'}"

    @property
    def identity(self) -> tuple[str, ...]:
        """See `redraft.bench.workloads.Task`."""
        return (self.name, str(self.seed), *self.task.identity)


@dataclass(frozen=True, slots=True)
class Gathered:
    """The full set, and what a reader must know of it."""

    generations: tuple[Generation, ...]
    notes: tuple[str, ...]


def gather(functions: Path | None, completions: Sequence[Path]) -> Gathered:
    """The set from these files; built-in tasks where one is None or missing.

    Raises InputError for a file that is there and damaged.
    """
    notes: list[str] = []
    third = TASKS // 3
    found: list[tuple[FromFiles, tuple[BenchTask, ...]]] = [
        ("functions", _tasks("functions", [functions] if functions else [], third, notes)),
        ("completions", _tasks("completions", completions, third, notes)),
    ]
    missing = TASKS - sum(len(tasks) for _, tasks in found)
    found.insert(0, ("edits", _tasks("edits", (), missing, notes)))
    generations = tuple(
        Generation(workload, task, temperature, SEED)
        for workload, tasks in found
        for task in tasks
        for temperature in (0.0, TEMPERATURE)
    )
    if len(generations) < 2 * TASKS:
        notes.append(f"{len(generations)} generations instead of {2 * TASKS}")
    return Gathered(generations, tuple(notes))


def _tasks(
    workload: FromFiles, paths: Sequence[Path], count: int, notes: list[str]
) -> tuple[BenchTask, ...]:
    try:
        tasks = load_tasks(workload, paths)
    except workloads.WorkloadMissing as error:
        tasks = _BUILT_IN[workload]()
        notes.append(f"{error}; {min(count, len(tasks))} built-in {workload} instead")
    return workloads.sample(tasks, count, SEED)
