"""Tokens to text as they come: never half a UTF-8 sequence, never the beginning of what is cut off.

It does not decide where an output ends; `redraft.ends` does.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence as Tokens

from redraft.ends import AT_START
from redraft.protocols import Tokenizer


class TextStream:
    """Collects the text of one output and says what may be shown by now.

    The text is cut before a string of `stop`, of which one behind `AT_START` counts only at the
    beginning, and with `indent` before the first new line that has less white space before its
    text.
    """

    def __init__(self, tokenizer: Tokenizer, stop: Tokens[str] = (), indent: int = 0) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stop = [text for text in stop if text and not text.startswith(AT_START)]
        self._first = [text.removeprefix(AT_START) for text in stop if text.startswith(AT_START)]
        self._left = re.compile(rf"\n(?![ \t]{{{indent}}})[ \t]*(?=[^ \t])") if indent else None
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
        if self._text.startswith(tuple(self._first)):
            return 0
        found = [self._text.find(stop, self._shown) for stop in self._stop]
        if self._left is not None and (left := self._left.search(self._text)):
            found.append(left.start() + 1)
        return min((position for position in found if position >= 0), default=None)

    def _held(self) -> int:
        """Length of the longest tail that may be cut off: it begins a stop string, or is white
        space at the beginning of a line."""
        if any(first.startswith(self._text) for first in self._first):
            return len(self._text)
        line = self._text.rpartition("\n")[2]
        blank = len(line) if self._left is not None and not line.strip(" \t") else 0
        return max(blank, self._begun_stop())

    def _begun_stop(self) -> int:
        for length in range(max(map(len, self._stop), default=1) - 1, 0, -1):
            tail = self._text[-length:]
            if any(stop.startswith(tail) for stop in self._stop):
                return len(tail)
        return 0
