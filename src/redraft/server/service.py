"""Brings calls and runs together: a bounded queue, equal calls joined, the newest call wins.

It does not know dialects, nor how replies are written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias

from redraft.config import Settings
from redraft.requests import Options, Request
from redraft.server.calls import Call
from redraft.server.generation import Generation, Outcome, Refusal
from redraft.server.metrics import Metrics
from redraft.server.supervisor import EngineProcess
from redraft.server.wire import Model

_Key: TypeAlias = tuple[Hashable | None, tuple[Request, Options]]
RETRY_AFTER = 2
"""Seconds after which a refused client may try again."""


class Service:
    """What the HTTP handlers share. Belongs to one event loop."""

    def __init__(self, settings: Settings, engine: EngineProcess) -> None:
        self.settings = settings
        self.engine = engine
        self.metrics = Metrics()
        self.draining = False
        """Whether the server is about to end and takes no new calls."""
        self._calls = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._running: dict[_Key, Generation] = {}
        self._newest: dict[Hashable, Generation] = {}
        self._warming: Generation | None = None

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """A place in the queue. Raises Refusal when it is full, or the server about to end."""
        if self.draining:
            raise Refusal(
                503, "unavailable_error", "the server is about to end; start it again", RETRY_AFTER
            )
        slots = self.settings.live_sequences
        if self._calls >= slots + self.settings.queue:
            raise Refusal(
                429,
                "rate_limit_error",
                f"{self._calls} requests are under way or wait, which is all the queue holds; try"
                " again later, or raise --queue",
                RETRY_AFTER,
            )
        self._calls += 1
        self._idle.clear()
        self._count()
        try:
            yield
        finally:
            self._calls -= 1
            self._count()
            if not self._calls:
                self._idle.set()

    async def drained(self) -> None:
        """Take no new calls, and wait until there is none."""
        self.draining = True
        await self._idle.wait()

    def begin(self, call: Call, index: int) -> Generation:
        """The generation of one choice of a call: a running one that is equal, or a new one.

        Equal ones give the same tokens: where a seed is drawn, it is part of the options.
        """
        key = (call.document, call.runs[index])
        self._forget_ended()
        if call.urgent and self._warming is not None:
            self._warming.supersede()
        generation = self._running.get(key)
        if generation is None or not generation.joinable:
            limit = self.settings.request_seconds
            run = call.runs[index]
            generation = Generation(self.engine, run, call.urgent, self.metrics, limit)
            self._running[key] = generation
        if call.document is not None:
            older = self._newest.get(call.document)
            self._newest[call.document] = generation
            if older is not None and older is not generation:
                older.supersede()
        return generation

    def go_on_warming(self, call: Call, index: int, outcome: Outcome) -> None:
        """Where the time limit of the prompt ended a choice, go on evaluating the prompt for the
        next request, which will be about the same. The next call from a cursor ends that."""
        request, options = call.runs[index]
        if outcome.ending != "time" or outcome.tokens or options.prompt_seconds is None:
            return
        if self._warming is not None:
            self._warming.supersede()
        run = (request, replace(options, max_tokens=0, prompt_seconds=None))
        limit = self.settings.request_seconds
        self._warming = Generation(self.engine, run, False, self.metrics, limit)

    def model(self) -> Model:
        """The loaded weights. Raises Refusal before they were loaded for the first time."""
        if self.engine.known is None:
            raise Refusal(503, "unavailable_error", "Loading model", RETRY_AFTER)
        return self.engine.known

    def busy_slots(self) -> set[int]:
        """Slots in which a run is under way."""
        return {one.slot for one in self._running.values() if one.slot is not None}

    def _forget_ended(self) -> None:
        self._running = {key: one for key, one in self._running.items() if not one.ended}
        self._newest = {key: one for key, one in self._newest.items() if not one.ended}

    def _count(self) -> None:
        slots = self.settings.live_sequences
        self.metrics.processing.set(min(self._calls, slots))
        self.metrics.deferred.set(max(0, self._calls - slots))
