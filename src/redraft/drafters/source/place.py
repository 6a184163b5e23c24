"""Where in the source the output is: following a copy, or searching for where it goes on.

A place is a value, so that what would follow uncommitted tokens can be asked without committing
them. Finding the way back is by context, biased to the point where the copy broke off: an
insertion goes on there, a deletion a little later, a move anywhere. It does not know survival.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from redraft.drafters.source.view import View
from redraft.protocols import Tokenizer

How = Literal["copy", "match", "line", "guess"]

CONVINCED = 3
"""A run of this many tokens ends a search: shorter ones are often chance."""
_LONGEST_MATCH = 12


@dataclass(frozen=True, slots=True)
class Place:
    """A point in a view."""

    position: int
    """Index of the view's token that is expected next, after `rest`."""
    run: int
    """How many of the latest output tokens equal those before this point."""
    anchor: int
    """Where the copy broke off; meaningful while `lost`."""
    lost: int = 0
    """Output tokens since it broke off; 0 while following."""
    how: How = "copy"
    """What put us here: following, a match of context, a new line, or no more than a guess."""
    rest: tuple[int, ...] = ()
    """Tokens expected before `position`, where the output cut a source token in two."""


START = Place(0, 8, 0)
"""The first token of a file is mostly kept: as sure as after a run of eight."""


class Aligner:
    """Moves places through one view."""

    def __init__(self, view: View, tokenizer: Tokenizer) -> None:
        self._view = view
        self._tokenizer = tokenizer

    def expected(self, place: Place) -> int | None:
        """The token the source has next, or None at its end."""
        if place.rest:
            return place.rest[0]
        tokens = self._view.tokens
        return tokens[place.position] if place.position < len(tokens) else None

    def advance(self, place: Place, tail: Sequence[int], copied: Collection[int]) -> Place:
        """The place after the output's newest token, `tail[-1]`.

        `tail` are the latest output tokens, `copied` the lines that were copied already.
        """
        token = tail[-1]
        if token == self.expected(place):
            lost = place.lost + 1 if place.lost and place.run + 1 < CONVINCED else 0
            if place.rest:
                return replace(place, rest=place.rest[1:], run=place.run + 1, lost=lost)
            return Place(place.position + 1, place.run + 1, place.anchor, lost)
        anchor = place.anchor if place.lost else place.position
        lost = place.lost + 1
        return (
            self._match(tail, anchor, lost, copied)
            or self._splice(tail, anchor, lost)
            or self._guess(tail, anchor, lost)
        )

    def _match(
        self, tail: Sequence[int], anchor: int, lost: int, copied: Collection[int]
    ) -> Place | None:
        """The best point whose tokens before it are those of the output, near the anchor."""
        view, best, best_score = self._view, None, 0.0
        for position in view.positions(tail[-1]):
            run = self._run(position, tail)
            point = position + 1
            distance = point - anchor
            score = run - 0.4 * math.log2(1 + abs(distance))
            if distance < 0:
                score -= 0.5
            if score <= best_score - 1.5:
                continue
            if view.line_of(min(point, len(view.tokens) - 1)) in copied:
                score -= 1.0
            if best is None or score > best_score:
                best, best_score = Place(point, run, anchor, lost, "match"), score
        if best is None or best_score < -0.8:
            return None
        return replace(best, lost=0) if best.run >= CONVINCED + 1 else best

    def _run(self, position: int, tail: Sequence[int]) -> int:
        tokens = self._view.tokens
        longest = min(len(tail), position + 1, _LONGEST_MATCH)
        run = 1
        while run < longest and tokens[position - run] == tail[-1 - run]:
            run += 1
        return run

    def _splice(self, tail: Sequence[int], anchor: int, lost: int) -> Place | None:
        """Where the output cut a source token in two: match the end of the output's line in the
        source line by characters, and expect what the line has left."""
        view = self._view
        if not view.tokens:
            return None
        text = self._tokenizer.decode(tail[-6:])
        word = text[len(text.rstrip()) - len(text.rstrip().split("\n")[-1]) :]
        line = view.line_of(min(anchor, len(view.tokens) - 1))
        source = view.text(line)
        begin = len(self._tokenizer.decode(view.tokens[view.starts[line] : anchor]))
        for length in range(min(24, len(word)), 2, -1):
            found = source.find(word[-length:], max(0, begin - 1))
            if found < 0 or not word[-length:].strip():
                continue
            rest = tuple(self._tokenizer.encode(source[found + length :]))
            return Place(view.line_end(line), 1, anchor, lost, "match", rest)
        return None

    def _guess(self, tail: Sequence[int], anchor: int, lost: int) -> Place:
        """Without a match: at a new line the source's next line, else one token was replaced."""
        view = self._view
        if self._tokenizer.piece(tail[-1]).endswith(b"\n"):
            line = view.line_of(anchor)
            begun = line < len(view.starts) and anchor > view.starts[line]
            return Place(view.line_end(line) if begun else anchor, 0, anchor, lost, "line")
        return Place(min(anchor + 1, len(view.tokens)), 0, anchor, lost, "guess")
