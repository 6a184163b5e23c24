"""The fake engine, slow for prompts that say so, and the programs that serve with it.

A sequence whose tokens hold the bytes of `SLOW` takes `FORWARD` seconds a forward and `TOKEN` for
each of its tokens, in which it can be cancelled; `CRASH` in a prompt kills its process, and `STUCK`
makes it deaf.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from collections.abc import Sequence as Tokens
from pathlib import Path

from redraft import engines
from redraft.config import load_settings
from redraft.engines import Entry, Opened, Opening
from redraft.engines.fake import FakeEngine, FakeSequence, FakeTokenizer
from redraft.errors import Cancelled
from redraft.protocols import Logits

FORWARD, TOKEN = 0.02, 0.002
ENTRY = Entry("slow_engine:open_slow")


class SlowEngine(FakeEngine):
    """See the module's text."""

    def open_sequence(self) -> FakeSequence:
        return SlowSequence(self)


class SlowSequence(FakeSequence):
    """See the module's text."""

    def evaluate(
        self, tokens: Tokens[int], rows: int, cancelled: Callable[[], bool] | None = None
    ) -> Logits:
        text = bytes(token for token in (*self._tokens, *tokens) if token < 256)
        if b"CRASH" in text:
            os.kill(os.getpid(), signal.SIGKILL)
        if b"STUCK" in text:
            time.sleep(600)
        if b"SLOW" in text:
            end = time.monotonic() + FORWARD + TOKEN * len(tokens)
            while time.monotonic() < end:
                time.sleep(0.002)
                if cancelled is not None and cancelled():
                    raise Cancelled("cancelled")
        logits = super().evaluate(tokens, rows, cancelled)
        logits[:, 256:] = -1  # no end comes by chance
        return logits


def open_slow(opening: Opening) -> Opened:
    """The registry's factory."""
    return Opened(SlowEngine(context_length=opening.context_length), FakeTokenizer())


def main() -> None:
    """`slow_engine.py SETTINGS [KEY]` serves; `slow_engine.py DESCRIPTOR` is its engine."""
    engines.BUILT_IN["fake"] = ENTRY
    if sys.argv[1].isdecimal():
        from redraft.server import child

        child.main()
        return
    from redraft.server import guard, serve, supervisor

    values = json.loads(sys.argv[1])
    supervisor.STUCK_AFTER = values.pop("stuck_after", supervisor.STUCK_AFTER)
    serve.HEADER_SECONDS = guard.BODY_SECONDS = values.pop("header_seconds", guard.BODY_SECONDS)
    settings = load_settings({"engine": "fake", "port": 0, **values}, Path.cwd())
    key = sys.argv[2] if len(sys.argv) > 2 else None

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    serve.serve(settings, key, say, (sys.executable, __file__))


if __name__ == "__main__":
    main()
