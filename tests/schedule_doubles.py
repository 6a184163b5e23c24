"""Drafters and syntax that stand still, for the tests of policies."""

from __future__ import annotations

from dataclasses import dataclass

from redraft.protocols import DraftContext
from redraft.tokens import Draft, Verdict


@dataclass(frozen=True)
class Place:
    """See `redraft.protocols.SyntaxPlace`."""

    kind: str
    depth: int
    definition: str
    token_class: str
    region: str


class FixedPlace:
    """A view that always says the same."""

    def __init__(self, place: Place | None) -> None:
        self.answer = place
        self.asked = 0

    def place(self, after: tuple[int, ...] = ()) -> Place | None:
        self.asked += 1
        return self.answer


class Lines:
    """A followed view of bytes: the kind is the parity of the line, the depth its indentation."""

    def __init__(self) -> None:
        self._text: list[int] = []

    def start(self, context: DraftContext) -> None:
        self._text = list(context.source)

    def commit(self, tokens: tuple[int, ...]) -> None:
        self._text.extend(tokens)

    def place(self, after: tuple[int, ...] = ()) -> Place | None:
        text = [*self._text, *after]
        lines = text.count(10)
        kind = "even" if lines % 2 == 0 else "odd"
        return Place(kind, lines % 3, "", "identifier", "expression")


class Sure:
    """A drafter that would go on for ever."""

    name = "sure"

    def __init__(self, survival: float = 0.9) -> None:
        self.survival = survival

    def start(self, context: DraftContext) -> None:
        """Nothing to prepare."""

    def propose(self, limit: int, after: tuple[int, ...] = ()) -> Draft:
        count = max(0, limit)
        return Draft((1,) * count, (self.survival,) * count, (self.name,) * count, (2,) * count)

    def commit(self, verdict: Verdict) -> None:
        """Nothing to learn."""
