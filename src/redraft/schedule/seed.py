"""The published seed rule: draft length by depth and recent acceptance, whatever rows cost.

Start at 5 tokens. Deeper than 5 constructs, or where less than half of the lately drafted tokens
was accepted, draft 3; else where more than 0.8 was, draft 7; else as many as before. `seed-regions`
also drafts 7 in declarations, boilerplate and tests, unless acceptance is low, as the prose beside
the rule says and the rule does not. Depth counts enclosing definitions, control blocks and
brackets; without syntax it is 0. It does not know what a forward costs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence as Tokens
from dataclasses import dataclass

from redraft.protocols import DraftContext, Drafter, SyntaxView
from redraft.schedule.compose import compose
from redraft.tokens import Draft, Step

REGULAR = frozenset({"declaration", "boilerplate", "test"})
"""Regions that `seed-regions` takes for predictable."""


@dataclass(frozen=True, slots=True)
class SeedRule:
    """The rule's figures."""

    first: int = 5
    short: int = 3
    long: int = 7
    deep: int = 5
    """Depth beyond which drafts are short."""
    low: float = 0.5
    high: float = 0.8
    recent: int = 8
    """Drafts over which acceptance is counted; the rule leaves that open."""


class SeedPolicy:
    """The rule over the composed draft of all drafters."""

    def __init__(
        self, rule: SeedRule, syntax: SyntaxView | None = None, regions: bool = False
    ) -> None:
        self._rule = rule
        self._syntax = syntax
        self._regions = regions
        self._count = rule.first
        self._judged: deque[tuple[int, int]] = deque(maxlen=rule.recent)

    def start(self, context: DraftContext) -> None:
        """Begin with the first length and no memory."""
        self._count = self._rule.first
        self._judged.clear()

    def choose(self, drafters: Tokens[Drafter], room: int) -> Draft:
        """The composed draft, cut to the rule's length."""
        self._count = self._length()
        return compose(drafters, min(self._count, room))

    def _length(self) -> int:
        rule, accepted = self._rule, self._acceptance()
        place = self._syntax.place() if self._syntax else None
        low = accepted is not None and accepted < rule.low
        if self._regions and place is not None and place.region in REGULAR and not low:
            return rule.long
        if low or (place is not None and place.depth > rule.deep):
            return rule.short
        if accepted is not None and accepted > rule.high:
            return rule.long
        return self._count

    def _acceptance(self) -> float | None:
        """Accepted ÷ proposed over the recent drafts; None before the first."""
        proposed = sum(count for count, _ in self._judged)
        return sum(good for _, good in self._judged) / proposed if proposed else None

    def commit(self, step: Step) -> None:
        """Remember what became of a draft."""
        proposed = step.verdict.draft.proposed
        if proposed:
            self._judged.append((proposed, min(proposed, step.verdict.accepted)))
