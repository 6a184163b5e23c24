"""What the gate sees of a drafted token: its drafter's estimate, the run so far, its syntax.

All of it is known before the target has judged the token. It does not know what a feature is worth.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from math import log, log1p

import numpy as np
from numpy.typing import NDArray

from redraft.protocols import DraftContext, SyntaxPlace, SyntaxView
from redraft.tokens import Draft, Step

NUMERIC = (
    "one",
    "estimate",
    "estimate_squared",
    "so_far",
    "run",
    "recent",
    "own_recent",
    "position",
    "depth",
)
"""Columns of `Features.numeric`: 1; log-odds of the drafter's estimate ÷ ODDS_SCALE, and their
square; logarithms of the estimated survival of all tokens before, and of the tokens since the last
rejection; shares accepted lately, of all and of this drafter; logarithms of position and depth."""
ODDS_SCALE = 4.0
"""Brings log-odds to the size of the other features."""
FIELDS = ("drafter", "evidence", "position", "kind", "token_class", "region", "handed")
"""Categorical fields, one category each per token."""
JUDGED = 16
"""Tokens of a draft that are judged: those behind them are seldom reached; training saw none."""
_MEMORY = 24.0
"""Tokens after which a judged one counts by 1 / e in the share accepted lately."""
_POSITIONS = (1, 2, 4, 8, 16)
_CERTAIN = 0.999


@dataclass(frozen=True, slots=True)
class Features:
    """Of a draft's tokens."""

    numeric: NDArray[np.float64]
    """float64[tokens, len(NUMERIC)]."""
    categories: tuple[tuple[str, ...], ...]
    """For each token one category per field, as `field=value`."""

    def first(self, count: int) -> Features:
        """Those of the first `count` tokens."""
        return Features(self.numeric[:count], self.categories[:count])


class FeatureReader:
    """Reads the features of drafts through one generation."""

    def __init__(self, syntax: SyntaxView | None = None) -> None:
        self._syntax = syntax
        self._begin()

    def _begin(self) -> None:
        self._run = 0
        self._recent = 0.7
        self._own: dict[str, float] = {}

    def start(self, context: DraftContext) -> None:
        """A new generation: what was accepted in the last one says nothing."""
        self._begin()

    def read(self, draft: Draft) -> Features:
        """Features of all tokens of `draft`, which is not empty."""
        run, recent, own = log1p(self._run), self._recent, self._own
        so_far, last = 0.0, draft.drafters[0]
        # one place for the whole draft: looking each token's up took 8 % of the time and brought
        # no token more
        place = self._syntax.place() if self._syntax is not None else None
        where, depth = _syntax_categories(place), log1p(place.depth) if place is not None else 0.0
        numbers: list[tuple[float, ...]] = []
        categories: list[tuple[str, ...]] = []
        for position, name in enumerate(draft.drafters):
            estimate = min(_CERTAIN, max(1.0 - _CERTAIN, draft.survival[position]))
            odds = log(estimate / (1.0 - estimate)) / ODDS_SCALE
            numbers.append(
                (1.0, odds, odds * odds, so_far, run / 4, recent, own.get(name, recent),
                 log1p(position) / 4, depth / 4)
            )  # fmt: skip
            categories.append(
                (
                    _category("drafter", name),
                    _category(name, draft.evidence[position]),
                    _category("position", bisect_right(_POSITIONS, position)),
                    *where,
                    _category("handed", "no" if name == last else f"{last}-{name}"),
                )
            )
            so_far, last = so_far + log(estimate), name
        return Features(np.array(numbers), tuple(categories))

    def commit(self, step: Step) -> NDArray[np.float64]:
        """Follow a finished step. Returns what became of its judged tokens, 1 for accepted:
        those up to the first rejected one."""
        draft, accepted = step.verdict.draft, step.verdict.accepted
        judged = min(draft.proposed, accepted + 1)
        if len(step.verdict.choices) <= accepted:
            judged = min(
                draft.proposed, accepted
            )  # the output ended inside the draft: no token was rejected
        for position in range(judged):
            good, name = float(position < accepted), draft.drafters[position]
            self._recent += (good - self._recent) / _MEMORY
            before = self._own.get(name, self._recent)
            self._own[name] = before + (good - before) / _MEMORY
        self._run = len(step.tokens) if judged > accepted else self._run + len(step.tokens)
        return np.array([position < accepted for position in range(judged)], dtype=np.float64)


@cache
def _category(field: str, value: str | int) -> str:
    return f"{field}={value}"


def _syntax_categories(place: SyntaxPlace | None) -> tuple[str, str, str]:
    if place is None:
        return ("kind=none", "token_class=none", "region=none")
    return (
        _category("kind", place.kind),
        _category("token_class", place.token_class),
        _category("region", place.region),
    )
