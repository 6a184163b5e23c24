"""Samplers: from one row of logits to the target's choice.

A sampler is a pure function of its arguments and the seed, so that plain and drafted decoding,
forks, resumption and replay agree. It does not know drafts or engines.
"""

from __future__ import annotations

from collections.abc import Sequence as Tokens

import numpy as np
from numpy.typing import NDArray

from redraft.errors import UsageError
from redraft.protocols import Sampler
from redraft.tokens import Choice

_COLDEST = 1e-200
"""Colder is greedy all the same, and dividing logits by it would overflow."""


def make_sampler(
    temperature: float = 0.0,
    top_p: float = 1.0,
    top_k: int = 0,
    min_p: float = 0.0,
    seed: int = 0,
    index: int = 0,
    top: int = 0,
) -> Sampler:
    """A sampler; greedy at temperature 0 (the lowest token id wins a tie).

    Truncation is on the distribution before temperature, in llama.cpp's order: `top_k` most
    probable (0: all), then the smallest set whose mass reaches `top_p`, then those of at least
    `min_p` times the most probable. Randomness is keyed by (seed, index, number of tokens before):
    `index` tells the choices of an `n` > 1 request apart. Each Choice carries `top` alternatives.

    Raises UsageError for values out of range.
    """
    _require(0.0 <= temperature <= 100.0, "temperature", temperature, "0 … 100")
    _require(0.0 < top_p <= 1.0, "top_p", top_p, "above 0, at most 1")
    _require(top_k >= 0, "top_k", top_k, "0 (all) or more")
    _require(0.0 <= min_p <= 1.0, "min_p", min_p, "0 … 1")
    _require(0 <= seed < 2**64, "seed", seed, "0 … 2^64 - 1")
    _require(0 <= index < 2**64, "index", index, "0 … 2^64 - 1")
    _require(0 <= top <= 100, "top", top, "0 … 100")

    def sample(row: NDArray[np.float32], tokens_before: Tokens[int]) -> Choice:
        best = int(row.argmax())
        log_total = _log_sum_exp(row, float(row[best]))
        if temperature == 0.0:
            token = best
        else:
            ids, logits = _truncate(row, log_total, top_p, top_k, min_p)
            scaled = (logits - logits.max()) / max(temperature, _COLDEST)
            token = _draw(ids, scaled, (seed, index), len(tokens_before))
        return Choice(token, float(row[token]) - log_total, _best(row, log_total, top))

    return sample


def _require(holds: bool, name: str, value: object, allowed: str) -> None:
    if not holds:
        raise UsageError(f"{name} is {value}; it must be {allowed}")


def _log_sum_exp(row: NDArray[np.float32], largest: float) -> float:
    return largest + float(np.log(np.exp(row - np.float32(largest)).sum(dtype=np.float64)))


def _truncate(
    row: NDArray[np.float32], log_total: float, top_p: float, top_k: int, min_p: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Ids and logits (both [kept]) of the tokens that may be drawn."""
    ids = np.arange(len(row))
    logits = row.astype(np.float64)
    if 0 < top_k < len(row):
        # a stable order among equals keeps the choice independent of the partition algorithm
        ids = np.flatnonzero(row >= np.partition(row, -top_k)[-top_k])
        ids = ids[np.argsort(-logits[ids], kind="stable")[:top_k]]
        log_total = float(np.logaddexp.reduce(logits[ids]))
    if top_p < 1.0:
        # tokens below (1 - top_p) / vocabulary weigh less than 1 - top_p together, so the nucleus
        # lies within the others and only those need sorting
        probabilities = np.exp(logits[ids] - log_total)
        near = np.flatnonzero(probabilities >= (1.0 - top_p) / len(row))
        order = near[np.argsort(-probabilities[near], kind="stable")]
        reached = int(np.searchsorted(np.cumsum(probabilities[order]), top_p)) + 1
        ids = ids[order[:reached]]
    if min_p > 0.0:
        ids = ids[logits[ids] >= float(row.max()) + np.log(min_p)]
    return ids, logits[ids]


def _draw(
    ids: NDArray[np.int64], logits: NDArray[np.float64], key: tuple[int, int], position: int
) -> int:
    """One id by inverse transform sampling of softmax(logits), with counter-based randomness.

    The largest of `logits` is 0.
    """
    words = np.array(key, dtype=np.uint64)  # a tuple with a seed of 2^63 or more becomes floats
    uniform = np.random.Generator(np.random.Philox(key=words, counter=position)).random()
    cumulative = np.cumsum(np.exp(logits))
    drawn = int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))
    return int(ids[min(drawn, len(ids) - 1)])


def _best(row: NDArray[np.float32], log_total: float, count: int) -> tuple[tuple[int, float], ...]:
    if count == 0:
        return ()
    count = min(count, len(row))
    ids = np.argpartition(row, -count)[-count:]
    ids = ids[np.lexsort((ids, -row[ids]))]
    return tuple((int(token), float(row[token]) - log_total) for token in ids)
