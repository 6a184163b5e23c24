"""What is open after some leaves: frames of constructs, and the statement that has begun.

States are values: each leaf makes a new one, so one can go back to any of them. This module does
not know how leaves change them.
"""

from __future__ import annotations

from typing import NamedTuple

from redraft.syntax.values import Kind

TEST, ERROR, DATA, DECLARATION, IMPORT, BOILERPLATE, DOCUMENTATION = (1 << bit for bit in range(7))
"""What the code in a frame or statement is for; each names a region."""

BRACKETS: frozenset[Kind] = frozenset({"parentheses", "arguments", "index", "list", "braces"})
DEFINITIONS: frozenset[Kind] = frozenset({"function", "type", "module"})
UNCOUNTED: frozenset[Kind] = frozenset({"file", "string"})
"""Frames that do not count towards depth."""


class Statement(NamedTuple):
    """A statement so far, read up to the cursor at its own level of brackets."""

    leaves: int = 0
    first: str = ""
    kind: Kind = "statement"
    head: Kind | None = None
    """What its next block will be."""
    name: str = ""
    """What it defines, as far as its words tell."""
    naming: bool = False
    """Whether the next name is the defined one's."""
    last_name: str = ""
    called: str = ""
    """The name before its first round bracket."""
    target: str = ""
    """The name before its first assignment."""
    assigned: bool = False
    created: bool = False
    """Whether it says `new`."""
    marking: bool = False
    """Whether it began with a decorator or attribute and nothing else has come."""
    flags: int = 0


class Frame(NamedTuple):
    """A construct that is open."""

    kind: Kind
    closer: str
    """The leaf that closes it; empty for a file, and for a block that columns end."""
    depth: int
    """Definitions, control blocks and brackets, this one too."""
    definition: str
    """Name of the innermost definition, this one too."""
    flags: int
    outer: Statement
    """The statement around it."""
    start: int
    """Byte at which it was opened."""
    row: int
    column: int = -1
    """Of a block that columns end: its statements' column, -1 before the first of them."""
    interpolates: bool = False
    """Of a string: whether curly brackets hold code."""


class State(NamedTuple):
    """After some leaves."""

    frames: tuple[Frame, ...]
    statement: Statement
    previous: str = ""
    """Type of the last leaf that is no comment."""
    previous_class: str = ""
    end: int = 0
    """Where that leaf ends."""
    row: int = 0
    """The row it ends in."""
    heredoc: str = ""
    """The word that ends the text which begins on the line after `heredoc_row`."""
    heredoc_row: int = 0
    stray: int = 0
    """Closing brackets and words so far that closed nothing."""
    misplaced: int = 0
    """Lines so far in a column that no block has."""


NO_STATEMENT = Statement()
START = State((Frame("file", "", 0, "", 0, NO_STATEMENT, 0, 0, 0),), NO_STATEMENT)
