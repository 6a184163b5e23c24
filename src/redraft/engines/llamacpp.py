"""The `llamacpp` engine: GGUF weights where ik has no wheel, and on the GPUs llama.cpp supports.

It stands on the low-level functions of `llama-cpp-python`. In this library logits depend on how
a text is cut into forwards, so no equality is promised (`invariant_from` is measured all the
same). On a GPU a forward in flight is not aborted; cancellation then waits for at most 128
tokens. It does not know sampling or drafting.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType

import numpy as np

from redraft.engines import Opened, Opening
from redraft.engines.batch import BatchBuffers
from redraft.engines.buffers import filled_bytes, filled_tokens
from redraft.engines.messages import LibraryMessages
from redraft.engines.native import LARGEST_FORWARD, NativeEngine
from redraft.engines.progress import LoadProgress
from redraft.engines.spinning import sleep_at_barriers
from redraft.engines.validation import Ids
from redraft.engines.vocabulary import NativeTokenizer
from redraft.engines.watch import AbortFlag
from redraft.errors import EngineUnavailable, ModelDamaged
from redraft.invariance import Invariance
from redraft.protocols import MAX_ROWS, Logits, Tokenizer

SUPPORTED_VERSION = "0.3.36"
INSTALL_HINT = "install it with: pip install 'redraft[llamacpp]' (it compiles for some minutes)"
MESSAGES = LibraryMessages()


@cache
def load() -> ModuleType:
    """The module of C functions, set up once a process.

    Raises EngineUnavailable where the package is missing, of another version or not loadable.
    """
    try:
        found = version("llama-cpp-python")
    except PackageNotFoundError as error:
        raise EngineUnavailable(f"the llamacpp engine is not installed; {INSTALL_HINT}") from error
    if found != SUPPORTED_VERSION:
        raise EngineUnavailable(
            f"llama-cpp-python is {found}, and {SUPPORTED_VERSION} is needed; {INSTALL_HINT}"
        )
    sleep_at_barriers()
    try:
        library = import_module("llama_cpp.llama_cpp")
    except (ImportError, OSError, RuntimeError) as error:
        raise EngineUnavailable(f"llama-cpp-python does not load here: {error}") from error
    library.llama_log_set(
        ctypes.cast(MESSAGES.callback, library.llama_log_callback), ctypes.c_void_p(0)
    )
    library.llama_backend_init()
    return library


class LlamaCppWeights:
    """A weights file loaded by the library; see `redraft.engines.native.NativeWeights`."""

    def __init__(
        self,
        path: Path,
        threads: int,
        progress: Callable[[float], None] | None = None,
        vocabulary_only: bool = False,
    ) -> None:
        self._library = load()
        self._threads = threads
        self._model = self._load(path, progress, vocabulary_only)
        self._vocabulary = self._library.llama_model_get_vocab(self._model)
        self.vocab_size = int(self._library.llama_vocab_n_tokens(self._vocabulary))
        self._buffers = BatchBuffers(LARGEST_FORWARD)
        self._batch = self._library.llama_batch()
        self._buffers.attach(self._batch)

    def _load(
        self, path: Path, progress: Callable[[float], None] | None, vocabulary_only: bool
    ) -> int:
        loading = LoadProgress(progress)
        params = self._library.llama_model_default_params()
        params.vocab_only = vocabulary_only
        params.progress_callback = ctypes.cast(
            loading.callback, self._library.llama_progress_callback
        )
        MESSAGES.clear()
        model = self._library.llama_model_load_from_file(os.fsencode(path), params)
        loading.raise_error()
        if not model:
            raise ModelDamaged(
                f"{path} cannot be loaded by the llamacpp engine: {MESSAGES.reason()}"
            )
        return int(model)

    def open_context(self, context_length: int, flag: AbortFlag) -> int:
        """See `NativeWeights`."""
        params = self._library.llama_context_default_params()
        params.n_ctx = context_length
        params.n_batch = params.n_ubatch = LARGEST_FORWARD
        params.n_seq_max = 1
        params.n_outputs_max = MAX_ROWS  # room for logits of 64 rows, not of 128
        params.n_threads = params.n_threads_batch = self._threads
        context = int(self._library.llama_init_from_model(self._model, params) or 0)
        if context:
            callback = self._library.ggml_abort_callback(flag.function)
            self._library.llama_set_abort_callback(context, callback, flag.data)
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
        memory = self._library.llama_get_memory(context)
        if position == 0:
            self._library.llama_memory_clear(memory, False)
            return True
        return bool(self._library.llama_memory_seq_rm(memory, 0, position, -1))

    def save(self, context: int) -> bytes:
        """See `NativeWeights`."""
        size = self._library.llama_state_seq_get_size(context, 0)
        buffer = (ctypes.c_uint8 * size)()
        written = self._library.llama_state_seq_get_data(context, buffer, size, 0)
        return bytes(buffer) if written == size else b""

    def restore(self, context: int, state: bytes) -> bool:
        """See `NativeWeights`."""
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        return bool(self._library.llama_state_seq_set_data(context, buffer, len(state), 0))

    def tokenize(self, text: bytes, special: bool) -> list[int]:
        """See `NativeWeights`."""
        return filled_tokens(
            text,
            lambda buffer, room: self._library.llama_tokenize(
                self._vocabulary, text, len(text), buffer, room, False, special
            ),
        )

    def piece(self, token: int) -> bytes:
        """See `NativeWeights`."""
        if self._library.llama_vocab_is_control(self._vocabulary, token):
            return b""
        return filled_bytes(
            lambda buffer, room: self._library.llama_token_to_piece(
                self._vocabulary, token, buffer, room, 0, False
            )
        )

    def is_user_defined(self, token: int) -> bool:
        """See `NativeWeights`."""
        attributes = self._library.llama_vocab_get_attr(self._vocabulary, token)
        return bool(attributes & self._library.LLAMA_TOKEN_ATTR_USER_DEFINED)

    def is_end(self, token: int) -> bool:
        """See `NativeWeights`."""
        return bool(self._library.llama_vocab_is_eog(self._vocabulary, token))

    def close(self) -> None:
        """See `NativeWeights`."""
        self._library.llama_model_free(self._model)


class LlamaCppEngine(NativeEngine):
    """Weights loaded once by llama.cpp.

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
        weights = LlamaCppWeights(path, threads, progress)
        super().__init__(weights, context_length, live_sequences, invariance)


class LlamaCppTokenizer(NativeTokenizer):
    """Text and token ids by the vocabulary of a `LlamaCppEngine`."""


def open_llamacpp(opening: Opening) -> Opened:
    """The registry's factory."""
    engine = LlamaCppEngine(
        opening.path,
        opening.context_length,
        opening.threads,
        opening.live_sequences,
        opening.invariance,
        opening.progress,
    )
    return Opened(engine, LlamaCppTokenizer(engine))


def open_llamacpp_tokenizer(path: Path) -> Tokenizer:
    """The vocabulary alone, without the weights."""
    weights = LlamaCppWeights(path, threads=1, vocabulary_only=True)
    return LlamaCppTokenizer(NativeEngine(weights, 0, 1, None))
