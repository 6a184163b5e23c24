"""Shows a replay: a table with a line per policy, then what stands beside it. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

WIDTH = 120
"""Columns of a table where stdout is no terminal."""
_POSITIONS = 8


def print_replay(document: Mapping[str, Any]) -> None:
    """The whole report on stdout."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, emoji=False, width=WIDTH)
    console.print(_table(document))
    for line in _lines(document):
        console.print(line, soft_wrap=True)


def _table(document: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    table.add_column("policy", no_wrap=True)
    for heading in ("speedup", "a forward", "accepted", "drafting", "worst"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("worst task", overflow="fold")
    table.add_column("survival by position", no_wrap=True)
    for way in document["ways"]:
        accepted = way["accepted_of_proposed"]
        survival = way["survival_by_position"][:_POSITIONS]
        table.add_row(
            way["policy"],
            f"{way['speedup']:.2f}x",
            f"{way['tokens_per_forward']:.2f}",
            "-" if accepted is None else f"{accepted:.0%}",
            f"{way['time_outside_engine']:.1%}",
            f"{way['worst']:.2f}x",
            way["worst_task"],
            " ".join(f"{share:.2f}" for share in survival),
        )
    return table


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    kinds = sorted({kind for way in document["ways"] for kind in way["by_kind"]})
    for way in document["ways"]:
        parts = (
            f"{kind} {way['by_kind'][kind]['speedup']:.2f}x"
            f" ({way['by_kind'][kind]['tokens_per_forward']:.1f} a forward)"
            for kind in kinds
        )
        yield f"{way['policy']}: {', '.join(parts)}"
    tasks, tokens = document["ways"][0]["tasks"], document["ways"][0]["output_tokens"]
    believed = document["believed"]
    yield (
        f"simulated: {tasks} tasks, {tokens:,} tokens; a forward costs what the curve "
        f"{document['curve']} says ({document['curve_source']})"
        + (f"; policies were told {believed}" if believed else "")
    )
    real = document["real"]
    if real is not None:
        yield (
            f"real: {real['policy']} measured {real['speedup']:.2f}x over {real['tasks']} tasks, "
            f"simulated {real['simulated']:.2f}x ({real['difference']:+.1%})"
        )
