"""`redraft bench scenarios`: which cells are run, and fetching what they are cut from.

It does not know how tasks are cut or timed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from redraft.bench.tasks import BenchTask, Selection, scenario_task, select
from redraft.bench.watch import Watch
from redraft.bench.workloads import WorkloadMissing
from redraft.bench.workloads.package import bench_cache
from redraft.bench.workloads.scenarios import SCENARIOS, ScenarioSet, scenario_set
from redraft.bench.workloads.scenarios.fetching import Runner, fetch, run_client
from redraft.bench.workloads.scenarios.pins import LANGUAGES, PINS, SourcePin
from redraft.errors import UsageError

CELLS = tuple(f"{scenario}/{language}" for scenario in SCENARIOS for language in LANGUAGES)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Tasks to run, and what the record says about them."""

    tasks: tuple[BenchTask, ...]
    whole: tuple[BenchTask, ...]
    """The set they were chosen from."""
    sample: dict[str, object]
    skipped: dict[str, str]


def choose(cells: Collection[str], every: bool, selection: Selection) -> Chosen:
    """Tasks of these cells (all without any): the fixed sample, or `every`, or as selected.

    Raises WorkloadMissing when no cell has tasks, UsageError for an unknown cell.
    """
    wanted = _known(cells)
    found = scenario_set()
    whole = tuple(scenario_task(task) for task in found.tasks if task.kind in wanted)
    skipped = {cell: why for cell, why in found.skipped.items() if cell in wanted}
    if not whole:
        raise WorkloadMissing(next(iter(skipped.values()), "no cell has tasks"))
    chosen = whole
    if not (every or selection.sampled or selection.first):
        chosen = tuple(task for task in whole if task.name in found.published)
    tasks = select(chosen, selection)
    sample = selection.describe(len(tasks), len(whole))
    if chosen is not whole:
        sample |= {"by": "published"}
    return Chosen(tasks, whole, sample, skipped)


def _known(cells: Collection[str]) -> Collection[str]:
    """The cells that are meant; a scenario or a language alone means all of its cells."""
    wanted = [cell for cell in CELLS if {cell, *cell.split("/")}.intersection(cells)]
    names = {*CELLS, *SCENARIOS, *LANGUAGES}
    unknown = [cell for cell in cells if cell not in names]
    if unknown:
        raise UsageError(
            f"there is no cell {unknown[0]}; name scenario/language, of {', '.join(SCENARIOS)} "
            f"and {', '.join(LANGUAGES)}, or one of these alone"
        )
    return wanted if cells else CELLS


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came of fetching."""

    problems: dict[str, str]
    """Archive to the reason why it cannot be had."""
    counts: dict[str, int]
    """Cell to its tasks."""
    skipped: dict[str, str]


def fetch_all(watch: Watch, pins: Sequence[SourcePin] = PINS, run: Runner = run_client) -> Fetched:
    """Fetch every package that is not here yet, and cut the tasks to count them.

    A package that cannot be had does not stop the others.
    """
    problems: dict[str, str] = {}
    cache = bench_cache()
    watch.begin(len(pins), 0)
    for pin in pins:
        watch.task(pin.archive)
        try:
            came = fetch(pin, cache, run)
            watch.finished(f"{pin.archive}: {'fetched and verified' if came else 'was here'}")
        except WorkloadMissing as error:
            problems[pin.archive] = str(error)
            watch.finished(f"{pin.archive}: {error}")
        watch.unit()
    watch.stage("cutting tasks")
    found = scenario_set(cache, pins)
    return Fetched(problems, _counts(found), dict(found.skipped))


def _counts(found: ScenarioSet) -> dict[str, int]:
    counts = Counter(task.kind for task in found.tasks)
    return {cell: counts[cell] for cell in CELLS}


Print = Callable[[str], None]


def print_fetched(fetched: Fetched, say: Print) -> None:
    """A line per cell."""
    for cell, count in fetched.counts.items():
        reason = fetched.skipped.get(cell)
        say(f"{cell:24} " + (f"skipped: {reason}" if reason else f"{count:3} tasks"))
    say(f"{sum(fetched.counts.values())} tasks")
