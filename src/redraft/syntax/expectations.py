"""What the language, the layout and the names in scope let expect next, as text.

Each expectation says why, so that its survival can be counted by reason. Nothing here is certain: a
target may write anything. It does not know tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

from redraft.syntax.languages import Language
from redraft.syntax.leaves import Leaf
from redraft.syntax.place import Cursor, settle
from redraft.syntax.state import BRACKETS, DEFINITIONS, State
from redraft.syntax.structure import Structure

Reason = Literal["name", "opener", "block_indent", "line_indent", "ending", "end"]
"""The rest of the only name in scope that begins so; what opens the block of a finished head; the
indentation of a block's first line, or of a line after another one; the end of a statement that is
one word; the end of the text in a gap."""
REASONS: tuple[Reason, ...] = get_args(Reason)
SHORTEST_PREFIX = 2
"""Letters from which on a name is completed."""
_BARE_HEADS = frozenset({"else", "try", "finally", "do"})
_BARE_STATEMENTS = frozenset({"break", "continue"})
_FINISHED = frozenset({";", "}", ")", "]", '"', "'", "string_end", "end"})


class Expected(NamedTuple):
    """A text that may follow."""

    reason: Reason
    text: str
    """Empty for the end of the output."""


class Surroundings(NamedTuple):
    """What an expectation may look at, besides the cursor."""

    structure: Structure
    tail: str
    """The end of the text."""
    indent: str
    """One level of indentation in this text."""
    names: Callable[[str], tuple[str, ...]]
    """Names in scope that begin so."""
    closes: int | None
    """In fill-in-the-middle, how many brackets and words behind the gap close what is open at its
    end; None elsewhere, and where the gap does not end with its line."""


def expectations(cursor: Cursor, around: Surroundings) -> tuple[Expected, ...]:
    """What may follow the cursor; mostly nothing, and at most one text for each reason."""
    structure, last = around.structure, cursor.last
    state, _, within = settle(structure, cursor)
    if last is None or within is not None or state.frames[-1].kind == "string":
        return ()
    after = structure.absorb(structure.arrive(cursor.before, last), last)
    if around.tail.endswith("\n"):
        return _indentation(after, last, around)
    if last.end != cursor.offset:
        return ()
    if last.token_class == "identifier":
        return _name(last, around)
    return (*_opener(after, last, around), *_end(after, last, around.closes))


def _name(last: Leaf, around: Surroundings) -> tuple[Expected, ...]:
    begun = last.text
    if len(begun) < SHORTEST_PREFIX:
        return ()
    found = [name for name in around.names(begun) if name != begun]
    return (Expected("name", found[0][len(begun) :]),) if len(found) == 1 else ()


def _indentation(after: State, last: Leaf, around: Surroundings) -> tuple[Expected, ...]:
    """Behind a line end: as deep as the line before, or a level deeper in what that has opened."""
    line = around.tail[:-1].rsplit("\n", 1)[-1]
    if not line.strip():
        return ()
    margin = _margin(line)
    top = after.frames[-1]
    if top.kind not in ("file", "string") and top.start == last.start:
        return (Expected("block_indent", margin + around.indent),)
    return (Expected("line_indent", margin),) if margin else ()


def _opener(after: State, last: Leaf, around: Surroundings) -> tuple[Expected, ...]:
    language, statement = around.structure.language, after.statement
    margin = _margin(around.tail.rsplit("\n", 1)[-1])
    block = f"\n{margin}{around.indent}"
    if last.type in _BARE_STATEMENTS and language.layout == "braces":
        return (Expected("ending", ";\n"),) if language.ending == "semicolon" else ()
    if last.type in _BARE_HEADS and statement.head is not None:
        opening = {"indentation": ":", "braces": " {", "words": ""}[language.layout]
        return (Expected("opener", opening + block),) if opening else ()
    finished = last.type == ")" and after.frames[-1].kind not in BRACKETS
    if finished and _takes_block(statement.head, language):
        return (Expected("opener", " {" + block),)
    return ()


def _takes_block(head: str | None, language: Language) -> bool:
    """Whether a block follows the round brackets of such a head."""
    return (
        language.layout == "braces"
        and not language.semicolons_in_heads
        and head is not None
        and head not in DEFINITIONS
        and head != "scope"
    )


def _end(after: State, last: Leaf, closes: int | None) -> tuple[Expected, ...]:
    if closes is None or last.type not in _FINISHED or after.frames[-1].kind == "string":
        return ()
    still_open = sum(1 for frame in after.frames if frame.closer)
    return (Expected("end", ""),) if still_open == closes else ()


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]
