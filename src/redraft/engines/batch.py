"""The arrays behind a `llama_batch` of one sequence, reused for every forward.

It knows no library, only that both have such a structure.
"""

from __future__ import annotations

import ctypes

import numpy as np

from redraft.engines.validation import Ids

_INT32 = ctypes.POINTER(ctypes.c_int32)


class BatchBuffers:
    """Room for `largest` tokens, all of sequence 0."""

    def __init__(self, largest: int) -> None:
        self._tokens = np.zeros(largest, dtype=np.int32)
        self._positions = np.zeros(largest, dtype=np.int32)
        self._counts = np.ones(largest, dtype=np.int32)
        self._outputs = np.zeros(largest, dtype=np.int8)
        self._sequence = (ctypes.c_int32 * 1)(0)
        first = ctypes.cast(self._sequence, _INT32)
        self._owners = (_INT32 * largest)(*[first] * largest)

    def attach(self, batch: ctypes.Structure) -> None:
        """Point a batch structure here; it is valid as long as this object lives."""
        batch.token = self._tokens.ctypes.data_as(_INT32)
        batch.pos = self._positions.ctypes.data_as(_INT32)
        batch.n_seq_id = self._counts.ctypes.data_as(_INT32)
        batch.seq_id = self._owners
        batch.logits = self._outputs.ctypes.data_as(ctypes.POINTER(ctypes.c_int8))

    def fill(self, ids: Ids, start: int, outputs: int) -> None:
        """Tokens `ids` from position `start` on; the last `outputs` of them give logits."""
        size = len(ids)
        self._tokens[:size] = ids
        self._positions[:size] = np.arange(start, start + size)
        self._outputs[:size] = 0
        self._outputs[size - outputs : size] = 1
