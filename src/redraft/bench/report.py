"""Shows the JSON of benches: a table for a terminal, a Markdown table for documents.

Reads what `redraft.bench.run` and `redraft.bench.exact` wrote, and computes nothing anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from redraft.bench.peers.table import peers_lines, peers_markdown, peers_table
from redraft.bench.provenance import VERSION
from redraft.errors import InputError
from redraft.regular import read_regular

Document = Mapping[str, Any]
LARGEST_FILE = 256 << 20
"""Bytes of a document that are read at most."""
WIDTH = 120
"""Columns of a table where stdout is no terminal."""
_KEYS = ("version", "workload", "commit", "machine", "rows", "equal")


def read_document(path: Path) -> Document:
    """A bench's JSON. Raises InputError for anything else."""
    try:
        content = orjson.loads(read_regular(path, LARGEST_FILE))
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; check the path") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path} is not JSON ({error}); name a file that a bench wrote") from None
    if not isinstance(content, dict) or any(key not in content for key in _KEYS):
        raise InputError(f"{path} is not the JSON of a bench; name a file that a bench wrote")
    if content["version"] != VERSION:
        raise InputError(
            f"{path} has form {content['version']} and this redraft reads {VERSION}; run the "
            "bench again"
        )
    return content


def print_document(document: Document) -> None:
    """The whole table on stdout."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, emoji=False, width=WIDTH)
    if document["workload"] == "exact":
        console.print(_exact_table(document))
        lines = _exact_lines(document)
    elif document["workload"] == "peers":
        console.print(peers_table(document))
        lines = chain(peers_lines(document), _origin_lines(document))
    else:
        console.print(_task_table(document))
        lines = _summary_lines(document)
    for line in lines:
        console.print(line, soft_wrap=True)


def markdown(documents: Sequence[Document]) -> str:
    """One row per file, with what a published figure must name."""
    peers = [document for document in documents if document["workload"] == "peers"]
    speed = [one for one in documents if one["workload"] not in ("exact", "peers")]
    exact = [document for document in documents if document["workload"] == "exact"]
    parts = [_markdown_speed(speed)] if speed else []
    if exact:
        parts.append(_markdown_exact(exact))
    parts += [peers_markdown(one, _measured_with(one)) for one in peers]
    return "\n\n".join(parts)


def _markdown_speed(documents: Sequence[Document]) -> str:
    head = ("bench", "tasks", "speedup", "with prompt", "worst", "tokens a forward", "equal")
    lines = [_row((*head, "measured with")), _row(("---",) * (len(head) + 1))]
    for one in documents:
        sample = one["sample"]
        of = "" if sample["by"] == "all" else f" of {sample['of']}"
        cells = (
            one["workload"],
            f"{one['tasks']}{of}",
            _times(one["speedup"]),
            _times(one["speedup_total"]),
            _times(one["worst"]),
            _number(one["tokens_per_forward"]),
            _equality(one),
            _measured_with(one),
        )
        lines.append(_row(cells))
    return "\n".join(lines)


def _markdown_exact(documents: Sequence[Document]) -> str:
    head = ("drafters", "generations", "equal to plain", "proposed", "accepted", "measured with")
    lines = [_row(head), _row(("---",) * len(head))]
    for one in documents:
        for name, found in one["by_set"].items():
            cells = (
                name,
                str(found["compared"]),
                str(found["equal"]),
                f"{found['proposed']:,}",
                f"{found['accepted']:,}",
                _measured_with(one),
            )
            lines.append(_row(cells))
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _measured_with(document: Document) -> str:
    machine = document["machine"]
    where = f"{machine['processor']}, {machine['threads']} threads"
    commit, dash, dirty = document["commit"].partition("-")
    return f"`{document['command']}` at {commit[:12]}{dash}{dirty}, {document['weights']}, {where}"


def _task_table(document: Document) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    table.add_column("task", overflow="fold")
    table.add_column("kind", overflow="fold")
    for heading in ("tokens", "kept", "speedup", "total", "same num.", "a forward", "accepted"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("equal", no_wrap=True)
    table.add_column("A/A", justify="right", no_wrap=True)
    for row in document["rows"]:
        table.add_row(*_task_cells(row), style="dim" if row["excluded"] else None)
    return table


def _task_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    first = (row["name"], row["kind"], str(row["output_tokens"]), _percent(row["unchanged_share"]))
    equal = {True: "yes", False: "NO", None: "-"}[row["equal"]]
    if row["timings"] is None:
        return (*first, row["excluded"] or "-", "", "", "", "", equal, "")
    control = row["control"]
    return (
        *first,
        _times(row["speedup"]),
        _times(row["speedup_total"]),
        _times(row["over_same_numerics"]),
        _number(row["tokens_per_forward"]),
        _percent(row["accepted_of_proposed"]),
        equal,
        f"{min(control):.2f}-{max(control):.2f}" if len(control) > 1 else f"{control[0]:.2f}",
    )


def _summary_lines(one: Document) -> Iterator[str]:
    yield ""
    yield f"{one['workload']}: {one['tasks']} of {len(one['rows'])} tasks count; {_equality(one)}"
    if one["tasks"]:
        yield (
            f"speedup {_times(one['speedup'])} over the engine's fastest plain decoding "
            f"({_times(one['speedup_total'])} with the prompt), "
            f"{_times(one['speedup_over_same_numerics'])} over plain in the same numerics"
        )
        yield (
            f"worst {_times(one['worst'])} ({one['worst_task']}); against the same numerics "
            f"{_times(one['worst_over_same_numerics'])} ({one['worst_over_same_numerics_task']})"
        )
        yield (
            f"{_number(one['tokens_per_forward'])} tokens a forward, "
            f"{_percent(one['accepted_of_proposed'])} of proposed tokens accepted, "
            f"{_percent(one['time_outside_engine'], 1)} of the time outside the engine, "
            f"numerics drift {_percent(one['numerics_drift'], 2)}"
        )
        control = one["control"]
        yield (
            f"A/A control {control['lowest']:.2f}-{control['highest']:.2f} "
            f"(median {control['median']:.2f}); spread within a task {_percent(one['spread'])}"
        )
    yield from _more_lines(one)


def _more_lines(one: Document) -> Iterator[str]:
    if one["unchanged_share"] is not None:
        yield (
            f"unchanged tokens {_percent(one['unchanged_share'])} on average; "
            f"{_percent(one['unchanged_below_60_percent'])} of the tasks below 60%"
        )
    if one["workload"] == "scenarios":
        yield from _cell_lines(one)
    for name, counts in one["by_drafter"].items():
        yield f"{name}: {counts['proposed']:,} proposed, {counts['accepted']:,} accepted"
    survival = [f"{share:.2f}" for share in one["survival_by_position"][:12]]
    if survival:
        yield f"survival by position: {' '.join(survival)}"
    for loss in one["losses"]:
        yield (
            f"loss: {loss['task']} {_times(loss['speedup'])}, against the same numerics "
            f"{_times(loss['over_same_numerics'])} ({loss['output_tokens']} tokens)"
        )
    for left_out in one["excluded"]:
        yield f"not counted: {left_out['task']}: {left_out['reason']}"
    yield from _origin_lines(one)


def _cell_lines(one: Document) -> Iterator[str]:
    """What the tasks of each cell amount to, and which cells have none."""
    for cell, figures in one["by_kind"].items():
        yield (
            f"{cell}: {_times(figures['speedup'])} over {figures['tasks']} tasks, worst "
            f"{_times(figures['worst'])}, {_number(figures['tokens_per_forward'])} tokens a forward"
        )
    for cell, reason in one["skipped"].items():
        yield f"{cell} skipped: {reason}"


def _origin_lines(one: Document) -> Iterator[str]:
    machine, corpus = one["machine"], one["corpus"]
    of = "no corpus" if corpus is None else f"corpus of {corpus['tokens']:,} tokens"
    yield (
        f"{one['weights']}, policy {one['policy']}, drafters {','.join(one['drafters']) or 'none'},"
        f" {of}; {machine['processor']}, {machine['threads']} threads; commit {one['commit']}"
    )


def _exact_table(document: Document) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    table.add_column("drafters")
    for heading in ("policy", "generations", "equal", "proposed", "accepted"):
        table.add_column(heading, justify="right")
    for name, found in document["by_set"].items():
        numbers = (found["compared"], found["equal"], found["proposed"], found["accepted"])
        table.add_row(name, found["policy"], *(f"{number:,}" for number in numbers))
    return table


def _exact_lines(one: Document) -> Iterator[str]:
    yield ""
    yield f"exact: {one['generations']} generations; {_equality(one)}"
    yield f"tasks: {', '.join(f'{count} {name}' for name, count in one['by_workload'].items())}"
    for note in one["notes"]:
        yield f"note: {note}"
    yield from _origin_lines(one)


def _equality(one: Document) -> str:
    """Equality in words; the loudest word where it fails."""
    if one["equal"] is None:
        return "nothing compared"
    compared = one["compared"]
    if one["equal"]:
        return f"{compared} of {compared} outputs equal"
    unequal = len(one["unequal"])
    promised = "" if one["exact"] else ", and no equality is promised here"
    return f"{unequal} of {compared} outputs DIFFER from plain{promised}"


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _percent(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:.{digits}%}"
