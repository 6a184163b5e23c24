"""When an output is finished: stop tokens, stop strings, indentation, loops.

An end depends on the tokens alone, so that plain and drafted decoding end at the same token. It
does not know length limits, time limits or cancellation.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence as Tokens
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from redraft.protocols import Tokenizer
from redraft.tokens import FinishReason

AT_START = "\udc02"
"""In front of a stop string: it ends the output only where the output begins with it. A lone
surrogate, which no UTF-8 text holds."""
LOOP_TOKENS = 200
LOOP_REPEATS = 6
LONGEST_PERIOD = 64


@dataclass(frozen=True, slots=True)
class End:
    """The output ends after `length` tokens."""

    length: int
    reason: FinishReason


class Ends(Protocol):
    """`ends(tokens)`: where the output ends, or None while it goes on.

    Called with the whole output so far, which only ever grows between calls, so that an
    implementation may remember what it has read. A new generation takes a new object.
    """

    def __call__(self, tokens: Tokens[int]) -> End | None:
        """Where the output ends, or None."""
        ...


class Endings:
    """Ends at an end token, at the end of a stop string, out of the indentation, or in a loop.

    End tokens are the vocabulary's and `end_tokens`. A stop string ends the output after the token
    that completes it; the text before the string is what the user sees. One behind `AT_START` does
    so only where the output begins with it. With `indent`, a line after the first that has less
    white space before its text, or none at all, ends the output after the token that shows it; the
    text before the line is what the user sees. A loop is a stretch of at least 200 tokens that is
    one block of at most 64 tokens repeated at least 6 times, unless `known` (the text being edited)
    repeats at that period for as long.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        stop: Tokens[str] = (),
        known: Tokens[int] = (),
        end_tokens: Collection[int] = (),
        indent: int = 0,
    ) -> None:
        self._tokenizer = tokenizer
        self._end_tokens = frozenset(end_tokens)
        # a lone surrogate, which no UTF-8 text holds, passes into bytes that are never found
        self._stop = {text.encode("utf-8", "surrogatepass"): text for text in stop if text}
        self._keep = max((len(text) for text in self._stop), default=1) - 1
        self._tail = AT_START.encode("utf-8", "surrogatepass")
        self._read = 0
        self._lines = _Lines(indent)
        self._loops = _Loops(known)
        self.stopped_by: str | None = None
        """The stop string that was found, the one that begins first, once there is an end."""

    def __call__(self, tokens: Tokens[int]) -> End | None:
        """See `Ends`."""
        for position in range(self._read, len(tokens)):
            reason = self._reason(tokens[position])
            if reason is not None:
                return End(position + 1, reason)
        self._read = len(tokens)
        return None

    def _reason(self, token: int) -> FinishReason | None:
        if token in self._end_tokens or self._tokenizer.is_end(token):
            return "stop"
        if self._stop:
            text = self._tail + self._tokenizer.piece(token)
            found = [stop for stop in self._stop if stop in text]
            if found:
                self.stopped_by = self._stop[min(found, key=text.find)].removeprefix(AT_START)
                return "stop"
            self._tail = text[len(text) - self._keep :] if self._keep < len(text) else text
        if self._lines.leave(self._tokenizer.piece(token)):
            return "indent"
        return "loop" if self._loops.add(token) else None


class _Lines:
    """Reads output for a line with fewer than `indent` bytes of white space before its text."""

    def __init__(self, indent: int) -> None:
        self._indent = indent
        self._column: int | None = None
        """White space since the line began; None where that is no longer asked."""

    def leave(self, text: bytes) -> bool:
        """Whether such a line is in what was read with `text`."""
        if not self._indent:
            return False
        for byte in text:
            if byte in b" \t" and self._column is not None:
                self._column += 1
            elif self._column is not None and self._column < self._indent:
                return True
            else:
                self._column = 0 if byte == ord("\n") else None
        return False


class _Loops:
    """Counts for each period how many of the latest tokens equal the one a period earlier."""

    def __init__(self, known: Tokens[int]) -> None:
        self._recent = np.full(LONGEST_PERIOD, -1, dtype=np.int64)  # newest last
        self._runs = np.zeros(LONGEST_PERIOD, dtype=np.int64)  # by period, longest first
        periods = np.arange(LONGEST_PERIOD, 0, -1)
        self._limits = np.maximum(LOOP_TOKENS, LOOP_REPEATS * periods) - periods
        longest = np.zeros(LONGEST_PERIOD, dtype=np.int64)
        for token in known:
            self._count(token)
            np.maximum(longest, self._runs, out=longest)
        self._limits = np.maximum(self._limits, 2 * longest)
        self._recent[:], self._runs[:] = -1, 0

    def _count(self, token: int) -> None:
        self._runs = np.where(self._recent == token, self._runs + 1, 0)
        self._recent[:-1] = self._recent[1:]
        self._recent[-1] = token

    def add(self, token: int) -> bool:
        self._count(token)
        return bool((self._runs >= self._limits).any())
