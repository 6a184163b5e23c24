"""Engine and sequences over weights that a C library of the llama.cpp family has loaded.

Every live sequence has a context of its own on shared weights; what does not fit the budget of
live contexts is parked as a saved state and restored when it is used again. The libraries abort
the process on bad input, so every argument is checked before it is passed on. This module does
not know which library it is (see `NativeWeights`), text, sampling or drafting.
"""

from __future__ import annotations

from collections.abc import Sequence as Tokens
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Protocol

import numpy as np

from redraft.engines.budget import ContextBudget
from redraft.engines.validation import Ids, check_cut, check_room, check_rows, checked_ids
from redraft.engines.watch import AbortFlag, Watch
from redraft.errors import Cancelled, EngineError, SequenceClosed
from redraft.invariance import Invariance, measure_invariance
from redraft.protocols import Cancelled as CancelledCallback
from redraft.protocols import Logits

LARGEST_FORWARD = 128
"""Tokens a forward of the library takes at most (`n_ubatch`): longer calls are cut by us, so that
no piece is short. 128 keeps the compute buffer at about 75 MiB for the 0.5B
weights, and costs no speed here: 512 prompt tokens take the same time within noise."""
SHORTEST_PIECE = 16
"""Forwards of a few tokens may have other numerics, so a longer call is not cut into any such:
16 is the longest forward that `measure_invariance` compares others with."""


class NativeWeights(Protocol):
    """One weights file, loaded by a library. A context is the library's pointer to one, and holds
    one sequence. Nothing here checks its arguments."""

    vocab_size: int

    def open_context(self, context_length: int, flag: AbortFlag) -> int:
        """A context whose forwards stop when the flag is set; 0 when there is no memory."""
        ...

    def close_context(self, context: int) -> None:
        """Free a context."""
        ...

    def forward(self, context: int, ids: Ids, start: int, outputs: int) -> int:
        """Compute at most 128 tokens from position `start` on, with logits for the last `outputs`
        of them. Returns the library's code, 0 for success (or an abort)."""
        ...

    def logits(self, context: int, rows: int) -> Logits:
        """A copy of the logits of the last forward, float32[rows, vocab]; rows ≥ 1."""
        ...

    def forget_from(self, context: int, position: int) -> bool:
        """Drop the KV cache from a position on. False where the architecture cannot."""
        ...

    def save(self, context: int) -> bytes:
        """The content of a context; empty when there is no memory."""
        ...

    def restore(self, context: int, state: bytes) -> bool:
        """Fill an empty context with a saved content."""
        ...

    def tokenize(self, text: bytes, special: bool) -> list[int]:
        """Token ids of UTF-8 text, without a beginning-of-text token. User-defined tokens are
        found in it even when it is not `special`."""
        ...

    def is_user_defined(self, token: int) -> bool:
        """Whether the token was added to the vocabulary as one text, such as `<tool_call>`."""
        ...

    def piece(self, token: int) -> bytes:
        """Bytes of a token, none for a control token."""
        ...

    def is_end(self, token: int) -> bool:
        """Whether the token ends a generation."""
        ...

    def close(self) -> None:
        """Free the weights. All contexts are closed before."""
        ...


class NativeEngine:
    """Loaded weights that can open sequences; calls from several threads take turns."""

    def __init__(
        self,
        weights: NativeWeights,
        context_length: int,
        live_sequences: int,
        invariance: Invariance | None,
    ) -> None:
        self.context_length = context_length
        self.budget = ContextBudget(live_sequences)
        self._weights: NativeWeights | None = weights
        self._vocab_size = weights.vocab_size
        if invariance is not None:
            self.__dict__["invariance"] = invariance  # where cached_property would keep it

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
    def weights(self) -> NativeWeights:
        """What the library loaded. Raises SequenceClosed after close."""
        if self._weights is None:
            raise SequenceClosed("the engine is closed; open it again")
        return self._weights

    def open_sequence(self) -> NativeSequence:
        """An empty sequence; its context is taken at the first evaluate."""
        _ = self.weights
        return NativeSequence(self)

    def close(self) -> None:
        """Free all contexts and the weights."""
        with self.budget.turn():
            self.budget.close_all()
            if self._weights is not None:
                self._weights.close()
                self._weights = None


class NativeSequence:
    """One token stream. Live with a context of its own, or parked as a saved state."""

    def __init__(self, engine: NativeEngine, state: bytes = b"", length: int = 0) -> None:
        self._engine = engine
        self._context = 0
        self._state = state
        self._length = length
        self._closed = False
        self._unfinished = False
        """A forward began and did not end well: the KV cache may hold tokens past `length`."""
        self._flag = AbortFlag()

    @property
    def length(self) -> int:
        """Tokens in the KV cache."""
        return self._length

    def evaluate(
        self, tokens: Tokens[int], rows: int, cancelled: CancelledCallback | None = None
    ) -> Logits:
        """See `redraft.protocols.Sequence.evaluate`."""
        with self._engine.budget.turn(cancelled):
            weights = self._require_open()
            ids = checked_ids(tokens, weights.vocab_size)
            check_rows(rows, len(ids))
            check_room(self._length, len(ids), self._engine.context_length)
            self._live_context(weights)
            # mended at the next use rather than here: also after an interrupt at any line below
            self._unfinished = True
            with self._watch(cancelled):
                logits = self._forwards(weights, ids, rows)
            self._length += len(ids)
            self._unfinished = False
            return logits

    def truncate(self, length: int) -> None:
        """Forget all tokens from position `length` on."""
        with self._engine.budget.turn():
            weights = self._require_open()
            check_cut(length, self._length)
            if length < self._length:
                self._live_context(weights)
                self._forget_from(weights, length)
                self._length = length

    def fork(self) -> NativeSequence:
        """An independent sequence with the same content, parked until its first evaluate."""
        with self._engine.budget.turn():
            weights = self._require_open()
            return NativeSequence(self._engine, self._saved_state(weights), self._length)

    def park(self) -> None:
        """Save the state and give the context back; the next use restores it."""
        with self._engine.budget.turn():
            if self._context:
                self._state = self._saved_state(self._engine.weights)
                self._give_back_context()

    def close(self) -> None:
        """Free the KV cache."""
        with self._engine.budget.turn():
            if self._context:
                self._give_back_context()
            self._closed, self._state, self._length = True, b"", 0

    def _require_open(self) -> NativeWeights:
        if self._closed:
            raise SequenceClosed("the sequence is closed; open another one")
        return self._engine.weights

    def _live_context(self, weights: NativeWeights) -> None:
        """Make sure there is a context that holds the sequence's tokens and no more."""
        if not self._context:
            self._engine.budget.make_room()
            self._context = self._restored_context(weights)
            self._state, self._unfinished = b"", False
        self._engine.budget.use(self)
        self._mend(weights)

    def _restored_context(self, weights: NativeWeights) -> int:
        context = weights.open_context(self._engine.context_length, self._flag)
        if not context:
            raise EngineError(
                f"no memory for a context of {self._engine.context_length} tokens; "
                "lower --context or close other programs"
            )
        if self._state and not weights.restore(context, self._state):
            weights.close_context(context)
            raise EngineError("a saved sequence could not be restored; start it again")
        return context

    def _give_back_context(self) -> None:
        self._engine.budget.release(self)
        context, self._context = self._context, 0
        self._engine.weights.close_context(context)

    def _mend(self, weights: NativeWeights) -> None:
        if self._unfinished:
            self._forget_from(weights, self._length)
            self._unfinished = False

    def _saved_state(self, weights: NativeWeights) -> bytes:
        if not self._context:
            return self._state
        if not self._length:
            return b""
        self._mend(weights)
        state = weights.save(self._context)
        if not state:
            raise EngineError("no memory to save a sequence; close other programs")
        return state

    def _forget_from(self, weights: NativeWeights, position: int) -> None:
        if not weights.forget_from(self._context, position):
            raise EngineError("the architecture of these weights cannot forget single tokens")

    def _forwards(self, weights: NativeWeights, ids: Ids, rows: int) -> Logits:
        """All of `ids` in forwards the library takes: float32[rows, vocab]."""
        parts = [np.empty((0, weights.vocab_size), dtype=np.float32)] if not rows else []
        done = 0
        for size in pieces(len(ids)):
            wanted = max(0, min(size, done + size - (len(ids) - rows)))
            self._forward(weights, ids[done : done + size], self._length + done, wanted)
            if wanted:
                parts.append(weights.logits(self._context, wanted))
            done += size
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _forward(self, weights: NativeWeights, ids: Ids, start: int, rows: int) -> None:
        code = 0
        if not self._flag.is_set:
            # an output row is asked for even where none is wanted: a forward without any is a path
            # of the libraries that nobody else takes
            code = weights.forward(self._context, ids, start, max(1, rows))
        if self._flag.is_set:  # an aborted call may return 0 like a good one
            raise Cancelled("the forward was cancelled; the sequence is as it was before")
        if code != 0:
            raise EngineError(f"the engine refused a forward of {len(ids)} tokens (code {code})")

    def _watch(self, cancelled: CancelledCallback | None) -> AbstractContextManager[None]:
        self._flag.clear()
        return nullcontext() if cancelled is None else Watch(cancelled, self._flag)


def pieces(count: int) -> list[int]:
    """Sizes of the forwards for `count` tokens: 16 … 128 each, unless there are fewer in all."""
    sizes = [LARGEST_FORWARD] * (count // LARGEST_FORWARD)
    rest = count % LARGEST_FORWARD
    if sizes and 0 < rest < SHORTEST_PIECE:
        sizes[-1] -= SHORTEST_PIECE - rest
        rest = SHORTEST_PIECE
    return [*sizes, rest] if rest else sizes
