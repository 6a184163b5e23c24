"""The process of one peer: loads what the first line says, answers line by line, ends at the end.

Started by `redraft.bench.peers.process` as `python -m redraft.bench.peers.child MODULE CLASS`.
Answers go to what stdout was at the start; stdout itself is then sent to stderr, since native
code prints there what it likes.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from typing import Any, Protocol, TextIO

from redraft.bench.peers.messages import PeerAnswer, PeerOpening


class Peer(Protocol):
    """What a peer's class gives; it takes a PeerOpening."""

    def answer(self, prompt: Sequence[int], max_tokens: int) -> PeerAnswer:
        """Greedy, of at most so many tokens."""
        ...

    def close(self) -> None:
        """Free everything."""
        ...


def serve(module: str, name: str, questions: TextIO, answers: TextIO) -> int:
    """Open, then answer until the questions end; 1 where the peer cannot be opened."""
    try:
        opening = PeerOpening(**json.loads(questions.readline()))
        peer: Peer = getattr(import_module(module), name)(opening)
    except (ImportError, ValueError, OSError, RuntimeError) as error:
        _say(answers, {"problem": str(error) or type(error).__name__})
        return 1
    _say(answers, {"ready": True})
    for line in questions:
        asked = json.loads(line)
        try:
            _say(answers, asdict(peer.answer(asked["prompt"], asked["max_tokens"])))
        except (OSError, ValueError, RuntimeError) as error:
            _say(answers, {"problem": str(error) or type(error).__name__})
    peer.close()
    return 0


def _say(answers: TextIO, content: Mapping[str, Any]) -> None:
    answers.write(json.dumps(content) + "\n")
    answers.flush()


if __name__ == "__main__":
    with os.fdopen(os.dup(1), "w") as pipe:
        os.dup2(2, 1)
        sys.exit(serve(sys.argv[1], sys.argv[2], sys.stdin, pipe))
