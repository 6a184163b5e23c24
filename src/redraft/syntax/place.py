"""From what is open to a `Place`: the state before the cursor, and the leaf the cursor is in.

A word that the cursor touches may still become another one, so only its standing there counts; a
sign counts at once. It does not know trees, or how states come about.
"""

from __future__ import annotations

from typing import NamedTuple

from redraft.syntax.leaves import TEXTS, Leaf
from redraft.syntax.state import (
    BOILERPLATE,
    BRACKETS,
    DATA,
    DECLARATION,
    DEFINITIONS,
    DOCUMENTATION,
    ERROR,
    IMPORT,
    NO_STATEMENT,
    TEST,
    State,
)
from redraft.syntax.structure import Structure
from redraft.syntax.values import Kind, OpenConstruct, Place, Region, TokenClass

_REGIONS: tuple[tuple[int, Region], ...] = (
    (DOCUMENTATION, "comment"),
    (IMPORT, "import"),
    (TEST, "test"),
    (ERROR, "error_handling"),
    (BOILERPLATE, "boilerplate"),
    (DECLARATION, "declaration"),
    (DATA, "data"),
)


_PROSE = frozenset({"jsx_text", "text"})
"""Texts without quotes, which go on until something else begins."""


class Cursor(NamedTuple):
    """A point in a text that was read to there."""

    before: State
    """After all leaves but the last one that begins left of the cursor."""
    last: Leaf | None
    """That leaf."""
    offset: int
    """Bytes left of the cursor."""
    row: int
    unfinished: Kind | None = None
    """`string` or `comment` where one has begun behind `last` that is no leaf yet."""


def settle(structure: Structure, cursor: Cursor) -> tuple[State, TokenClass, Kind | None]:
    """What is open at the cursor, what stands left of it, and `string` or `comment` inside one."""
    state, last = cursor.before, cursor.last
    if last is not None:
        state = structure.arrive(state, last)
        inside = cursor.offset < last.end
        touching = cursor.offset == last.end
        if last.token_class == "comment":
            if inside or (touching and not last.text.endswith("*/")):
                return state, "comment", "comment"
        elif inside or (touching and _may_grow(last)):
            within: Kind | None = "string" if last.type in TEXTS else None
            if not state.statement.leaves:
                state = state._replace(statement=NO_STATEMENT._replace(leaves=1))
            return state, last.token_class, within
        else:
            state = structure.absorb(state, last)
        if structure.in_heredoc(state, cursor.row):
            return state, "literal", "string"
        if touching:
            return state, last.token_class, cursor.unfinished
    if cursor.unfinished is not None:
        found: TokenClass = "comment" if cursor.unfinished == "comment" else "literal"
        return state, found, cursor.unfinished
    if structure.in_heredoc(state, cursor.row):
        return state, "literal", "string"
    if state.frames[-1].kind == "string":
        return state, "literal", None
    if structure.line_ends_statement(state, cursor.row):
        state = state._replace(statement=NO_STATEMENT)
    return state, "whitespace", None


def describe(structure: Structure, cursor: Cursor) -> Place:
    """The cursor's place."""
    state, token_class, within = settle(structure, cursor)
    frame, statement = state.frames[-1], state.statement
    kind = frame.kind
    if within is not None:
        kind = within
    elif kind not in BRACKETS and kind != "string" and statement.leaves:
        kind = statement.kind if statement.kind == "import" else statement.head or statement.kind
    flags = frame.flags | (statement.flags if frame.kind != "string" else 0)
    if statement.head in DEFINITIONS and frame.kind != "string":
        flags |= DECLARATION
    region: Region = "expression"
    if kind == "comment":
        region = "comment"
    else:
        region = next((name for flag, name in _REGIONS if flags & flag), "expression")
    return Place(kind, frame.depth, frame.definition, token_class, region)


def open_constructs(structure: Structure, cursor: Cursor) -> tuple[OpenConstruct, ...]:
    """What is open at the cursor, from outside in, without the file."""
    state, _, _ = settle(structure, cursor)
    return tuple(
        OpenConstruct(frame.kind, frame.closer, frame.definition) for frame in state.frames[1:]
    )


def _may_grow(leaf: Leaf) -> bool:
    """Whether what is typed next may make the leaf another one."""
    if leaf.token_class in ("identifier", "keyword"):
        return True
    if leaf.type in TEXTS:
        return leaf.type in _PROSE
    return leaf.token_class == "literal" and leaf.text[-1:].isalnum()
