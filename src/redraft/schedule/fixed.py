"""The policies that look at nothing: `none` never drafts, `fixed:k` always drafts k tokens."""

from __future__ import annotations

from collections.abc import Sequence as Tokens

from redraft.errors import UsageError
from redraft.protocols import MAX_ROWS, DraftContext, Drafter
from redraft.schedule.compose import compose
from redraft.tokens import NO_DRAFT, Draft, Step


class NonePolicy:
    """Never drafts: plain decoding."""

    def start(self, context: DraftContext) -> None:
        """Nothing to prepare."""

    def choose(self, drafters: Tokens[Drafter], room: int) -> Draft:
        """Always the empty draft."""
        return NO_DRAFT

    def commit(self, step: Step) -> None:
        """Nothing to learn."""


class FixedPolicy:
    """Up to `count` tokens each step, from whoever is surest, whatever they cost."""

    def __init__(self, count: int) -> None:
        if not 1 <= count < MAX_ROWS:
            raise UsageError(f"a fixed draft is {count} tokens; it must be 1 … {MAX_ROWS - 1}")
        self._count = count

    def start(self, context: DraftContext) -> None:
        """Nothing to prepare."""

    def choose(self, drafters: Tokens[Drafter], room: int) -> Draft:
        """The composed draft, cut to the fixed count."""
        return compose(drafters, min(self._count, room))

    def commit(self, step: Step) -> None:
        """Nothing to learn."""
