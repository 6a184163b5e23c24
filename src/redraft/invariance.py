"""Measures from how many tokens a forward on an engine's logits stop depending on the cut.

Quantised kernels differ by batch size, and a last-bit difference grows to 0.3 … 0.8 in a logit.
Either rows are bitwise equal or they visibly are not, so a short measurement decides. It does not
know engines beyond the protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from redraft.protocols import Engine, Logits, Progress, Sequence

_PROMPT = 128
_PROMPT_CUT = (64, 32, 24, 8)
"""Kernels were seen to change at forwards of 21, 32, 41 and 64 tokens: each class is tried."""
_TAIL = 16
CANDIDATES = (8, 4, 2, 1)
"""Numbers of tokens that are tried, the largest first."""
_CUTS = 3
"""Cuts that are compared for each of them."""


@dataclass(frozen=True, slots=True)
class Invariance:
    """What was measured."""

    invariant_from: int | None
    """Smallest tried number of tokens from which on all cuts agreed bitwise; None if none did."""
    mismatch_rate: float
    """Share of positions at which some cut, down to one token, changed the greedy token."""


def measure_invariance(
    engine: Engine, seed: int = 7, progress: Progress = lambda share: None
) -> Invariance:
    """Evaluate one random text in many cuts and compare logits bit by bit.

    `progress` gets the share that is done.

    About 50 small forwards and 256 tokens of prompt: 5 s with the 1.5B weights on two cores.
    Longer texts and contexts are compared by the conformance suite. Raises what the engine raises.
    """
    text = np.random.default_rng(seed).integers(0, engine.vocab_size, _PROMPT + _TAIL).tolist()
    prompt, tail = text[:_PROMPT], text[_PROMPT:]
    sequence = engine.open_sequence()
    try:
        progress(0.0)
        sequence.evaluate(prompt, rows=0)
        whole = _evaluate_tail(sequence, tail, (_TAIL,))
        sequence.truncate(0)
        _evaluate_cut(sequence, prompt, _PROMPT_CUT)
        cut = _evaluate_tail(sequence, tail, (_TAIL,))
        agrees = np.array_equal(cut, whole)
        changed = cut.argmax(1) != whole.argmax(1)
        invariant_from: int | None = None
        for number, smallest in enumerate(CANDIDATES):
            for part, logits in enumerate(_tails(sequence, prompt, tail, smallest)):
                progress((number + part / _CUTS) / len(CANDIDATES))
                agrees = agrees and np.array_equal(logits, whole)
                changed |= logits.argmax(1) != whole.argmax(1)
            if agrees:
                invariant_from = smallest
        return Invariance(invariant_from, float(changed.mean()))
    finally:
        sequence.close()


def _tails(
    sequence: Sequence, prompt: list[int], tail: list[int], smallest: int
) -> Iterator[Logits]:
    """Logits of the tail, [16, vocab], for cuts of tail and prompt into pieces down to a size."""
    yield _evaluate_tail(sequence, tail, (smallest,) * (_TAIL // smallest))
    yield _evaluate_tail(sequence, tail, (_TAIL - smallest, smallest))
    sequence.truncate(_PROMPT - smallest)
    sequence.evaluate(prompt[-smallest:], rows=0)
    yield _evaluate_tail(sequence, tail, (_TAIL,))


def _evaluate_tail(sequence: Sequence, tail: list[int], cut: tuple[int, ...]) -> Logits:
    """Logits of the tail after the prompt, [16, vocab], evaluated in forwards of these sizes."""
    sequence.truncate(_PROMPT)
    return np.concatenate(_evaluate_cut(sequence, tail, cut))


def _evaluate_cut(sequence: Sequence, tokens: list[int], cut: tuple[int, ...]) -> list[Logits]:
    """Logits of each piece of `tokens`, up to [64, vocab] each."""
    parts, start = [], 0
    for size in cut:
        parts.append(sequence.evaluate(tokens[start : start + size], rows=size))
        start += size
    return parts
