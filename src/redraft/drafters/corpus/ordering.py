"""Sorts the positions of a token stream by the tokens before them. Knows arrays only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

DEPTH = 24
"""Tokens before a position that decide its place; the longest match that can be told apart."""


def context_order(
    tokens: NDArray[np.int32], vocab_size: int, check: Callable[[], None] = lambda: None
) -> NDArray[np.int32]:
    """Positions p of `tokens`, sorted by (tokens[p-1], tokens[p-2], … tokens[p-DEPTH]).

    `tokens` holds ids below `vocab_size`, and -1 before the first token of each file. Positions
    that have no context or no continuation (beside a -1) are left out: int32[fewer than n].

    Prefix doubling (Manber and Myers, 1990) on packed keys: the first sort looks at as many tokens
    as 63 bits hold, each further one doubles that. Ten million tokens take about six seconds and
    half a gigabyte. `check` is called before each sort and may raise to stop.
    """
    shifted = tokens.astype(np.int64) + 1
    width = max(1, vocab_size.bit_length())
    depth = max(1, 63 // width)
    key = np.zeros(len(tokens) + 1, np.int64)  # by position, 0 … n
    for back in range(depth):
        key <<= width
        key[back + 1 :] |= shifted[: max(0, len(tokens) - back)]
    del shifted
    check()
    order = np.argsort(key)
    while depth < DEPTH:
        rank = _ranks(key, order)
        key = rank.astype(np.int64) << 32
        key[depth:] |= rank[: max(0, len(rank) - depth)]
        check()
        order = np.argsort(key)
        depth *= 2
    del key
    order = order[(order > 0) & (order < len(tokens))]
    useful = (tokens[order - 1] >= 0) & (tokens[order] >= 0)
    return order[useful].astype(np.int32)


def _ranks(key: NDArray[np.int64], order: NDArray[np.intp]) -> NDArray[np.int32]:
    """The dense rank of each key: int32[len(key)]."""
    inorder = key[order]
    steps = np.zeros(len(key), np.int32)
    np.cumsum(inorder[1:] != inorder[:-1], out=steps[1:])
    rank = np.empty(len(key), np.int32)
    rank[order] = steps
    return rank


def bucket_starts(
    tokens: NDArray[np.int32], order: NDArray[np.int32], vocab_size: int
) -> NDArray[np.int32]:
    """Where the positions after each token begin in `order`: int32[vocab_size + 1]."""
    counts = np.bincount(tokens[order - 1], minlength=vocab_size)
    starts = np.zeros(vocab_size + 1, np.int32)
    np.cumsum(counts, out=starts[1:])
    return starts
