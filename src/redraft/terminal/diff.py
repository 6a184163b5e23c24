"""The difference of two texts as a unified diff: plain for pipes, coloured for eyes.

It does not know files.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

_NO_NEWLINE = "\\ No newline at end of file\n"
_STYLES = {"+": "green", "-": "red", "@": "cyan", "\\": "dim"}


def unified_diff(before: str, after: str, name: str) -> str:
    """What `patch` and `git apply` take; empty when the texts are equal."""
    lines = difflib.unified_diff(
        list(_lines(before)), list(_lines(after)), _label(name), _label(name)
    )
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in lines)


def coloured(diff: str) -> Text:
    """The diff as rich's text."""
    from rich.text import Text

    from redraft.terminal.screen import visible

    text = Text()
    for line in _lines(diff):
        is_label = line.startswith(("--- ", "+++ "))
        style = "bold" if is_label else _STYLES.get(line[:1], "")
        text.append(visible(line.replace("\r\n", "\n")), style)
    return text


def _lines(text: str) -> Iterator[str]:
    """Lines with their `\\n`; unlike str.splitlines, form feeds and the like end none."""
    parts = text.split("\n")
    yield from (part + "\n" for part in parts[:-1])
    if parts[-1]:
        yield parts[-1]


def _label(name: str) -> str:
    """A file name that cannot break the diff's header."""
    return name if name.isprintable() else ascii(name)
