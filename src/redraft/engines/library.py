"""What the two C libraries of the llama.cpp family spell alike: loading, batches, logits.

What they spell differently stands in their engines' modules. It does not know which library it is
given, text, sampling or drafting.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import numpy as np

from redraft.engines import Opened, Opening
from redraft.engines.batch import BatchBuffers
from redraft.engines.messages import LibraryMessages
from redraft.engines.native import LARGEST_FORWARD, NativeEngine, NativeWeights
from redraft.engines.progress import LoadProgress
from redraft.engines.validation import Ids
from redraft.engines.vocabulary import NativeTokenizer
from redraft.errors import ModelDamaged
from redraft.protocols import Logits, Tokenizer

Library = Any
"""The functions of a library, which Python sees no types of."""


def load_model(
    library: Library, path: Path, params: object, loading: LoadProgress, messages: LibraryMessages
) -> int:
    """The library's pointer to loaded weights. Raises ModelDamaged with the reason it logged, and
    what the report of the progress raised."""
    messages.clear()
    model = library.llama_model_load_from_file(os.fsencode(path), params)
    loading.raise_error()
    if not model:
        raise ModelDamaged(f"{path} cannot be loaded: {messages.reason()}")
    return int(model)


class LibraryWeights:
    """The part of `redraft.engines.native.NativeWeights` that is the same in both libraries."""

    def __init__(
        self, library: Library, model: int, vocab_size: int, batch: ctypes.Structure
    ) -> None:
        self._library = library
        self._model = model
        self.vocab_size = vocab_size
        self._buffers = BatchBuffers(LARGEST_FORWARD)
        self._batch = batch
        self._buffers.attach(batch)

    def close_context(self, context: int) -> None:
        """See `NativeWeights`."""
        self._library.llama_free(context)

    def forward(self, context: int, ids: Ids, start: int, outputs: int) -> int:
        """See `NativeWeights`."""
        self._buffers.fill(ids, start, outputs)
        self._batch.n_tokens = len(ids)
        return int(self._library.llama_decode(context, self._batch))

    def logits(self, context: int, rows: int) -> Logits:
        """See `NativeWeights`."""
        pointer = self._library.llama_get_logits(context)
        return np.ctypeslib.as_array(pointer, shape=(rows, self.vocab_size)).copy()


def opened(weights: NativeWeights, opening: Opening) -> Opened:
    """An engine over loaded weights, and their vocabulary."""
    engine = NativeEngine(
        weights, opening.context_length, opening.live_sequences, opening.invariance
    )
    return Opened(engine, NativeTokenizer(engine))


def vocabulary_of(weights: NativeWeights) -> Tokenizer:
    """The vocabulary of weights that were loaded without anything else."""
    return NativeTokenizer(NativeEngine(weights, 0, 1, None))
