"""Measures from how many tokens a forward on an engine's logits stop depending on the cut.

Quantised kernels differ by batch size, and a last-bit difference grows to 0.3 … 0.8 in a logit.
Either rows are bitwise equal or they visibly are not, so a short measurement decides. It does not
know engines beyond the protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from redraft.protocols import Engine, Logits, Sequence

_PROMPT = 96
_TAIL = 24
_CANDIDATES = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Invariance:
    """What was measured."""

    invariant_from: int | None
    """Smallest tried number of tokens from which on all cuts agreed bitwise; None if none did."""
    mismatch_rate: float
    """Share of positions at which some cut of at least one token changed the greedy token."""


def measure_invariance(engine: Engine, seed: int = 7) -> Invariance:
    """Evaluate one random text in many cuts and compare logits bit by bit.

    Takes about 15 forwards of up to 96 tokens. Raises what the engine raises.
    """
    tokens = np.random.default_rng(seed).integers(0, engine.vocab_size, _PROMPT + _TAIL)
    text = [int(token) for token in tokens]
    sequence = engine.open_sequence()
    try:
        whole = _evaluate(sequence, text, [_PROMPT, _TAIL])
        invariant_from: int | None = None
        changed = np.zeros(_TAIL, dtype=bool)
        for smallest in reversed(_CANDIDATES):
            agree = True
            for cuts in _cuts(smallest):
                logits = _evaluate(sequence, text, cuts)
                agree = agree and bool(np.array_equal(logits, whole))
                changed |= logits.argmax(axis=1) != whole.argmax(axis=1)
            if not agree:
                break
            invariant_from = smallest
        return Invariance(invariant_from, float(changed.mean()))
    finally:
        sequence.close()


def _cuts(smallest: int) -> Iterator[list[int]]:
    """Ways to cut prompt and tail in which the smallest forward has `smallest` tokens."""
    yield [_PROMPT, *[smallest] * (_TAIL // smallest)]
    yield [_PROMPT, _TAIL - smallest, smallest]
    yield [_PROMPT, smallest, _TAIL - smallest]
    yield [_PROMPT - smallest, smallest, _TAIL]
    yield [_PROMPT // 2 - 1, _PROMPT // 2 + 1, _TAIL // 2, _TAIL // 2]


def _evaluate(sequence: Sequence, text: list[int], cuts: list[int]) -> Logits:
    """Logits of the last 24 tokens, evaluated in forwards of these sizes."""
    sequence.truncate(0)
    rows, start = [], 0
    for size in cuts:
        wanted = size if start >= _PROMPT else 0
        rows.append(sequence.evaluate(text[start : start + size], rows=wanted))
        start += size
    return np.concatenate([part for part in rows if len(part)])
