"""Drafters that do what a drafter should not, or does best: for tests that must hold for any."""

from __future__ import annotations

from collections.abc import Sequence as Tokens

from redraft.protocols import DraftContext
from redraft.tokens import Draft, Verdict

BEHAVIOURS = ("empty", "right", "wrong", "random", "mostly right", "too long", "stop", "short")
CLAIMS = (0.0, 0.3, 0.9, 1.0)


class Adversary:
    """A drafter that knows what plain decoding says, and makes of it what its behaviour is.

    `truth` is prompt and output of plain decoding, and `ends` the tokens that end an output. It
    claims any survival.
    """

    def __init__(self, behaviour: str, truth: Tokens[int], ends: Tokens[int], seed: int) -> None:
        self.name = f"{behaviour} {seed}"
        self.behaviour = behaviour
        self.seed = seed
        self._truth = truth
        self._ends = ends
        self._length = 0

    def start(self, context: DraftContext) -> None:
        self._length = len(context.prompt)

    def propose(self, limit: int, after: tuple[int, ...] = ()) -> Draft:
        position = self._length + len(after)
        count = self._count(limit, self._dice(position, 1))
        tokens = tuple(self._token(position + ahead) for ahead in range(count))
        survival = tuple(CLAIMS[token % len(CLAIMS)] for token in tokens)
        return Draft(tokens, survival, (self.name,) * count, (0,) * count)

    def commit(self, verdict: Verdict) -> None:
        self._length += len(verdict.choices)

    def _dice(self, position: int, purpose: int) -> int:
        """A number that looks random and is always the same, as proposing must change nothing."""
        return hash((self.seed, position, purpose)) >> 7

    def _count(self, limit: int, dice: int) -> int:
        if self.behaviour == "empty":
            return 0
        if self.behaviour == "too long":
            return limit + 1 + dice % 8
        return min(limit, dice % (3 if self.behaviour == "short" else 12))

    def _token(self, position: int) -> int:
        dice = self._dice(position, 2)
        right = self._truth[position] if position < len(self._truth) else dice % 256
        wrong = (right + 1 + dice % 254) % 256
        match self.behaviour:
            case "wrong":
                return wrong
            case "random":
                return dice % 256
            case "mostly right":
                return right if dice % 5 else wrong
            case "stop":
                return right if dice % 3 else self._ends[dice % len(self._ends)]
        return right
