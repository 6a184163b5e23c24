"""A policy around a policy: keeps syntax up with the output, and cuts drafts that it rules out.

It alone starts and feeds the session's `Syntax`, before drafters and the inner policy look at it.
It does not know what drafts are made of, nor which grammar there is.
"""

from __future__ import annotations

from collections.abc import Sequence as Tokens

from redraft.protocols import DraftContext, Drafter, Policy
from redraft.syntax import Syntax
from redraft.tokens import Draft, Step


class PruningPolicy:
    """The inner policy's drafts, cut where they would close what is not open, or begin a line in a
    column that no block has: such text is hardly ever what a target goes on with."""

    def __init__(self, inner: Policy, syntax: Syntax) -> None:
        self._inner = inner
        self._syntax = syntax

    def start(self, context: DraftContext) -> None:
        """Syntax first, so that the inner policy may ask it."""
        self._syntax.start(context)
        self._inner.start(context)

    def choose(self, drafters: Tokens[Drafter], room: int) -> Draft:
        """The inner policy's draft, or its beginning."""
        draft = self._inner.choose(drafters, room)
        return draft.first(self._syntax.sound(draft.tokens))

    def commit(self, step: Step) -> None:
        """Syntax first, as in `start`."""
        self._syntax.commit(step.tokens)
        self._inner.commit(step)
