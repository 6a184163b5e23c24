"""An engine that says what a test wants, in place of the fake one.

Its logits point at the next byte of a script, counted from where the answer begins: behind the
opening fence of the assistant's turn, or behind the marker where a completion goes in. It can be
made slow, so that a run can be interrupted. Forwards of one token round differently, as real ones.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from collections.abc import Sequence as Tokens

import numpy as np

from redraft import engines
from redraft.engines import Entry, Opened, Opening
from redraft.engines.fake import FakeTokenizer
from redraft.errors import Cancelled
from redraft.protocols import Logits

TURN, END, MIDDLE = 257, 258, 261


class Script:
    """The answer of the next run, and seconds that a token of the prompt and of the answer take."""

    answer: bytes = b""
    slow_prompt: float = 0.0
    slow: float = 0.0


class ScriptedEngine:
    """See the module's text."""

    vocab_size = 264
    invariant_from = 2

    def open_sequence(self) -> ScriptedSequence:
        return ScriptedSequence([])

    def close(self) -> None:
        pass


class ScriptedSequence:
    """See the module's text."""

    def __init__(self, tokens: list[int]) -> None:
        self._tokens = tokens

    @property
    def length(self) -> int:
        return len(self._tokens)

    def evaluate(
        self, tokens: Tokens[int], rows: int, cancelled: Callable[[], bool] | None = None
    ) -> Logits:
        before = len(self._tokens)
        logits = np.zeros((rows, ScriptedEngine.vocab_size), np.float32)
        for position, token in enumerate(tokens):
            self._tokens.append(int(token))
            if self._tokens[0] == TURN:  # not while the engine is measured
                time.sleep(Script.slow if rows else Script.slow_prompt)
            if cancelled is not None and cancelled():
                del self._tokens[before:]
                raise Cancelled("cancelled")
            row = position - (len(tokens) - rows)
            if row >= 0:
                logits[row, self._next()] = 20.0 if len(tokens) > 1 else 20.5
        return logits

    def _next(self) -> int:
        written = self._written()
        if written is None:
            return 0
        return Script.answer[written] if written < len(Script.answer) else END

    def _written(self) -> int | None:
        """Tokens of the answer that are there; None outside an answer."""
        for start in range(len(self._tokens) - 1, -1, -1):
            if self._tokens[start] == MIDDLE:
                return len(self._tokens) - start - 1
            if self._tokens[start] == TURN:
                answer = bytes(token for token in self._tokens[start + 1 :] if token < 256)
                _, fence, written = answer.partition(b"```")
                opened = fence and b"\n" in written
                return len(written.partition(b"\n")[2]) if opened else None
        return None

    def truncate(self, length: int) -> None:
        del self._tokens[length:]

    def fork(self) -> ScriptedSequence:
        return ScriptedSequence(list(self._tokens))

    def close(self) -> None:
        pass


def open_scripted(opening: Opening) -> Opened:
    """The registry's factory."""
    return Opened(ScriptedEngine(), FakeTokenizer())


ENTRY = Entry("scripted_engine:open_scripted")


def main() -> None:
    """The program with this engine as `fake`, for tests that need a process of their own."""
    from redraft.__main__ import main as program

    Script.answer = os.environ["SCRIPT_ANSWER"].encode()
    Script.slow = float(os.environ.get("SCRIPT_SLOW", "0"))
    Script.slow_prompt = float(os.environ.get("SCRIPT_SLOW_PROMPT", "0"))
    engines.BUILT_IN["fake"] = ENTRY
    program()


if __name__ == "__main__":
    import scripted_engine  # the module that the registry will import, which is not this one

    scripted_engine.main()
