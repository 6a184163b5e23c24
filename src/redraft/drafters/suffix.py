"""Drafts what followed the longest earlier occurrence of the text that was just written.

Two suffix automata are searched: one over this generation's prompt and output, one over earlier
outputs of the session. An automaton gives the longest match for the price of one step per token,
however long the match, and knows how often and how lately each continuation occurred.

Knows token ids only. Does not know which part of the prompt is a file being edited, so it cannot
tell two equal places in it apart; that is the `source` drafter's work.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from redraft.drafters import Resources
from redraft.protocols import DraftContext
from redraft.survival import SurvivalTable
from redraft.tokens import NO_DRAFT, Draft, Verdict

Match: TypeAlias = tuple[int, int]
"""An automaton's state and how many of the last tokens it stands for."""

COUNTED_LINKS = 32
"""Suffixes of one position that are counted. In code few positions have more; in a long run of
one token each has as many as the run is long, and counting them all would take quadratic time."""

MOST_CONTINUATIONS = 64
"""A context with more different continuations than this says nothing about the next token."""

LENGTHS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 32)
"""Lower ends of the match length bins."""

# Acceptance by match length (rows, as LENGTHS) and by how far the occurrences agree (columns: one
# occurrence; several, all with this continuation; more than half; at most half). Measured on
# greedy output of Qwen2.5-Coder-1.5B-Instruct Q4_K_M: 40 functions from signature and docstring,
# 65 fill-in-the-middle spans and 5 whole-file edits, all from installed packages, 14,700 tokens,
# every position once; made monotone in length (isotonic regression, Laplace's +1). On 11,300
# tokens not among them (HumanEval functions and spans, other edits), tokens estimated at about
# 0.1, 0.2, 0.4, 0.6, 0.8, 0.9 and 1.0 were accepted at 0.16, 0.21, 0.40, 0.50, 0.75, 0.88, 0.99.
# fmt: off
OWN_PRIORS = (
    0.40, 0.44, 0.25, 0.18,
    0.57, 0.59, 0.35, 0.20,
    0.64, 0.61, 0.56, 0.20,
    0.76, 0.76, 0.56, 0.20,
    0.78, 0.94, 0.56, 0.20,
    0.83, 0.94, 0.90, 0.20,
    0.91, 0.97, 0.90, 0.20,
    0.93, 0.97, 0.90, 0.27,
    0.985, 0.97, 0.90, 0.50,
    0.995, 0.97, 0.90, 0.50,
)
# The same for earlier outputs, here those of unrelated tasks. There was next to nothing from 12
# tokens on; those rows continue towards the table above, as repeated tasks do in a session.
STORE_PRIORS = (
    0.14, 0.43, 0.32, 0.10,
    0.24, 0.56, 0.32, 0.10,
    0.27, 0.75, 0.40, 0.12,
    0.41, 0.78, 0.40, 0.18,
    0.52, 0.78, 0.50, 0.18,
    0.58, 0.84, 0.59, 0.20,
    0.66, 0.84, 0.59, 0.20,
    0.75, 0.88, 0.70, 0.27,
    0.85, 0.92, 0.80, 0.40,
    0.95, 0.95, 0.90, 0.50,
)
# fmt: on
PRIORS = OWN_PRIORS + STORE_PRIORS

FLOOR = 0.02
"""A draft ends where the chance that all of it is accepted falls below this."""

STORE_TOKENS = 32_768
"""Tokens of earlier outputs that are kept; about 15 MB of automaton."""

STORE_CONTEXT = 64
"""Last prompt tokens that are matched against earlier outputs when a generation starts."""


class Continuation(NamedTuple):
    """What followed a matched context most often (most lately, among equals)."""

    token: int
    length: int
    """Tokens of context that match."""
    seen: int
    """Earlier occurrences of the context with this continuation."""
    total: int
    """Earlier occurrences of the context."""


class SuffixAutomaton:
    """All substrings of a growing token stream, each with its number of occurrences and last end.

    Built online after Blumer et al. (1985): `extend` takes amortised constant time. A state stands
    for substrings that occur at the same places; its suffix link leads to the longest suffix that
    occurs at more places. Counts are exact up to `COUNTED_LINKS` suffixes of each position.
    """

    def __init__(self) -> None:
        self._next: list[dict[int, int]] = [{}]
        self._link = [-1]
        self._length = [0]
        self._count = [0]
        self._end = [0]
        self._last = 0
        self.size = 0
        """Tokens so far."""

    def extend(self, token: int) -> None:
        """Append one token."""
        following, link, length = self._next, self._link, self._length
        state = self._append_state(length[self._last] + 1, {}, 0, 0)
        self.size += 1
        walk = self._last
        while walk >= 0 and token not in following[walk]:
            following[walk][token] = state
            walk = link[walk]
        if walk >= 0:
            target = following[walk][token]
            if length[target] != length[walk] + 1:
                target = self._split(walk, token, target)
            link[state] = target
        self._last = state
        self._count_suffixes(state)

    def _append_state(self, length: int, following: dict[int, int], count: int, end: int) -> int:
        self._next.append(following)
        self._link.append(0)
        self._length.append(length)
        self._count.append(count)
        self._end.append(end)
        return len(self._link) - 1

    def _split(self, walk: int, token: int, target: int) -> int:
        """Give the suffixes that reach `target` from `walk` and shorter a state of their own."""
        following, link = self._next, self._link
        clone = self._append_state(
            self._length[walk] + 1,
            dict(following[target]),
            self._count[target],
            self._end[target],
        )
        link[clone] = link[target]
        while walk >= 0 and following[walk].get(token) == target:
            following[walk][token] = clone
            walk = link[walk]
        link[target] = clone
        return clone

    def _count_suffixes(self, state: int) -> None:
        count, end, link, size = self._count, self._end, self._link, self.size
        for _ in range(COUNTED_LINKS):
            if state <= 0:
                return
            count[state] += 1
            end[state] = size
            state = link[state]

    @property
    def match(self) -> Match:
        """The longest suffix of the stream that also occurred earlier in it."""
        state = self._link[self._last]
        return (state, self._length[state]) if state > 0 else (0, 0)

    def advance(self, match: Match, token: int) -> Match:
        """The longest match after one more token, which is not added to the stream."""
        state, length = match
        following = self._next
        while token not in following[state]:
            if state == 0:
                return 0, 0
            state = self._link[state]
            length = self._length[state]
        return following[state][token], length + 1

    def continuation(self, match: Match) -> Continuation | None:
        """What followed the longest suffix of the match that was followed by anything."""
        state, length = match
        while state > 0 and not self._next[state]:
            state = self._link[state]
            length = self._length[state]
        following = self._next[state]
        if state == 0 or len(following) > MOST_CONTINUATIONS:
            return None
        count, end = self._count, self._end
        best = most = latest = total = 0
        for token, child in following.items():
            seen = count[child]
            total += seen
            if seen > most or (seen == most and end[child] > latest):
                best, most, latest = token, seen, end[child]
        return Continuation(best, length, most, total)


class OutputStore:
    """Earlier outputs of a session, the oldest dropped when there are more than `limit` tokens."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._outputs: deque[tuple[int, ...]] = deque()
        self._tokens = 0
        self._separator = 0
        self.automaton = SuffixAutomaton()

    def add(self, output: Iterable[int]) -> None:
        """Keep one finished output, its last `limit` tokens if it is longer."""
        whole = tuple(output)
        kept = whole[max(0, len(whole) - self._limit) :]
        if not kept:
            return
        self._outputs.append(kept)
        self._tokens += len(kept)
        if self._tokens <= self._limit:
            self._extend(kept)
            return
        # An automaton cannot forget. Half is dropped at once, so that rebuilding stays rare.
        while self._tokens > self._limit // 2 and len(self._outputs) > 1:
            self._tokens -= len(self._outputs.popleft())
        self.automaton = SuffixAutomaton()
        for remaining in self._outputs:
            self._extend(remaining)

    def clear(self) -> None:
        """Forget all outputs."""
        self._outputs.clear()
        self._tokens = 0
        self.automaton = SuffixAutomaton()

    def _extend(self, output: tuple[int, ...]) -> None:
        extend = self.automaton.extend
        for token in output:
            extend(token)
        # Each output ends in a negative number of its own, so that no match crosses outputs.
        self._separator -= 1
        extend(self._separator)


class SuffixDrafter:
    """Longest match in this prompt and output, or in earlier outputs of the session.

    Uncommitted tokens (`after`) are matched, but nothing is matched against them. Each token is
    taken from the source whose estimate is higher, this generation's on a tie. `start` moves the
    output of the generation before it to the store; `forget` empties the store and what was
    learned about acceptance.
    """

    name = "suffix"

    def __init__(self, store_tokens: int = STORE_TOKENS) -> None:
        self._store = OutputStore(store_tokens)
        self._survival = SurvivalTable(PRIORS)
        self._output: list[int] = []
        self._written = SuffixAutomaton()
        self._stored: Match = (0, 0)

    @staticmethod
    def build(resources: Resources) -> SuffixDrafter:
        """A drafter with an empty store; it needs none of the resources."""
        return SuffixDrafter()

    def start(self, context: DraftContext) -> None:
        """Index the prompt (about a millisecond per 1,200 tokens)."""
        self._store.add(self._output)
        self._output = []
        self._written = SuffixAutomaton()
        prompt = context.reading_order()
        for token in prompt:
            self._written.extend(token)
        self._stored = (0, 0)
        for token in prompt[-STORE_CONTEXT:]:
            self._stored = self._store.automaton.advance(self._stored, token)

    def forget(self) -> None:
        """Forget earlier outputs and observed acceptance; this generation goes on."""
        self._store.clear()
        self._stored = (0, 0)
        self._survival = SurvivalTable(PRIORS)

    def propose(self, limit: int, after: tuple[int, ...] = ()) -> Draft:
        """Follow the longest match, which grows as the draft does."""
        written, stored = self._written, self._store.automaton
        matches = written.match, self._stored
        for token in after:
            matches = written.advance(matches[0], token), stored.advance(matches[1], token)
        tokens: list[int] = []
        survival: list[float] = []
        evidence: list[int] = []
        certainty = 1.0
        while len(tokens) < limit:
            token, estimate, bin_ = self._guess(*matches)
            certainty *= estimate
            if token < 0 or certainty < FLOOR:
                break
            tokens.append(token)
            survival.append(estimate)
            evidence.append(bin_)
            matches = written.advance(matches[0], token), stored.advance(matches[1], token)
        if not tokens:
            return NO_DRAFT
        return Draft(tuple(tokens), tuple(survival), (self.name,) * len(tokens), tuple(evidence))

    def commit(self, verdict: Verdict) -> None:
        """Append the committed tokens and learn how the own ones fared."""
        stored = self._store.automaton
        for token in verdict.tokens:
            self._output.append(token)
            self._written.extend(token)
            self._stored = stored.advance(self._stored, token)
        self._survival.observe(verdict, self.name)

    def _guess(self, written: Match, stored: Match) -> tuple[int, float, int]:
        """(token, estimate, bin) of the better source; the token is negative when there is none."""
        best = (-1, 0.0, 0)
        here = self._written.continuation(written)
        if here is not None:
            bin_ = _bin(here)
            best = here.token, self._survival.estimate(bin_), bin_
        there = self._store.automaton.continuation(stored)
        if there is not None and there.token >= 0:
            bin_ = _bin(there) + len(OWN_PRIORS)
            estimate = self._survival.estimate(bin_)
            if estimate > best[1]:
                best = there.token, estimate, bin_
        return best


def _bin(found: Continuation) -> int:
    """Match length, then how far the occurrences agree: one only, all, most, or fewer."""
    if found.total == 1:
        agreement = 0
    elif found.seen == found.total:
        agreement = 1
    else:
        agreement = 2 if 2 * found.seen > found.total else 3
    return (bisect_right(LENGTHS, found.length) - 1) * 4 + agreement
