"""Weights for `redraft.engines.native` that live in memory, as of a strict and treacherous library.

Where a real one would abort the process on a bad argument, this one fails an assertion. Like a
real one it leaves half a forward in the KV cache when it is stopped, and returns 0 all the same.
"""

from __future__ import annotations

import pickle
import time

from redraft.engines import Opened, Opening
from redraft.engines.fake import FakeEngine, FakeSequence, FakeTokenizer
from redraft.engines.library import opened
from redraft.engines.native import LARGEST_FORWARD
from redraft.engines.validation import Ids
from redraft.engines.watch import AbortFlag
from redraft.protocols import MAX_ROWS, Logits

LONG_FORWARD_SECONDS = 0.03


class MemoryWeights:
    """See the module's text. `most` contexts fit the memory."""

    def __init__(self, context_length: int, most: int = 1000) -> None:
        self._model = FakeEngine(context_length=context_length)
        self._tokenizer = FakeTokenizer()
        self._most = most
        self.vocab_size = self._model.vocab_size
        self.contexts: dict[int, FakeSequence] = {}
        self._flags: dict[int, AbortFlag] = {}
        self._logits: dict[int, Logits] = {}
        self.opened = 0
        self.closed = False
        self.code = 0
        self._busy = False

    def open_context(self, context_length: int, flag: AbortFlag) -> int:
        assert not self.closed
        if len(self.contexts) >= self._most:
            return 0
        self.opened += 1
        self.contexts[self.opened] = self._model.open_sequence()
        self._flags[self.opened] = flag
        return self.opened

    def close_context(self, context: int) -> None:
        del self.contexts[context], self._flags[context]

    def forward(self, context: int, ids: Ids, start: int, outputs: int) -> int:
        assert not self._busy, "two forwards at once"
        self._busy = True
        try:
            return self._forward(context, ids, start, outputs)
        finally:
            self._busy = False

    def _forward(self, context: int, ids: Ids, start: int, outputs: int) -> int:
        sequence = self.contexts[context]
        assert start == sequence.length, "positions that do not follow abort a real library"
        assert 1 <= len(ids) <= LARGEST_FORWARD
        assert 1 <= outputs <= min(MAX_ROWS, len(ids))
        for _ in range(10 if len(ids) > 100 else 0):
            if self._flags[context].is_set:
                sequence.evaluate(ids[: len(ids) // 2], 0)
                return 0
            time.sleep(LONG_FORWARD_SECONDS / 10)
        self._logits[context] = sequence.evaluate(ids.tolist(), outputs)
        return self.code

    def logits(self, context: int, rows: int) -> Logits:
        assert rows <= len(self._logits[context])
        return self._logits[context][-rows:].copy()

    def forget_from(self, context: int, position: int) -> bool:
        self.contexts[context].truncate(position)
        return True

    def save(self, context: int) -> bytes:
        sequence = self.contexts[context]
        return pickle.dumps((sequence._tokens, sequence._roundings, sequence._ends))

    def restore(self, context: int, state: bytes) -> bool:
        sequence = self.contexts[context]
        assert sequence.length == 0
        sequence._tokens, sequence._roundings, sequence._ends = pickle.loads(state)
        return True

    def tokenize(self, text: bytes, special: bool) -> list[int]:
        return self._tokenizer.encode(text.decode(), special)

    def piece(self, token: int) -> bytes:
        return self._tokenizer.piece(token)

    def is_user_defined(self, token: int) -> bool:
        return False

    def is_end(self, token: int) -> bool:
        return self._tokenizer.is_end(token)

    def close(self) -> None:
        assert not self.closed
        assert not self.contexts, "contexts must be closed before the weights"
        self.closed = True


def open_memory(opening: Opening) -> Opened:
    """An engine over weights in memory."""
    return opened(MemoryWeights(opening.context_length), opening)
