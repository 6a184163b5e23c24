"""Keeps a syntax view up to date with a replayed output. It does not know how syntax is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from redraft.protocols import DraftContext, SyntaxView, Tokenizer
from redraft.tokens import NO_DRAFT, Draft, Verdict


class FollowedSyntax(SyntaxView, Protocol):
    """A view that is told of each generation and verdict."""

    def start(self, context: DraftContext) -> None:
        """A new generation begins; the output is empty."""
        ...

    def commit(self, tokens: Sequence[int]) -> None:
        """These tokens were appended to the output."""
        ...


Follow: TypeAlias = Callable[[Tokenizer], FollowedSyntax]
"""What makes a view for a vocabulary: `redraft.syntax.Syntax`, or one for tests."""


class Follower:
    """Keeps a view up to date from inside the loop: a drafter that has nothing to propose."""

    name = "syntax"

    def __init__(self, view: FollowedSyntax) -> None:
        self._view = view

    def start(self, context: DraftContext) -> None:
        """Tell the view."""
        self._view.start(context)

    def propose(self, limit: int, after: tuple[int, ...] = ()) -> Draft:
        """Nothing."""
        return NO_DRAFT

    def commit(self, verdict: Verdict) -> None:
        """Tell the view."""
        self._view.commit(verdict.tokens)
