"""The `ik` engine: quantised GGUF weights on x86-64 CPUs, several sequences, exact numerics.

Two sequences in one context give wrong logits in this library, so each has its own (see
`redraft.engines.native`). Weights are loaded with interleaved rows and flash attention, the
setting whose logits do not depend on how a text is cut into forwards. It does not know sampling or
drafting.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

from redraft.engines import Opened, Opening, ik_library
from redraft.engines.buffers import filled_bytes, filled_tokens
from redraft.engines.library import LibraryWeights, load_model, opened, vocabulary_of
from redraft.engines.native import LARGEST_FORWARD
from redraft.engines.progress import LoadProgress
from redraft.engines.watch import AbortFlag
from redraft.protocols import Tokenizer

_FLAGS = 0
"""Of the library's state functions: the whole state."""
_USER_DEFINED = 1 << 4
"""`LLAMA_TOKEN_ATTR_USER_DEFINED`."""


class IkWeights(LibraryWeights):
    """A weights file loaded by the library; see `redraft.engines.native.NativeWeights`."""

    def __init__(
        self,
        path: Path,
        threads: int,
        progress: Callable[[float], None] | None = None,
        vocabulary_only: bool = False,
    ) -> None:
        library = ik_library.load()
        loading = LoadProgress(progress)
        params = library.llama_model_default_params()
        params.vocab_only = vocabulary_only
        params.repack_tensors, params.use_mmap, params.flash_attn = True, False, True
        params.progress_callback = loading.callback
        model = load_model(library, path, params, loading, ik_library.MESSAGES)
        super().__init__(library, model, library.llama_n_vocab(model), ik_library.Batch())
        self._threads = threads

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


def open_ik(opening: Opening) -> Opened:
    """The registry's factory. Raises EngineUnavailable or ModelDamaged."""
    return opened(IkWeights(opening.path, opening.threads, opening.progress), opening)


def open_ik_tokenizer(path: Path) -> Tokenizer:
    """The vocabulary alone: a third of a second and 100 MB, where the weights are a gigabyte."""
    return vocabulary_of(IkWeights(path, threads=1, vocabulary_only=True))
