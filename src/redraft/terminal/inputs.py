"""What a command line names as input: files, standard input, places in files."""

from __future__ import annotations

import os
import select
import sys
from dataclasses import dataclass
from pathlib import Path

from redraft import files
from redraft.errors import InputError, UsageError
from redraft.files import SourceFile

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a file: between two characters."""

    name: str
    line: int
    """From 1."""
    column: int
    """From 1, in characters; 1 is before the first."""


def read_input(name: str) -> SourceFile:
    """The file called `name`, or standard input for `-`. Raises InputError."""
    if name == STDIN:
        return files.parse(_read_stdin())
    if "\0" in name or not name:
        raise InputError(f"{name!a} is no file name; check the path")
    return files.read(Path(name))


def _read_stdin() -> bytes:
    data = bytearray()
    try:
        while len(data) <= files.LARGEST_FILE and (piece := _next_piece(sys.stdin.fileno())):
            data += piece
    except (OSError, AttributeError) as error:  # closed (None), or a folder
        reason = getattr(error, "strerror", None) or "it is closed"
        raise InputError(f"standard input cannot be read: {reason}") from None
    if len(data) > files.LARGEST_FILE:
        raise InputError(
            f"standard input is longer than {files.LARGEST_FILE:,} bytes; give a smaller file"
        )
    return bytes(data)


def _next_piece(descriptor: int) -> bytes:
    """What can be read now, or is there first; nothing at the end.

    Waits in short turns: a Ctrl-C just before a call that blocks is only seen when that call ends,
    and a read may never end.
    """
    while not select.select([descriptor], [], [], 0.2)[0]:
        pass
    return os.read(descriptor, 1 << 16)


def parse_place(text: str) -> Place:
    """`FILE:LINE:COL`, or `:LINE:COL` for standard input. Raises UsageError for anything else."""
    front, _, column = text.rpartition(":")
    name, colon, line = front.rpartition(":")
    if not colon or not _counts(line) or not _counts(column):
        raise UsageError(
            f"{text!r} names no place; give FILE:LINE:COL, both from 1, such as app.py:12:5"
        )
    return Place(name or STDIN, int(line), int(column))


def _counts(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10 and int(text) > 0


def split_at(text: str, place: Place) -> tuple[str, str]:
    """What stands before and after the place. Raises UsageError when there is no such place."""
    lines = text.split("\n")
    if place.line > len(lines):
        raise UsageError(f"{place.name} has {len(lines)} lines, so there is no line {place.line}")
    length = len(lines[place.line - 1])
    if place.column > length + 1:
        raise UsageError(
            f"line {place.line} of {place.name} has {length} characters, so columns go from 1 to "
            f"{length + 1}; {place.column} is none of them"
        )
    offset = sum(len(line) + 1 for line in lines[: place.line - 1]) + place.column - 1
    return text[:offset], text[offset:]
