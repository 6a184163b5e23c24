"""The `llamacpp` engine: GGUF weights where ik has no wheel, and on the GPUs llama.cpp supports.

It stands on the low-level functions of `llama-cpp-python`. In this library logits depend on how
a text is cut into forwards, so no equality is promised (`invariant_from` is measured all the
same). On a GPU a forward in flight is not aborted; cancellation then waits for at most 128
tokens. It does not know sampling or drafting.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType

from redraft.engines import Opened, Opening
from redraft.engines.buffers import filled_bytes, filled_tokens
from redraft.engines.library import LibraryWeights, load_model, opened, vocabulary_of
from redraft.engines.messages import LibraryMessages
from redraft.engines.native import LARGEST_FORWARD
from redraft.engines.progress import LoadProgress
from redraft.engines.spinning import sleep_at_barriers
from redraft.engines.watch import AbortFlag
from redraft.errors import EngineUnavailable
from redraft.protocols import MAX_ROWS, Tokenizer

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


class LlamaCppWeights(LibraryWeights):
    """A weights file loaded by the library; see `redraft.engines.native.NativeWeights`."""

    def __init__(
        self,
        path: Path,
        threads: int,
        progress: Callable[[float], None] | None = None,
        vocabulary_only: bool = False,
    ) -> None:
        library = load()
        loading = LoadProgress(progress)
        params = library.llama_model_default_params()
        params.vocab_only = vocabulary_only
        params.progress_callback = ctypes.cast(loading.callback, library.llama_progress_callback)
        model = load_model(library, path, params, loading, MESSAGES)
        self._vocabulary = library.llama_model_get_vocab(model)
        vocab_size = library.llama_vocab_n_tokens(self._vocabulary)
        super().__init__(library, model, vocab_size, library.llama_batch())
        self._threads = threads

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


def open_llamacpp(opening: Opening) -> Opened:
    """The registry's factory. Raises EngineUnavailable or ModelDamaged."""
    return opened(LlamaCppWeights(opening.path, opening.threads, opening.progress), opening)


def open_llamacpp_tokenizer(path: Path) -> Tokenizer:
    """The vocabulary alone, without the weights."""
    return vocabulary_of(LlamaCppWeights(path, threads=1, vocabulary_only=True))
