"""Three scenarios in four languages, cut from pinned packages: completion, function, refactoring.

Which tasks there are follows from the packages' bytes and the seed alone. A cell is one scenario
in one language; one whose packages are not all here is left out with the reason. This module puts
cells together; it does not know sessions or clocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Literal

from redraft.bench.workloads.availability import WorkloadMissing
from redraft.bench.workloads.checks import Check
from redraft.bench.workloads.package import bench_cache
from redraft.bench.workloads.scenarios.archives import SourceFile, read_sources
from redraft.bench.workloads.scenarios.files import in_turn, order_of
from redraft.bench.workloads.scenarios.gaps import Gap, body_gaps, line_gaps
from redraft.bench.workloads.scenarios.pins import LANGUAGES, PINS, Language, SourcePin
from redraft.bench.workloads.scenarios.refactorings import Refactoring, possible_refactorings
from redraft.bench.workloads.task_set import sample

Scenario = Literal["completion", "function", "refactoring"]
SCENARIOS: tuple[Scenario, ...] = ("completion", "function", "refactoring")

PER_CELL = 24
"""Tasks of a cell, where its packages hold as many."""
PUBLISHED_PER_CELL = 4
"""Tasks of a cell in the fixed sample that published figures are from."""
SEED = 1


@dataclass(frozen=True, slots=True)
class ScenarioTask:
    """One task of one cell."""

    name: str
    scenario: Scenario
    language: Language
    file: str
    """Name of the file, without folders."""
    source: str
    """The file to change; for gaps what stands before."""
    suffix: str
    """What stands after a gap."""
    instruction: str
    """Empty for gaps."""
    reference: str = ""
    """What stood in a gap. Other texts may be as good; it is no check."""
    check: Check | None = field(default=None, compare=False, repr=False)

    @property
    def kind(self) -> str:
        """The cell."""
        return f"{self.scenario}/{self.language}"

    @property
    def identity(self) -> tuple[str, ...]:
        """What makes the task what it is, for the hash of a set."""
        return (self.name, self.instruction, self.source, self.suffix)


@dataclass(frozen=True, slots=True)
class ScenarioSet:
    """All tasks that can be had here."""

    tasks: tuple[ScenarioTask, ...]
    published: frozenset[str]
    """Names of those in the fixed sample."""
    skipped: Mapping[str, str]
    """Cell to the reason why it has no tasks."""


def scenario_set(
    cache: Path | None = None, pins: Sequence[SourcePin] = PINS, seed: int = SEED
) -> ScenarioSet:
    """The tasks from the packages in `cache` (default `bench_cache()`), cell by cell."""
    tasks: list[ScenarioTask] = []
    published: set[str] = set()
    skipped: dict[str, str] = {}
    for language in LANGUAGES:
        own = [pin for pin in pins if pin.language == language]
        try:
            cells = _cells(language, own, cache or bench_cache(), seed)
        except WorkloadMissing as error:
            skipped |= {f"{scenario}/{language}": str(error) for scenario in SCENARIOS}
            continue
        for cell in cells:
            tasks += cell
            if cell:
                published |= {task.name for task in sample(cell, PUBLISHED_PER_CELL, seed)}
    return ScenarioSet(tuple(tasks), frozenset(published), skipped)


def _cells(
    language: Language, pins: Sequence[SourcePin], cache: Path, seed: int
) -> list[list[ScenarioTask]]:
    found = [file for pin in pins for file in read_sources(pin, cache)]
    files = in_turn(found, seed)
    return [
        _gaps("completion", files, seed, lambda file: line_gaps(file, seed)),
        _gaps("function", files, seed, body_gaps),
        _refactorings(files, seed),
    ]


def _gaps(
    scenario: Scenario,
    files: Sequence[SourceFile],
    seed: int,
    cut: Callable[[SourceFile], Iterable[Gap]],
) -> list[ScenarioTask]:
    """One gap a file, then a second of each, until the cell is full."""

    def taking_turns() -> Iterator[ScenarioTask]:
        left: list[tuple[SourceFile, list[Gap]]] = []
        for file in files:
            gaps = sorted(cut(file), key=lambda gap: order_of(seed, file.path, gap.where))
            if gaps:
                yield _gap_task(scenario, file, gaps[0])
                left.append((file, gaps[1:]))
        for turn in count():
            again = [(file, gaps[turn]) for file, gaps in left if turn < len(gaps)]
            yield from (_gap_task(scenario, file, gap) for file, gap in again)
            if not again:
                return

    return list(islice(taking_turns(), PER_CELL))


def _refactorings(files: Sequence[SourceFile], seed: int) -> list[ScenarioTask]:
    """One refactoring a file, of the kind that the cell has fewest of."""
    tasks: list[ScenarioTask] = []
    counts: dict[str, int] = {}
    for file in files:
        possible = possible_refactorings(file, seed)
        if not possible:
            continue
        kind = min(possible, key=lambda one: (counts.get(one, 0), order_of(seed, file.path, one)))
        counts[kind] = counts.get(kind, 0) + 1
        tasks.append(_refactoring_task(file, possible[kind]))
        if len(tasks) == PER_CELL:
            break
    return tasks


def _gap_task(scenario: Scenario, file: SourceFile, gap: Gap) -> ScenarioTask:
    return ScenarioTask(
        name=f"{scenario}/{file.language}/{file.package}/{file.path}:{gap.where}",
        scenario=scenario,
        language=file.language,
        file=file.path.rpartition("/")[2],
        source=gap.prefix,
        suffix=gap.suffix,
        instruction="",
        reference=gap.reference,
    )


def _refactoring_task(file: SourceFile, one: Refactoring) -> ScenarioTask:
    return ScenarioTask(
        name=f"refactoring/{file.language}/{file.package}/{file.path}:{one.kind}",
        scenario="refactoring",
        language=file.language,
        file=file.path.rpartition("/")[2],
        source=one.source,
        suffix="",
        instruction=one.instruction,
        check=one.check,
    )
