"""`redraft explain-run`: a recorded run step by step, and what each drafter brought."""

from __future__ import annotations

import sys
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
SIGNS = {ACCEPTED: "+", REJECTED: "-", UNREACHED: "~", OWN: "="}
"""What stands before a run of tokens where there is no colour to tell them by."""


def explain_run(run: str | None, directory: Path, as_json: bool) -> None:
    """Show a run by its id, a beginning of it or a path; None: the latest. Raises InputError."""
    record = runs.read(run or runs.latest(directory), directory)
    if as_json:
        write_json(asdict(record))
        return
    console = data_console()
    signs = console.color_system is None or console.no_color
    console.print(_heading(record))
    console.print(_steps_table(record, signs))
    if any(_drafts(step) for step in record.steps):
        console.print(_drafter_table(record))
    console.print(_legend(signs))


def list_runs(directory: Path) -> None:
    """One line per record, the newest first, below a header for who looks at it; for a damaged
    one it says so."""
    console = data_console()
    names = runs.list_runs(directory)
    if names and sys.stdout.isatty():
        console.print(f"{'run':{len(names[-1])}}  {'kind':8}  {'ended':11}  title")
    for name in reversed(names):
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


def _steps_table(record: RunRecord, signs: bool) -> Table:
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
            _tokens(step, signs),
        )
    return table


def _tokens(step: RecordedStep, signs: bool) -> Text:
    """Accepted drafts, what was rejected, and the target's own token, side by side; with `signs`
    each kind after its sign, since white space inside tokens is never shown as a space."""
    from rich.text import Text

    parts = [Text("".join(map(_shown, pieces)), style) for style, pieces in _runs_of_a_kind(step)]
    if signs:
        return Text(" ").join(Text(SIGNS[str(part.style)]) + part for part in parts)
    return Text.assemble(*parts)


def _runs_of_a_kind(step: RecordedStep) -> Iterator[tuple[str, list[bytes]]]:
    """(style, pieces) of what was accepted, rejected, not reached, and the target's own."""
    pieces = [choice.piece for choice in step.choices]
    rest = [draft.piece for draft in step.drafts[step.accepted :] if draft.drafter != FILLER]
    kinds = (
        (ACCEPTED, pieces[: step.accepted]),
        (REJECTED, rest[:1]),
        (UNREACHED, rest[1:]),
        (OWN, pieces[step.accepted :]),
    )
    return ((style, found) for style, found in kinds if found)


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


def _legend(signs: bool) -> Text:
    from rich.text import Text

    names = {
        ACCEPTED: "accepted",
        REJECTED: "rejected",
        UNREACHED: "behind a rejected one",
        OWN: "the target's own",
    }
    shown = [Text(signs * SIGNS[style] + name, style) for style, name in names.items()]
    return Text("\n") + Text("  ").join(shown)
