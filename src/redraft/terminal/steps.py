"""`redraft explain-run`: a recorded run step by step, and what each drafter brought."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from redraft import runs
from redraft.decode import FILLER
from redraft.errors import InputError
from redraft.runs import RecordedStep, RunRecord
from redraft.terminal.screen import data_console, visible, write_json

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table
    from rich.text import Text

ACCEPTED, REJECTED, UNREACHED, OWN = "green", "red strike", "dim strike", "bold"


def explain_run(run: str | None, directory: Path, as_json: bool) -> None:
    """Show a run by its id, a beginning of it or a path; None: the latest. Raises InputError."""
    record = runs.read(run or runs.latest(directory), directory)
    if as_json:
        write_json(asdict(record))
        return
    console = data_console()
    console.print(_heading(record))
    console.print(_steps_table(record))
    if any(_drafts(step) for step in record.steps):
        console.print(_drafter_table(record))
    console.print(_legend())


def list_runs(directory: Path) -> None:
    """One line per record, the newest last; for a damaged one it says so."""
    console = data_console()
    for name in runs.list_runs(directory):
        try:
            record = runs.read(name, directory)
        except InputError as error:
            console.print(visible(f"{name}  {error}"))
            continue
        ended = record.outcome.finish_reason if record.outcome else "interrupted"
        title = record.header.title.replace("\n", " ")
        console.print(f"{name}  {record.header.kind:8}  {ended:11}  {visible(title)[:80]}")


def _heading(record: RunRecord) -> Text:
    from rich.text import Text

    header, outcome = record.header, record.outcome
    text = Text()
    text.append(f"run {record.id}", "bold")
    text.append(f"  {record.time}\n{header.kind}: {visible(header.title)}\n")
    text.append(f"{header.model} on {header.engine}, {header.prompt_tokens} prompt tokens\n")
    settings = ", ".join(f"{name}={_value(value)}" for name, value in header.settings.items())
    text.append(f"{settings}\n", "dim")
    if outcome is None:
        text.append("interrupted: no outcome was recorded\n", "yellow")
    else:
        exact = "exact" if outcome.exact else "not exact"
        text.append(f"ended by {outcome.finish_reason}; {exact}: {outcome.exact_because}\n")
    return text


def _value(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _steps_table(record: RunRecord) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for heading in ("step", "from", "rows", "ms"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("drafter", no_wrap=True)
    table.add_column("accepted, rejected, the target's own", overflow="fold")
    for step in record.steps:
        seconds = step.propose_seconds + step.evaluate_seconds + step.verify_seconds
        names = dict.fromkeys(draft.drafter for draft in step.drafts if draft.drafter != FILLER)
        table.add_row(
            str(step.index),
            str(step.start),
            str(step.rows),
            f"{1000 * seconds:.0f}",
            "+".join(names),
            _tokens(step),
        )
    return table


def _tokens(step: RecordedStep) -> Text:
    """Accepted drafts, what was rejected, and the target's own token, side by side."""
    from rich.text import Text

    text = Text()
    for position, choice in enumerate(step.choices):
        accepted = position < step.accepted
        if not accepted:
            _add_rejected(text, step)
        text.append(_shown(choice.piece), ACCEPTED if accepted else OWN)
    return text


def _add_rejected(text: Text, step: RecordedStep) -> None:
    for number, draft in enumerate(step.drafts[step.accepted :]):
        if draft.drafter != FILLER:
            text.append(_shown(draft.piece), UNREACHED if number else REJECTED)


def _shown(piece: bytes) -> str:
    """A token's text with its white space visible."""
    text = piece.decode("utf-8", "replace").replace("\n", "⏎").replace("\t", "⇥")
    return visible(text).replace(" ", "·") or "∅"


def _drafts(step: RecordedStep) -> Iterator[tuple[str, bool, float]]:
    """(drafter, accepted, expected survival) of each proposed token."""
    for position, draft in enumerate(step.drafts):
        if draft.drafter != FILLER:
            yield draft.drafter, position < step.accepted, draft.survival


def _drafter_table(record: RunRecord) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1), title_justify="left")
    table.add_column("drafter")
    for heading in ("proposed", "accepted", "share", "expected of first token"):
        table.add_column(heading, justify="right")
    counts: dict[str, list[float]] = {}
    for step in record.steps:
        for position, (name, accepted, survival) in enumerate(_drafts(step)):
            count = counts.setdefault(name, [0, 0, 0, 0.0])
            count[0] += 1
            count[1] += accepted
            count[2] += position == 0
            count[3] += survival if position == 0 else 0.0
    for name, (proposed, taken, firsts, expected) in counts.items():
        mean = f"{expected / firsts:.0%}" if firsts else "–"
        table.add_row(name, f"{proposed:.0f}", f"{taken:.0f}", f"{taken / proposed:.0%}", mean)
    return table


def _legend() -> Text:
    from rich.text import Text

    return Text.assemble(
        "\n",
        ("accepted", ACCEPTED),
        "  ",
        ("rejected", REJECTED),
        "  ",
        ("behind a rejected one", UNREACHED),
        "  ",
        ("the target's own", OWN),
    )
