"""`redraft config`: the effective settings, where each comes from and what it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from redraft.terminal.screen import data_console, visible, write_json

if TYPE_CHECKING:
    from rich.table import Table

    from redraft.config import Settings


def show_config(settings: Settings, as_json: bool) -> None:
    """Print the settings as a table, or as JSON: name → value, origin, help."""
    from redraft.config import explain

    items = [asdict(item) for item in explain(settings)]
    if as_json:
        write_json({str(item.pop("name")): item for item in items})
    else:
        data_console().print(settings_table(items))


def settings_table(items: Sequence[Mapping[str, object]]) -> Table:
    """Rows of name, value, origin and meaning; what is no default stands out."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for heading in ("setting", "value", "from", "meaning"):
        table.add_column(heading, overflow="fold")
    for item in items:
        style = "" if item["origin"] == "default" else "bold"
        row = (item["name"], _shown(item["value"]), item["origin"], item["help"])
        table.add_row(*(visible(str(cell)) for cell in row), style=style)
    return table


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, list)):
        return ",".join(map(str, value)) or "–"
    return "–" if value is None else str(value)
