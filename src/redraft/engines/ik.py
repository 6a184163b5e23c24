"""The `ik` engine: quantised GGUF weights on x86-64 CPUs, several sequences, exact numerics.

Every live sequence has a context of its own on shared weights: two sequences in one context give
wrong logits in this library. What does not fit the budget of live contexts is parked as a saved
state and restored when it is used again. The library aborts the process on bad input, so every
argument is checked before it is passed on. It does not know text (see `IkTokenizer`), sampling
or drafting.
"""

from __future__ import annotations

import ctypes
import threading
from collections import OrderedDict
from collections.abc import Callable
from collections.abc import Sequence as Tokens
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from types import TracebackType

import numpy as np

from redraft.engines import Opened, Opening, ik_library
from redraft.errors import (
    BadToken,
    Cancelled,
    ContextFull,
    EngineError,
    ModelDamaged,
    SequenceClosed,
)
from redraft.invariance import Invariance, measure_invariance
from redraft.protocols import MAX_ROWS, Logits
from redraft.protocols import Cancelled as CancelledCallback

LARGEST_FORWARD = 128
"""Tokens a forward of the library takes at most (`n_ubatch`): longer calls are cut by us, so that
no piece is shorter than two tokens. 128 keeps the compute buffer at about 75 MiB for the 0.5B
weights, and costs no speed here: 512 prompt tokens take the same time within noise."""


class IkEngine:
    """Weights loaded once, with interleaved rows (`repack_tensors`) and flash attention.

    Raises EngineUnavailable, ModelDamaged or EngineError (no memory). `progress` gets the loaded
    share (0 … 1). `invariance` is measured at first use unless a
    cached value is given.
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
        self.context_length = context_length
        self._threads = threads
        self._live_limit = max(1, live_sequences)
        self._library = ik_library.load()
        self._contexts: OrderedDict[IkSequence, None] = OrderedDict()
        self._lock = threading.RLock()
        if invariance is not None:
            self.__dict__["invariance"] = invariance
        self._model = self._load(path, progress)
        self._vocab_size = int(self._library.llama_n_vocab(self._model))

    def _load(self, path: Path, progress: Callable[[float], None] | None) -> int:
        @ik_library.ProgressCallback
        def report(share: float, _data: object) -> bool:
            if progress is not None:
                progress(share)
            return True

        params = self._library.llama_model_default_params()
        params.repack_tensors, params.use_mmap, params.flash_attn = True, False, True
        params.progress_callback = report
        model = self._library.llama_model_load_from_file(bytes(path), params)
        if not model:
            reason = ik_library.last_error() or "the library gave no reason"
            raise ModelDamaged(f"{path} cannot be loaded by the ik engine: {reason}")
        return int(model)

    @property
    def vocab_size(self) -> int:
        """Columns of the logits."""
        return self._vocab_size

    @cached_property
    def invariance(self) -> Invariance:
        """Measured at first use unless it was given; see `redraft.invariance`."""
        return measure_invariance(self)

    @property
    def invariant_from(self) -> int | None:
        """See `redraft.protocols.Engine.invariant_from`."""
        return self.invariance.invariant_from

    @property
    def model_pointer(self) -> int:
        """The library's `llama_model *`, for the tokenizer. Raises SequenceClosed after close."""
        if not self._model:
            raise SequenceClosed("the engine is closed; open it again")
        return self._model

    def open_sequence(self) -> IkSequence:
        """An empty sequence; its context is taken at the first evaluate."""
        _ = self.model_pointer
        return IkSequence(self)

    def close(self) -> None:
        """Free all contexts and the weights."""
        with self._lock:
            for sequence in list(self._contexts):
                sequence.close()
            if self._model:
                self._library.llama_free_model(self._model)
                self._model = 0

    def _take_context(self, sequence: IkSequence) -> int:
        """A new context for `sequence`; parks the one used longest ago where the budget is full."""
        with self._lock:
            while len(self._contexts) >= self._live_limit:
                next(iter(self._contexts)).park()
            context = self._new_context()
            self._contexts[sequence] = None
            return context

    def _touch(self, sequence: IkSequence) -> None:
        with self._lock:
            self._contexts.move_to_end(sequence)

    def _release(self, sequence: IkSequence, context: int) -> None:
        with self._lock:
            self._contexts.pop(sequence, None)
            self._library.llama_free(context)

    def _new_context(self) -> int:
        params = self._library.llama_context_default_params()
        params.n_ctx = self.context_length
        params.n_batch = params.n_ubatch = LARGEST_FORWARD
        params.n_threads = params.n_threads_batch = self._threads
        params.flash_attn = True
        context = self._library.llama_init_from_model(self.model_pointer, params)
        if not context:
            raise EngineError(
                f"no memory for a context of {self.context_length} tokens; "
                "lower --context or close other programs"
            )
        return int(context)


class IkSequence:
    """One token stream. Live with a context of its own, or parked as a saved state."""

    def __init__(self, engine: IkEngine, state: bytes = b"", length: int = 0) -> None:
        self._engine = engine
        self._library = engine._library
        self._context = 0
        self._state = state
        self._length = length
        self._closed = False
        self._abort_address, self._abort_flag = ik_library.abort_when_set()

    @property
    def length(self) -> int:
        """Tokens in the KV cache."""
        return self._length

    def evaluate(
        self, tokens: Tokens[int], rows: int, cancelled: CancelledCallback | None = None
    ) -> Logits:
        """See `redraft.protocols.Sequence.evaluate`."""
        ids = self._validated(tokens, rows)
        context = self._live_context()
        pieces = _pieces(len(ids), LARGEST_FORWARD)
        parts: list[Logits] = []
        start = 0
        with self._watch(cancelled):
            for size in pieces:
                wanted = max(0, min(size, start + size - (len(ids) - rows)))
                part = self._forward(context, ids[start : start + size], start, wanted)
                if self._abort_flag[0] != b"\0":
                    self._forget_from(self._length)
                    raise Cancelled("the forward was cancelled; the sequence is as it was before")
                parts.append(part)
                start += size
        self._length += len(ids)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def truncate(self, length: int) -> None:
        """Forget all tokens from position `length` on."""
        self._require_open()
        if not 0 <= length <= self._length:
            raise BadToken(f"cannot truncate a sequence of {self._length} tokens to {length}")
        if length == self._length:
            return
        self._live_context()
        self._forget_from(length)
        self._length = length

    def fork(self) -> IkSequence:
        """An independent sequence with the same content, parked until its first evaluate."""
        self._require_open()
        return IkSequence(self._engine, self._saved_state(), self._length)

    def park(self) -> None:
        """Save the state and give the context back; the next use restores it."""
        if self._context:
            self._state = self._saved_state()
            context, self._context = self._context, 0
            self._engine._release(self, context)

    def close(self) -> None:
        """Free the KV cache."""
        if self._context:
            context, self._context = self._context, 0
            self._engine._release(self, context)
        self._closed, self._state, self._length = True, b"", 0

    def _validated(
        self, tokens: Tokens[int], rows: int
    ) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        self._require_open()
        try:
            ids = np.asarray(tokens, dtype=np.int64)
        except (OverflowError, TypeError, ValueError) as error:
            raise BadToken(f"token ids must be integers: {error}") from error
        if ids.ndim != 1 or len(ids) == 0:
            raise BadToken("a forward needs at least one token")
        if ids.min() < 0 or ids.max() >= self._engine.vocab_size:
            worst = int(ids.min()) if ids.min() < 0 else int(ids.max())
            raise BadToken(f"token {worst} is outside 0 … {self._engine.vocab_size - 1}")
        if not 0 <= rows <= min(MAX_ROWS, len(ids)):
            raise BadToken(f"{rows} rows of {len(ids)} tokens; 0 … {min(MAX_ROWS, len(ids))} go")
        room = self._engine.context_length - self._length
        if len(ids) > room:
            raise ContextFull(
                f"{self._length} + {len(ids)} tokens do not fit the context of "
                f"{self._engine.context_length}; raise --context or shorten the input"
            )
        return ids.astype(np.int32)

    def _require_open(self) -> None:
        if self._closed or not self._engine._model:
            raise SequenceClosed("the sequence is closed; open another one")

    def _live_context(self) -> int:
        if self._context:
            self._engine._touch(self)
            return self._context
        self._context = self._engine._take_context(self)
        self._library.llama_set_abort_callback(
            self._context, self._abort_address, ctypes.addressof(self._abort_flag)
        )
        if self._state:
            read = self._library.llama_state_seq_set_data(
                self._context, self._state, len(self._state), 0, 0
            )
            if not read:
                raise EngineError("a saved sequence could not be restored; start it again")
            self._state = b""
        return self._context

    def _saved_state(self) -> bytes:
        if not self._context:
            return self._state
        if not self._length:
            return b""
        size = self._library.llama_state_seq_get_size(self._context, 0, 0)
        buffer = ctypes.create_string_buffer(size)
        written = self._library.llama_state_seq_get_data(self._context, buffer, size, 0, 0)
        if written != size:
            raise EngineError("a sequence could not be saved; not enough memory?")
        return buffer.raw

    def _forget_from(self, position: int) -> None:
        if position == 0:
            self._library.llama_kv_cache_clear(self._context)
        else:
            self._library.llama_kv_cache_seq_rm(self._context, 0, position, -1)

    def _forward(
        self, context: int, ids: np.ndarray[tuple[int], np.dtype[np.int32]], offset: int, rows: int
    ) -> Logits:
        """One `llama_decode`. Shape of the result: [rows, vocab]."""
        size = len(ids)
        start = self._length + offset
        # an output row is asked for even where none is wanted: a forward without any is a path
        # of the library that nobody else takes
        outputs = max(1, rows)
        positions = np.arange(start, start + size, dtype=np.int32)
        wanted = np.zeros(size, dtype=np.int8)
        wanted[size - outputs :] = 1
        counts = np.ones(size, dtype=np.int32)
        zero = (ctypes.c_int32 * 1)(0)
        owners = (ctypes.POINTER(ctypes.c_int32) * size)(*[zero] * size)
        batch = ik_library.Batch(
            n_tokens=size,
            token=ids.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)),
            pos=positions.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)),
            n_seq_id=counts.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)),
            seq_id=owners,
            logits=wanted.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )
        code = self._library.llama_decode(context, batch)
        if code != 0:
            self._forget_from(self._length)
            raise EngineError(f"the ik engine refused a forward of {size} tokens (code {code})")
        if rows == 0:
            return np.empty((0, self._engine.vocab_size), dtype=np.float32)
        pointer = self._library.llama_get_logits(context)
        return np.ctypeslib.as_array(pointer, shape=(rows, self._engine.vocab_size)).copy()

    def _watch(self, cancelled: CancelledCallback | None) -> AbstractContextManager[object]:
        self._abort_flag[0] = b"\0"
        return nullcontext() if cancelled is None else _Watch(cancelled, self._abort_flag)


class _Watch:
    """While a forward runs, polls `cancelled` from another thread and sets the abort flag."""

    _PERIOD = 0.005

    def __init__(self, cancelled: CancelledCallback, flag: ctypes.Array[ctypes.c_char]) -> None:
        self._cancelled = cancelled
        self._flag = flag
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def _poll(self) -> None:
        while not self._done.wait(self._PERIOD):
            if self._cancelled():
                self._flag[0] = b"\1"
                return

    def __enter__(self) -> None:
        if self._cancelled():
            self._flag[0] = b"\1"
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()


def _pieces(count: int, largest: int) -> list[int]:
    """Sizes of the forwards for `count` tokens: at most `largest` each, none of one token unless
    count is one, since a one-token forward has other numerics."""
    sizes = [largest] * (count // largest)
    rest = count % largest
    if rest == 1 and sizes:
        sizes[-1] -= 1
        rest = 2
    return [*sizes, rest] if rest else sizes


class IkTokenizer:
    """Text and token ids by the vocabulary of an engine's weights."""

    def __init__(self, engine: IkEngine) -> None:
        self._engine = engine
        self._library = engine._library
        self._pieces: dict[int, bytes] = {}

    @property
    def vocab_size(self) -> int:
        """Number of token ids."""
        return self._engine.vocab_size

    def encode(self, text: str, special: bool = False) -> list[int]:
        """See `redraft.protocols.Tokenizer.encode`."""
        if not text:
            return []
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        buffer = (ctypes.c_int32 * room)()
        count = self._library.llama_tokenize(
            self._engine.model_pointer, data, len(data), buffer, room, False, special
        )
        if count < 0:
            raise EngineError(f"the text needs {-count} tokens, more than its bytes allow")
        return list(buffer[:count])

    def piece(self, token: int) -> bytes:
        """The bytes of one token, none for a control token. Raises BadToken for another id."""
        found = self._pieces.get(token)
        if found is None:
            found = self._pieces[token] = self._piece(token)
        return found

    def _piece(self, token: int) -> bytes:
        if not 0 <= token < self.vocab_size:
            raise BadToken(f"token {token} is outside 0 … {self.vocab_size - 1}")
        model = self._engine.model_pointer
        if self._library.llama_token_is_control(model, token):
            return b""
        room = 64
        while True:
            buffer = ctypes.create_string_buffer(room)
            count = self._library.llama_token_to_piece(model, token, buffer, room, 0, False)
            if count >= 0:
                return buffer.raw[:count]
            room = -count

    def decode(self, tokens: Tokens[int]) -> str:
        """See `redraft.protocols.Tokenizer.decode`."""
        return b"".join(self.piece(token) for token in tokens).decode("utf-8", "replace")

    def is_end(self, token: int) -> bool:
        """Whether the token ends a generation."""
        if not 0 <= token < self.vocab_size:
            raise BadToken(f"token {token} is outside 0 … {self.vocab_size - 1}")
        return bool(self._library.llama_token_is_eog(self._engine.model_pointer, token))


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
