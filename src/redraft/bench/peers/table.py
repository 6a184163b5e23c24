"""Shows the JSON of a comparison with peers; computes nothing anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

Document = Mapping[str, Any]


def peers_table(document: Document) -> Table:
    """A row per mode, and each peer's best mode in hindsight."""
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    table.add_column("engine and mode", overflow="fold")
    headings = ("tasks", "tokens/s", "a forward", "own plain", "redraft is", "worst", "equal")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    ours = (_number(document["tokens_per_second"]), _number(document["tokens_per_forward"]))
    table.add_row("redraft", str(document["tasks"]), *ours, "", "", "", "")
    for name, figures in document["by_peer"].items():
        table.add_row(name, *_cells(figures))
    for peer, figures in document["best_in_hindsight"].items():
        table.add_row(f"{peer}, best of all per task", *_cells(figures))
    return table


def _cells(figures: Mapping[str, Any]) -> tuple[str, ...]:
    share = figures.get("equal_tokens_share")
    return (
        str(figures["tasks"]),
        _number(figures["tokens_per_second"]),
        _number(figures.get("tokens_per_forward")),
        _times(figures.get("over_own_plain")),
        _times(figures["redraft_over_it"]),
        _times(figures["worst"]),
        "-" if share is None else f"{share:.0%}",
    )


def peers_lines(document: Document) -> Iterator[str]:
    """What the table has no room for."""
    yield ""
    yield (
        f"{document['tasks_of']}: {document['tasks']} of {len(document['rows'])} tasks count; "
        "'redraft is' says how much faster redraft is, 'equal' which share of its tokens the peer "
        "gave too before the first difference (numerics differ)"
    )
    for name, figures in document["by_peer"].items():
        for task, problem in figures["problems"].items():
            yield f"failed: {name} on {task}: {problem}"
    for name, reason in document["skipped"].items():
        yield f"skipped: {name}: {reason}"
    for left_out in document["excluded"]:
        yield f"not counted: {left_out['task']}: {left_out['reason']}"


def peers_markdown(document: Document, measured_with: str) -> str:
    """A table for documents."""
    first = ("engine and mode", "tasks", "tokens/s", "tokens a forward", "over its own plain")
    head = (*first, "redraft is", "redraft's worst", "tokens equal")
    lines = [_row(head), _row(("---",) * len(head))]
    lines.append(
        _row(
            (
                "redraft",
                str(document["tasks"]),
                _number(document["tokens_per_second"]),
                _number(document["tokens_per_forward"]),
                *("",) * 4,
            )
        )
    )
    lines += [_row((name, *_cells(found))) for name, found in document["by_peer"].items()]
    for peer, found in document["best_in_hindsight"].items():
        lines.append(_row((f"{peer}, best of all per task", *_cells(found))))
    return "\n".join([*lines, "", f"{document['tasks_of']}; {measured_with}"])


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
