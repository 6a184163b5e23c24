"""Writing to the terminal: data on stdout, talk on stderr, nothing that a file could inject.

It does not know what is written.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {
    0x7F: 0x2421,  # the sign for delete
    **dict.fromkeys(range(128, 160), 65533),
}


NARROWEST = 20
"""Columns; a table loses its content in fewer."""
UNWRAPPED = 100_000
"""Columns where nobody looks: a program that reads lines wants each whole."""


def visible(text: str) -> str:
    """`text` with control characters as signs, so that a file cannot command the terminal."""
    return text.translate(_CONTROLS)


def data_console() -> Console:
    """Rich's console on stdout; colour only on a terminal and without NO_COLOR. Tables fit a
    terminal, or the COLUMNS that are asked for; into a pipe or file they are not wrapped."""
    from rich.console import Console

    console = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
    fits = sys.stdout.isatty() or "COLUMNS" in os.environ
    console.width = max(NARROWEST, console.width) if fits else UNWRAPPED
    return console


@cache
def _talk_console(_stream: object) -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def talk_console() -> Console:
    """Rich's console on stderr; one for each stream, since a live display needs to own it."""
    return _talk_console(sys.stderr)


def write_data(text: str) -> None:
    """Text to stdout: as it is into a pipe or file, with control characters made visible on a
    terminal."""
    if sys.stdout.isatty():
        text = visible(text)
    data = text.encode("utf-8", "surrogateescape")
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def say(text: str) -> None:
    """One line of talk to stderr, whatever a file's name in it contains; in one piece, as Ctrl-C
    between a text and its line end would have the next line join it."""
    sys.stderr.write(visible(text).replace("\n", "\u240a") + "\n")


def ignore_useless_width() -> None:
    """Forget a width in COLUMNS in which nothing can be shown, or which is none."""
    columns = os.environ.get("COLUMNS")
    if columns is not None:
        is_width = columns.isascii() and columns.isdecimal() and len(columns) < 5
        if not is_width or int(columns) < NARROWEST:
            del os.environ["COLUMNS"]


def shortened(name: str, length: int = 32) -> str:
    """The end of a path, which tells most, where all of it would fill a line."""
    return name if len(name) <= length else "…" + name[1 - length :]


def as_text(name: str) -> str:
    """A file name that JSON can hold: bytes that are not UTF-8 become replacement characters."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def write_json(value: object) -> None:
    """One JSON object on one line to stdout."""
    import orjson

    options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
    sys.stdout.flush()
    sys.stdout.buffer.write(orjson.dumps(value, _jsonable, options))
    sys.stdout.buffer.flush()


def _jsonable(value: object) -> object:
    """Paths and bytes as text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return as_text(str(value))
