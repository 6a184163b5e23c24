"""Reads a growing text: keeps its tree, its leaves and the states after them.

Only what is new is parsed and read, and a few leaves before it, which what follows may change. Of a
long text the last part is kept; what was open before it stays known. It does not know tokens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from redraft.syntax.grammar import Grammar, ParseFailed
from redraft.syntax.languages import Language
from redraft.syntax.leaves import HEREDOCS, Leaf, leaves
from redraft.syntax.place import Cursor
from redraft.syntax.state import START, State
from redraft.syntax.structure import Structure
from redraft.syntax.values import Kind

if TYPE_CHECKING:
    from tree_sitter import Tree

WINDOW = 16_384
"""Bytes that are kept at least; at twice as many, the text before them is let go."""
DEEPEST = 250
"""Constructs open at once: many times what people write, and what makes no state slow."""
_AGAIN = 4
"""Leaves before the end that are read again: what is typed next may change them."""
_FURTHER = 64
_COMMENT_ENDS = re.compile(rb"\*/|=end")
_STRING_ENDS = re.compile(rb"[\"'`{$#/\])}>|]")
_QUOTED = re.compile(rb"[\"'`]")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A text as it was read: what is new in it since the reading that it grew from."""

    text: bytes
    tree: Tree
    parsed: tuple[int, tuple[int, int]]
    """Bytes of the text that the tree has, and the point (row, column) at their end."""
    kept: int
    """Leaves of the earlier reading that still hold."""
    leaves: list[Leaf]
    """Those behind them."""
    states: list[State]
    """After each of `leaves`, with the one before them in front."""
    unfinished: Kind | None
    point: tuple[int, int]
    """(row, column) of the end."""


class Reading:
    """One growing text of one language. Raises ParseFailed where it cannot be parsed."""

    def __init__(self, language: Language, grammar: Grammar, text: bytes) -> None:
        self.language = language
        self.structure = Structure(language)
        self._grammar = grammar
        self.leaves: list[Leaf] = []
        self._states = [START]
        self._shift = (0, 0)
        tree = grammar.parse(b"")
        self._now = Snapshot(b"", tree, (0, (0, 0)), 0, [], [START], None, (0, 0))
        for begin in range(0, len(text), WINDOW):
            self.append(text[begin : begin + WINDOW])

    def append(self, more: bytes) -> None:
        """The text goes on."""
        self._take(self._grown(more))
        if len(self._now.text) > 2 * WINDOW:
            self._let_go()

    def cursor(self, after: bytes = b"") -> Cursor:
        """The end of the text, or of the text with `after` behind it."""
        return self._cursor(self._grown(after) if after else self._now)

    @property
    def states(self) -> list[State]:
        """The states before each of `leaves`, and after the last."""
        return self._states

    @property
    def end(self) -> int:
        """Bytes of text so far."""
        return self._shift[0] + len(self._now.text)

    def tail(self, count: int) -> bytes:
        """The last bytes of the text, at most `count`."""
        return self._now.text[-count:]

    @property
    def is_broken(self) -> bool:
        """Whether the text has closed what was not open, or begun a line in no block's column."""
        return self._states[-1].stray + self._states[-1].misplaced > 0

    def broken_at(self, after: bytes) -> int | None:
        """The byte of `after` at which it closes what is not open or begins a line in a column
        that no block has; None where it does neither."""
        grown = self._grown(after)
        before = self._states[-1].stray + self._states[-1].misplaced
        for leaf, state in zip(grown.leaves, grown.states[1:], strict=True):
            if state.stray + state.misplaced > before:
                return max(0, leaf.start - self.end)
        return None

    def _cursor(self, snapshot: Snapshot) -> Cursor:
        offset = self._shift[0] + len(snapshot.text)
        row = self._shift[1] + snapshot.point[0]
        if not snapshot.leaves:
            return Cursor(snapshot.states[0], None, offset, row, snapshot.unfinished)
        before, last = snapshot.states[-2], snapshot.leaves[-1]
        return Cursor(before, last, offset, row, snapshot.unfinished)

    def _grown(self, more: bytes) -> Snapshot:
        """The text with `more` behind it, read."""
        now = self._now
        text, point = now.text + more, _moved(now.point, more)
        if now.unfinished is not None and not self._may_finish(more):
            return replace(now, text=text, point=point)
        tree, (parsed, parsed_point) = now.tree.copy(), now.parsed
        tree.edit(parsed, parsed, len(text), parsed_point, parsed_point, point)
        tree = self._grammar.parse(text, tree)
        kept = max(0, len(self.leaves) - _AGAIN)
        while True:
            found, states, unfinished = self._read(tree, text, kept)
            if not kept or (found and found[0][:4] == self.leaves[kept][:4]):
                whole = (len(text), point)
                return Snapshot(text, tree, whole, kept, found, states, unfinished, point)
            kept = max(0, kept - _FURTHER)

    def _read(
        self, tree: Tree, text: bytes, kept: int
    ) -> tuple[list[Leaf], list[State], Kind | None]:
        structure, state = self.structure, self._states[kept]
        found: list[Leaf] = []
        states = [state]
        base = self._shift[0]
        start = self.leaves[kept].start if kept < len(self.leaves) else base
        end = start
        for leaf in leaves(tree, text, start - base, self._shift):
            unfinished = self._unfinished(state, leaf, text, end - base)
            if unfinished is not None:
                return found, states, unfinished
            state = structure.absorb(structure.arrive(state, leaf), leaf)
            if len(state.frames) > DEEPEST:
                raise ParseFailed(f"more than {DEEPEST} blocks and brackets are open at once")
            found.append(leaf)
            states.append(state)
            end = leaf.end
        unclosed = self.language.raw_strings and b'"' in text[end - base :]
        return found, states, "string" if unclosed else None

    def _may_finish(self, more: bytes) -> bool:
        """Whether this may end the unfinished string or comment that the text ends with. What may
        not is not parsed: grammars take long over prose."""
        if self._now.unfinished == "comment":
            return _COMMENT_ENDS.search(self._now.text[-4:] + more) is not None
        return bool(self._states[-1].heredoc) or _STRING_ENDS.search(more) is not None

    def _unfinished(self, state: State, leaf: Leaf, text: bytes, end: int) -> Kind | None:
        """`comment` or `string` where one begins here that has no end: then this and all that
        follows is no code."""
        base = self._shift[0]
        begin = leaf.start - base
        if state.frames[-1].kind == "string":
            return None if self.structure.is_text(state, leaf) else "string"
        if leaf.type not in HEREDOCS and self.structure.in_heredoc(state, leaf.row):
            return "string"
        opening = self.language.block_comment
        opens = opening and leaf.token_class != "comment" and text.startswith(opening, begin)
        if opens and (opening != b"=begin" or leaf.column == 0):
            return "comment"
        if leaf.type == "ERROR" and _QUOTED.search(text, begin, begin + 2):
            return "string"
        if self.language.regexes and leaf.type == "/" and self.structure.expects_value(state):
            return "string"
        if self.language.raw_strings and end < begin and b'"' in text[end:begin]:
            return "string"
        return None

    def _take(self, snapshot: Snapshot) -> None:
        del self.leaves[snapshot.kept :]
        del self._states[snapshot.kept + 1 :]
        self.leaves += snapshot.leaves
        self._states += snapshot.states[1:]
        self._now = snapshot

    def _let_go(self) -> None:
        """Forget the text before about the last WINDOW bytes."""
        cut = self._cut()
        if cut is None:
            return  # one leaf fills the window: nothing is known of what it holds
        last = self.leaves[cut - 1]
        text = self._now.text[last.end - self._shift[0] :]
        self._shift = (last.end, last.end_row)
        self.leaves = self.leaves[cut:]
        self._states = self._states[cut:]
        tree, unfinished = self._grammar.parse(text), self._now.unfinished
        point = _moved((0, 0), text)
        leaves_now, states_now = self.leaves[:], self._states[:]
        self._now = Snapshot(
            text, tree, (len(text), point), 0, leaves_now, states_now, unfinished, point
        )

    def _cut(self) -> int | None:
        """How many leaves may go, at best up to the end of a line, and not inside a string."""
        latest, cut = self.end - WINDOW, None
        for index in range(len(self.leaves) - _AGAIN - 1, 0, -1):
            last = self.leaves[index - 1]
            if last.end > latest or self._states[index].frames[-1].kind == "string":
                continue
            if self.leaves[index].row > last.end_row:
                return index
            cut = cut or index
            if last.end < latest - WINDOW // 2:
                break
        return cut


def _moved(point: tuple[int, int], text: bytes) -> tuple[int, int]:
    """The point behind `text` that begins at `point`."""
    lines = text.count(b"\n")
    column = len(text) - text.rfind(b"\n") - 1 if lines else point[1] + len(text)
    return point[0] + lines, column
