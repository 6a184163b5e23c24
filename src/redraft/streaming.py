"""Tokens to text as they come: never half a UTF-8 sequence, never the beginning of a stop string.

It does not decide where an output ends; `redraft.ends` does.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence as Tokens

from redraft.protocols import Tokenizer


class TextStream:
    """Collects the text of one output and says what may be shown by now."""

    def __init__(self, tokenizer: Tokenizer, stop: Tokens[str] = ()) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stop = [text for text in stop if text]
        self._text = ""
        self._shown = 0

    def add(self, tokens: Tokens[int]) -> str:
        """Add tokens; returns the text that became sure with them."""
        self._text += self._decoder.decode(b"".join(map(self._tokenizer.piece, tokens)))
        cut = self._stop_at()
        return self._show(len(self._text) - self._held() if cut is None else cut)

    def finish(self) -> str:
        """The output has ended; returns what was held back and belongs to it."""
        self._text += self._decoder.decode(b"", final=True)
        cut = self._stop_at()
        return self._show(len(self._text) if cut is None else cut)

    @property
    def shown(self) -> str:
        """All text returned so far."""
        return self._text[: self._shown]

    def _show(self, until: int) -> str:
        start, self._shown = self._shown, max(self._shown, until)
        return self._text[start : self._shown]

    def _stop_at(self) -> int | None:
        found = [self._text.find(stop, self._shown) for stop in self._stop]
        return min((position for position in found if position >= 0), default=None)

    def _held(self) -> int:
        """Length of the longest tail that begins a stop string."""
        for length in range(max(map(len, self._stop), default=1) - 1, 0, -1):
            tail = self._text[-length:]
            if any(stop.startswith(tail) for stop in self._stop):
                return len(tail)
        return 0
