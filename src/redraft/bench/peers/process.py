"""A peer in a process of its own: opened, asked, ended, and its death told in words.

It knows pipes and signals; it does not know what the peer computes.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import TracebackType
from typing import Any

from redraft.bench.peers.messages import PeerAnswer, PeerOpening, answer_from
from redraft.errors import EngineError

END_SECONDS = 30
"""After the last answer a peer may take so long to free its weights, and is then ended."""


class PeerFailed(EngineError):
    """A peer cannot be opened, does not answer, or its process died."""


class PeerProcess:
    """A running peer, as a context manager. `module` and `name` say which class it runs.

    Raises PeerFailed when it cannot be opened.
    """

    def __init__(self, module: str, name: str, opening: PeerOpening) -> None:
        self._log = tempfile.TemporaryFile(  # noqa: SIM115 (closed with the process)
            "w+", encoding="utf-8", errors="replace"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-m", "redraft.bench.peers.child", module, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,  # Ctrl-C is ours to handle: a peer ends when its pipe does
        )
        try:
            self._exchange(asdict(opening))
        except BaseException:
            self._process.kill()  # it may be in the middle of loading
            self.close()
            raise

    def ask(self, prompt: Sequence[int], max_tokens: int) -> PeerAnswer:
        """A greedy answer of at most `max_tokens`. Raises PeerFailed."""
        return answer_from(self._exchange({"prompt": list(prompt), "max_tokens": max_tokens}))

    def close(self) -> None:
        """End it: by closing its pipe, and where that does not help by a signal."""
        if self._process.stdin is not None:
            try:
                self._process.stdin.close()
            except BrokenPipeError:
                self._process.kill()  # it is dead or dying, and has read nothing
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._log.close()

    def __enter__(self) -> PeerProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._process.kill()  # nobody waits for the answer that it may be computing
        self.close()

    def _exchange(self, content: Mapping[str, Any]) -> Mapping[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(content) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise PeerFailed(self._death())
        said: Mapping[str, Any] = json.loads(line)
        if "problem" in said:
            raise PeerFailed(said["problem"])
        return said

    def _death(self) -> str:
        code = self._process.wait()
        how = f"exit code {code}"
        if code < 0:
            how = signal.Signals(-code).name
        self._log.seek(0)
        said = [line.strip() for line in self._log.read().splitlines() if line.strip()]
        last = f": {said[-1][:200]}" if said else ""
        return f"its process ended by {how}{last}"
