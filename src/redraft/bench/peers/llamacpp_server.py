"""llama.cpp's server engine from the wheel `xllamacpp`, asked over its own loopback socket.

The one module that imports the wheel; it runs in a peer's process only, since the native code ends
its process where it meets what it does not expect. Every mode has the engine's own defaults: what
somebody gets who turns it on.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from redraft.bench.peers.messages import PeerAnswer, PeerOpening
from redraft.engines.spinning import sleep_at_barriers

MODES: Mapping[str, str] = {
    "plain": "NONE",
    "ngram-simple": "NGRAM_SIMPLE",
    "ngram-map-k": "NGRAM_MAP_K",
    "ngram-mod": "NGRAM_MOD",
    "ngram-cache": "NGRAM_CACHE",
    "draft": "DRAFT_SIMPLE",
}
"""Our name of a mode to the last part of the wheel's."""
ANSWER_SECONDS = 3600


class LlamaCppServer:
    """One loaded mode. Raises ImportError without the wheel, ValueError for a mode it lacks."""

    def __init__(self, opening: PeerOpening) -> None:
        sleep_at_barriers()  # as for redraft's own engines: fair, and usable beside other programs
        import xllamacpp

        name = f"COMMON_SPECULATIVE_TYPE_{MODES[opening.mode]}"
        kind = getattr(xllamacpp.common_speculative_type, name, None)
        if kind is None:
            raise ValueError(f"this wheel has no {opening.mode}")
        parameters = xllamacpp.CommonParams()
        parameters.model.path = opening.model
        parameters.n_ctx = opening.context
        parameters.n_parallel = 1
        parameters.cpuparams.n_threads = opening.threads
        parameters.cpuparams_batch.n_threads = opening.threads
        parameters.hostnames = ["127.0.0.1"]
        parameters.port = 0
        parameters.speculative.types = [kind]
        if opening.small_model:
            parameters.speculative.draft.mparams.path = opening.small_model
        self._server = xllamacpp.Server(parameters)

    def answer(self, prompt: Sequence[int], max_tokens: int) -> PeerAnswer:
        """Greedy, from token ids; the engine's own stop tokens end it. Raises OSError."""
        asked = {
            "prompt": list(prompt),
            "n_predict": max_tokens,
            "temperature": 0.0,
            "return_tokens": True,
            "cache_prompt": False,
            "stream": False,
        }
        request = urllib.request.Request(
            f"{self._server.listening_address}/completion",
            json.dumps(asked).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as response:
            return _answer(json.load(response))

    def close(self) -> None:
        """Stop the engine's threads."""
        del self._server


def _answer(said: Mapping[str, Any]) -> PeerAnswer:
    timings = said["timings"]
    return PeerAnswer(
        tokens=tuple(said["tokens"]),
        prompt_seconds=timings["prompt_ms"] / 1000,
        decode_seconds=timings["predicted_ms"] / 1000,
        # without a draft in the whole answer the engine leaves these out
        proposed=timings.get("draft_n", 0),
        accepted=timings.get("draft_n_accepted", 0),
    )
