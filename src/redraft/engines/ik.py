"""The `ik` engine: quantised GGUF weights on x86-64 CPUs, several sequences, exact numerics.

Two sequences in one context give wrong logits in this library, so each has its own (see
`redraft.engines.native`). Weights are loaded with interleaved rows and flash attention, the
setting whose logits do not depend on how a text is cut into forwards. It does not know sampling or
drafting.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from redraft.engines import Opened, Opening, ik_library
from redraft.engines.batch import BatchBuffers
from redraft.engines.buffers import filled_bytes, filled_tokens
from redraft.engines.native import LARGEST_FORWARD, NativeEngine
from redraft.engines.progress import LoadProgress
from redraft.engines.validation import Ids
from redraft.engines.vocabulary import NativeTokenizer
from redraft.engines.watch import AbortFlag
from redraft.errors import ModelDamaged
from redraft.invariance import Invariance
from redraft.protocols import Logits, Tokenizer

_FLAGS = 0
"""Of the library's state functions: the whole state."""
_USER_DEFINED = 1 << 4
"""`LLAMA_TOKEN_ATTR_USER_DEFINED`."""


class IkWeights:
    """A weights file loaded by the library; see `redraft.engines.native.NativeWeights`."""

    def __init__(
        self,
        path: Path,
        threads: int,
        progress: Callable[[float], None] | None = None,
        vocabulary_only: bool = False,
    ) -> None:
        self._library = ik_library.load()
        self._threads = threads
        self._model = self._load(path, progress, vocabulary_only)
        self.vocab_size = int(self._library.llama_n_vocab(self._model))
        self._buffers = BatchBuffers(LARGEST_FORWARD)
        self._batch = ik_library.Batch()
        self._buffers.attach(self._batch)

    def _load(
        self, path: Path, progress: Callable[[float], None] | None, vocabulary_only: bool
    ) -> int:
        loading = LoadProgress(progress)
        params = self._library.llama_model_default_params()
        params.vocab_only = vocabulary_only
        params.repack_tensors, params.use_mmap, params.flash_attn = True, False, True
        params.progress_callback = loading.callback
        ik_library.MESSAGES.clear()
        model = self._library.llama_model_load_from_file(os.fsencode(path), params)
        loading.raise_error()
        if not model:
            reason = ik_library.MESSAGES.reason()
            raise ModelDamaged(f"{path} cannot be loaded by the ik engine: {reason}")
        return int(model)

    def open_context(self, context_length: int, flag: AbortFlag) -> int:
        """See `NativeWeights`."""
        params = self._library.llama_context_default_params()
        params.n_ctx = context_length
        params.n_batch = params.n_ubatch = LARGEST_FORWARD
        params.n_threads = params.n_threads_batch = self._threads
        params.flash_attn = True
        context = int(self._library.llama_init_from_model(self._model, params) or 0)
        if context:
            self._library.llama_set_abort_callback(context, flag.function, flag.data)
        return context

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

    def forget_from(self, context: int, position: int) -> bool:
        """See `NativeWeights`."""
        if position == 0:
            self._library.llama_kv_cache_clear(context)
            return True
        return bool(self._library.llama_kv_cache_seq_rm(context, 0, position, -1))

    def save(self, context: int) -> bytes:
        """See `NativeWeights`."""
        size = self._library.llama_state_seq_get_size(context, 0, _FLAGS)
        buffer = ctypes.create_string_buffer(size)
        written = self._library.llama_state_seq_get_data(context, buffer, size, 0, _FLAGS)
        return buffer.raw if written == size else b""

    def restore(self, context: int, state: bytes) -> bool:
        """See `NativeWeights`."""
        size = len(state)
        return bool(self._library.llama_state_seq_set_data(context, state, size, 0, _FLAGS))

    def tokenize(self, text: bytes, special: bool) -> list[int]:
        """See `NativeWeights`."""
        return filled_tokens(
            text,
            lambda buffer, room: self._library.llama_tokenize(
                self._model, text, len(text), buffer, room, False, special
            ),
        )

    def piece(self, token: int) -> bytes:
        """See `NativeWeights`."""
        if self._library.llama_token_is_control(self._model, token):
            return b""
        return filled_bytes(
            lambda buffer, room: self._library.llama_token_to_piece(
                self._model, token, buffer, room, 0, False
            )
        )

    def is_user_defined(self, token: int) -> bool:
        """See `NativeWeights`."""
        return bool(self._library.llama_token_get_attr(self._model, token) & _USER_DEFINED)

    def is_end(self, token: int) -> bool:
        """See `NativeWeights`."""
        return bool(self._library.llama_token_is_eog(self._model, token))

    def close(self) -> None:
        """See `NativeWeights`."""
        self._library.llama_free_model(self._model)


class IkEngine(NativeEngine):
    """Weights loaded once by ik.

    Raises EngineUnavailable or ModelDamaged. `progress` gets the loaded share (0 … 1).
    `invariance` is measured at first use unless a value from before is given.
    """

    def __init__(
        self,
        path: Path,
        context_length: int = 8192,
        threads: int = 2,
        live_sequences: int = 4,
        invariance: Invariance | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        weights = IkWeights(path, threads, progress)
        super().__init__(weights, context_length, live_sequences, invariance)


class IkTokenizer(NativeTokenizer):
    """Text and token ids by the vocabulary of an `IkEngine`."""


def open_ik(opening: Opening) -> Opened:
    """The registry's factory."""
    engine = IkEngine(
        opening.path,
        opening.context_length,
        opening.threads,
        opening.live_sequences,
        opening.invariance,
        opening.progress,
    )
    return Opened(engine, IkTokenizer(engine))


def open_ik_tokenizer(path: Path) -> Tokenizer:
    """The vocabulary alone: a third of a second and 100 MB, where the weights are a gigabyte."""
    weights = IkWeights(path, threads=1, vocabulary_only=True)
    return IkTokenizer(NativeEngine(weights, 0, 1, None))
