"""What a run gives: events while it is under way, and the result. It does not know how."""

from __future__ import annotations

from dataclasses import dataclass

from redraft.invariance import Invariance
from redraft.requests import Kind
from redraft.statistics import Statistics
from redraft.tokens import FinishReason, Prefill, Step


@dataclass(frozen=True, slots=True)
class Progress:
    """One event of a run, and the text that became visible with it."""

    event: Prefill | Step
    text: str


@dataclass(frozen=True, slots=True)
class Result:
    """What came out."""

    kind: Kind
    text: str
    tokens: tuple[int, ...]
    finish_reason: FinishReason
    stopped_by: str | None
    """The stop string that ended the output, if one did; `text` ends before it."""
    exact: bool
    exact_because: str
    """Why the tokens are those the target alone would give, or why that is not promised."""
    statistics: Statistics
    plain_seconds: float
    """What one token a forward would have taken about for these tokens: an estimate from the cost
    curve's shape and this run's forwards, to be compared with `statistics.decode_seconds`."""
    run_id: str | None = None


def exactness(invariance: Invariance, numerics: str) -> tuple[bool, str]:
    """Whether all tokens are those the target alone would give, and why, or why that is not
    promised."""
    if numerics == "fast":
        return False, "numerics: one-token forwards round differently (--numerics fast)"
    if invariance.invariant_from is None:
        return False, (
            f"numerics: this engine rounds differently by batch size, which changed "
            f"{invariance.mismatch_rate:.0%} of the tokens when measured"
        )
    return True, "every token is the target's own choice, and its logits do not depend on the draft"
