"""The values that cross the decoding loop: draft, choice, verdict, step. Token ids only.

Everything here is frozen. This module does not know text, engines or drafters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

FILLER = "filler"
"""Drafter name of the tokens that only fill a forward up to the fewest tokens it must have."""
FinishReason = Literal["stop", "indent", "length", "loop", "context", "time", "cancelled"]


def shared_length(first: Sequence[int], second: Sequence[int]) -> int:
    """How many tokens both begin with."""
    shared = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        shared += 1
    return shared


@dataclass(frozen=True, slots=True)
class Draft:
    """Proposed tokens, each with what its drafter expects of it.

    The four tuples have one entry per token. A draft that was handed from one drafter to the next
    names each token's own drafter.
    """

    tokens: tuple[int, ...] = ()
    survival: tuple[float, ...] = ()
    """Probability (0 … 1) that this token is accepted given that those before it were."""
    drafters: tuple[str, ...] = ()
    evidence: tuple[int, ...] = ()
    """The calibration bin that the drafter drew the survival from; its own numbering."""

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def proposed(self) -> int:
        """How many tokens drafters proposed: all but the fillers, which come last."""
        return len(self.tokens) - self.drafters.count(FILLER)

    def __add__(self, other: Draft) -> Draft:
        return Draft(
            self.tokens + other.tokens,
            self.survival + other.survival,
            self.drafters + other.drafters,
            self.evidence + other.evidence,
        )

    def first(self, count: int) -> Draft:
        """The draft cut to at most `count` tokens."""
        if count >= len(self.tokens):
            return self
        return Draft(
            self.tokens[:count],
            self.survival[:count],
            self.drafters[:count],
            self.evidence[:count],
        )


NO_DRAFT = Draft()


@dataclass(frozen=True, slots=True)
class Choice:
    """The target's choice at one position."""

    token: int
    logprob: float
    """Natural logarithm of the token's probability in the target's own distribution
    (softmax of the logits, before temperature and truncation)."""
    top: tuple[tuple[int, float], ...] = ()
    """The most probable (token, logprob) pairs, best first, when they were asked for."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the target said of a draft: the accepted prefix and then its own next token."""

    draft: Draft
    accepted: int
    """How many draft tokens were accepted; 0 ≤ accepted ≤ len(draft)."""
    choices: tuple[Choice, ...]
    """One per committed token. Without an end inside, accepted + 1 of them."""

    @property
    def tokens(self) -> tuple[int, ...]:
        """The tokens to commit: the accepted ones and the target's own."""
        return tuple(choice.token for choice in self.choices)


@dataclass(frozen=True, slots=True)
class Prefill:
    """One piece of the prompt was evaluated."""

    done: int
    """Prompt tokens in the KV cache now."""
    total: int
    """Prompt tokens in all."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Step:
    """One target forward after the prompt, and what it brought."""

    index: int
    start: int
    """Output tokens before this step."""
    verdict: Verdict
    rows: int
    """Rows of logits the forward computed (its tokens)."""
    propose_seconds: float
    evaluate_seconds: float
    verify_seconds: float
    finish_reason: FinishReason | None = None
    """Set on the last step only."""

    @property
    def tokens(self) -> tuple[int, ...]:
        """The tokens this step added to the output."""
        return self.verdict.tokens
