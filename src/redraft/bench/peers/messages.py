"""What a peer's process is told and what it answers: values, and their form on the pipe.

One JSON object a line. It knows neither processes nor engines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PeerOpening:
    """What a peer is to load."""

    mode: str
    model: str
    """Path of the target's weights."""
    small_model: str
    """Path of the small model's weights; empty where the mode has none."""
    context: int
    threads: int


@dataclass(frozen=True, slots=True)
class PeerAnswer:
    """A greedy answer and what it took, as far as the peer tells."""

    tokens: tuple[int, ...]
    prompt_seconds: float
    decode_seconds: float
    """From the first token, which the prompt's evaluation gave, to the last."""
    proposed: int | None
    """Drafted tokens; None where the peer does not tell."""
    accepted: int | None

    @property
    def timed_tokens(self) -> int:
        """Tokens that `decode_seconds` brought: all but the first."""
        return len(self.tokens) - 1

    @property
    def seconds_per_token(self) -> float | None:
        """None for an answer of one token or none."""
        return self.decode_seconds / self.timed_tokens if self.timed_tokens > 0 else None

    @property
    def tokens_per_forward(self) -> float | None:
        """Over all target forwards after the prompt: each brings one token and what it accepted."""
        if self.accepted is None or self.timed_tokens <= 0:
            return None
        return self.timed_tokens / max(1, self.timed_tokens - self.accepted)


def answer_from(content: Mapping[str, Any]) -> PeerAnswer:
    """The answer in a line of the pipe. Raises KeyError or TypeError for anything else."""
    return PeerAnswer(**{**content, "tokens": tuple(content["tokens"])})
