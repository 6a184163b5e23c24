"""Peers for the tests of the comparison: small classes that a peer's process runs."""

from __future__ import annotations

import os
from collections.abc import Sequence

from redraft.bench.peers.messages import PeerAnswer, PeerOpening
from redraft.bench.peers.specs import PeerSpec


class CountingPeer:
    """Answers at once: tokens 1, 2, 3 …, four of five drafted. Some modes fail in their way."""

    def __init__(self, opening: PeerOpening) -> None:
        self._mode = opening.mode
        if opening.mode == "unsupported":
            raise ValueError("this wheel has no unsupported")

    def answer(self, prompt: Sequence[int], max_tokens: int) -> PeerAnswer:
        print("native code prints what it likes")
        if self._mode == "aborting":
            os.write(2, b"GGML_ASSERT(false) failed\n")
            os.abort()
        if self._mode == "short":
            max_tokens = 1
        accepted = 0 if self._mode == "plain" else (max_tokens - 1) * 4 // 5
        return PeerAnswer(tuple(range(1, max_tokens + 1)), 0.5, 0.25, accepted, accepted)

    def close(self) -> None:
        print("closed")


MODES = ("plain", "quick", "aborting", "unsupported", "short")


def counting_spec(package: str = "pytest") -> PeerSpec:
    """A peer that comes as a package which is installed here."""
    return PeerSpec("Counting", package, "peer_doubles", "CountingPeer", MODES)
