"""Counts of one run: what was proposed, what was accepted, where the time went.

It knows steps and their times, and no text.
"""

from __future__ import annotations

from dataclasses import dataclass

from redraft.cost import CostCurve
from redraft.decode import FILLER
from redraft.tokens import Prefill, Step


@dataclass(frozen=True, slots=True)
class DrafterCount:
    """Tokens of one drafter."""

    name: str
    proposed: int
    accepted: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts and seconds of one run. Fillers (see `redraft.decode`) are no proposals."""

    prompt_tokens: int
    reused_tokens: int
    """Prompt tokens that were in the KV cache already."""
    output_tokens: int
    forwards: int
    """All target forwards after the prompt."""
    proposed: int
    accepted: int
    accepted_of_proposed: float | None
    """None where nothing was proposed."""
    tokens_per_forward: float | None
    survival_by_position: tuple[float, ...]
    """Share of drafts of more than i tokens whose first i + 1 tokens were all accepted."""
    by_drafter: tuple[DrafterCount, ...]
    prefill_seconds: float
    decode_seconds: float
    """From the evaluated prompt to the last token, without what others did between two steps."""
    engine_seconds: float
    """The part of decode_seconds spent in target forwards."""


class PlainEstimate:
    """What one token a forward would have taken for the tokens of a run.

    The curve only says how many plain steps a forward of so many rows is worth; how long a step
    takes comes from the run's own forwards, so that other programs slow both sides alike.
    """

    def __init__(self, curve: CostCurve) -> None:
        self._curve = curve
        self._tokens = 0
        self._steps = self._seconds = 0.0

    def add(self, step: Step) -> None:
        """One more step."""
        self._tokens += len(step.tokens)
        self._steps += self._curve.seconds(step.rows) / self._curve.seconds(1)
        self._seconds += step.evaluate_seconds

    @property
    def seconds(self) -> float:
        """The estimate for all tokens so far."""
        return self._tokens * self._seconds / self._steps if self._steps else 0.0


class Tally:
    """Adds up the events of one run."""

    def __init__(self, prompt_tokens: int, reused_tokens: int) -> None:
        self._prompt_tokens = prompt_tokens
        self._reused_tokens = reused_tokens
        self._output = self._forwards = self._proposed = self._accepted = 0
        self._prefill = self._elapsed = self._engine = 0.0
        self._reached: list[int] = []
        self._survived: list[int] = []
        self._by_drafter: dict[str, list[int]] = {}

    def add(self, event: Prefill | Step, elapsed: float) -> None:
        """One event, `elapsed` seconds after the run began."""
        if isinstance(event, Prefill):
            self._prefill = elapsed
            return
        self._elapsed = elapsed
        self._engine += event.evaluate_seconds
        self._forwards += 1
        self._output += len(event.tokens)
        draft, accepted = event.verdict.draft, event.verdict.accepted
        for position, name in enumerate(draft.drafters):
            if name == FILLER:
                break
            counts = self._by_drafter.setdefault(name, [0, 0])
            counts[0] += 1
            counts[1] += position < accepted
            self._proposed += 1
            self._accepted += position < accepted
            if position == len(self._reached):
                self._reached.append(0)
                self._survived.append(0)
            self._reached[position] += 1
            self._survived[position] += position < accepted

    def statistics(self) -> Statistics:
        """The counts so far."""
        return Statistics(
            self._prompt_tokens,
            self._reused_tokens,
            self._output,
            self._forwards,
            self._proposed,
            self._accepted,
            self._accepted / self._proposed if self._proposed else None,
            self._output / self._forwards if self._forwards else None,
            tuple(s / r for s, r in zip(self._survived, self._reached, strict=True)),
            tuple(DrafterCount(name, *counts) for name, counts in self._by_drafter.items()),
            self._prefill,
            max(0.0, self._elapsed - self._prefill),
            self._engine,
        )
