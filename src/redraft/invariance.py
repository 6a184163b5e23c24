"""Measures from how many tokens a forward on an engine's logits stop depending on the cut.

Quantised kernels differ by batch size, and a last-bit difference grows to 0.3 … 0.8 in a logit.
Either rows are bitwise equal or they visibly are not, so a short measurement decides. It does not
know engines beyond the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from redraft.protocols import Engine, Logits, Sequence

_PROMPT = 32
_TAIL = 16
_CANDIDATES = (8, 4, 2, 1)


@dataclass(frozen=True, slots=True)
class Invariance:
    """What was measured."""

    invariant_from: int | None
    """Smallest tried number of tokens from which on all cuts agreed bitwise; None if none did."""
    mismatch_rate: float
    """Share of positions at which some cut of at least one token changed the greedy token."""


def measure_invariance(engine: Engine, seed: int = 7) -> Invariance:
    """Evaluate one random text in many cuts and compare logits bit by bit.

    About 50 small forwards: 2.5 s with the 1.5B weights on two cores. Longer texts and contexts
    are compared by the conformance suite. Raises what the engine raises.
    """
    text = np.random.default_rng(seed).integers(0, engine.vocab_size, _PROMPT + _TAIL).tolist()
    prompt, tail = text[:_PROMPT], text[_PROMPT:]
    sequence = engine.open_sequence()
    try:
        sequence.evaluate(prompt, rows=0)
        whole = _evaluate_tail(sequence, tail, [_TAIL])
        invariant_from: int | None = None
        changed = np.zeros(_TAIL, dtype=bool)
        for smallest in _CANDIDATES:
            cuts = [[smallest] * (_TAIL // smallest), [_TAIL - smallest, smallest]]
            tails = [_evaluate_tail(sequence, tail, cut) for cut in cuts]
            tails.append(_evaluate_cut_prompt(sequence, prompt, tail, smallest))
            changed |= np.any([part.argmax(1) != whole.argmax(1) for part in tails], axis=0)
            if not all(np.array_equal(part, whole) for part in tails):
                break
            invariant_from = smallest
        return Invariance(invariant_from, float(changed.mean()))
    finally:
        sequence.close()


def _evaluate_tail(sequence: Sequence, tail: list[int], cut: list[int]) -> Logits:
    """Logits of the tail, [16, vocab], evaluated in forwards of these sizes after the prompt."""
    sequence.truncate(_PROMPT)
    parts, start = [], 0
    for size in cut:
        parts.append(sequence.evaluate(tail[start : start + size], rows=size))
        start += size
    return np.concatenate(parts)


def _evaluate_cut_prompt(
    sequence: Sequence, prompt: list[int], tail: list[int], smallest: int
) -> Logits:
    """The same with the prompt cut so that its last forward is the smallest."""
    sequence.truncate(0)
    sequence.evaluate(prompt[:-smallest], rows=0)
    sequence.evaluate(prompt[-smallest:], rows=0)
    return _evaluate_tail(sequence, tail, [_TAIL])
