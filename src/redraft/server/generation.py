"""One run in the engine and everyone who waits for it, over HTTP or not.

Several clients that ask for the same at once follow one run; when the last of them has gone, it is
cancelled. It does not know dialects.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from redraft.requests import Options, Request
from redraft.results import Result
from redraft.server import wire
from redraft.server.metrics import Metrics
from redraft.server.supervisor import EngineProcess

Ending = Literal["stop", "indent", "length", "loop", "context", "time", "cancelled", "superseded"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended, as far as clients are told."""

    text: str
    tokens: tuple[int, ...]
    ending: Ending
    """`superseded` where a newer request for the same document took its place; there is no text
    then. `time` also where the server's own time limit ended it."""
    stopped_by: str | None
    slot: int
    chosen: tuple[wire.Chosen, ...] = ()
    result: Result | None = None
    """None where the run never began."""
    evaluated: int = 0
    """Tokens of the prompt that were evaluated and not found in the KV cache."""
    predicted: int = 0
    """Tokens of the prediction."""
    came: int = 0
    """Those of them that the output has."""


SUPERSEDED = Outcome("", (), "superseded", None, -1)


class Refusal(Exception):
    """What cannot be done, for a client: an HTTP status, a type and a message."""

    def __init__(self, status: int, type_: str, message: str, retry_after: int | None = None):
        super().__init__(message)
        self.status = status
        self.type = type_
        self.message = message
        self.retry_after = retry_after
        self.details: dict[str, object] = {}
        """What programs may want to know of it beside the message."""


_REFUSALS = {
    "ContextFull": (400, "exceed_context_size_error"),
    "BadToken": (400, "invalid_request_error"),
    "UsageError": (400, "invalid_request_error"),
    "InputError": (400, "invalid_request_error"),
    "GrammarRefused": (400, "invalid_request_error"),
    "ModelUnsupported": (501, "not_supported_error"),
    "EngineGone": (503, "unavailable_error"),
    "EngineLoading": (503, "unavailable_error"),
    "EngineError": (503, "unavailable_error"),
    "Cancelled": (503, "unavailable_error"),
}


def refusal(failed: wire.Failed) -> Refusal:
    """What a client is told of a failure in the engine."""
    status, kind = _REFUSALS.get(failed.kind, (500, "server_error"))
    refused = Refusal(status, kind, failed.message, 2 if status == 503 else None)
    if failed.prompt_tokens:
        numbers = {"n_prompt_tokens": failed.prompt_tokens, "n_ctx": failed.context_length}
        refused.details.update(numbers)
    return refused


class Generation:
    """A run that has begun in the engine. Belongs to one event loop. After `seconds` it is ended
    with what it has."""

    def __init__(
        self,
        engine: EngineProcess,
        run: tuple[Request, Options],
        urgent: bool,
        metrics: Metrics,
        seconds: float,
    ) -> None:
        self._engine = engine
        self._metrics = metrics
        self._events: list[wire.Advanced] = []
        self._news = asyncio.Event()
        self._followers = 0
        self._late = self._cancelled = False
        self.superseded = False
        """Whether a newer request has taken its place."""
        self._failed: wire.Failed | None = None
        self._outcome: Outcome | None = None
        self.slot: int | None = None
        """The slot it works in, while it does."""
        self._timer = asyncio.get_running_loop().call_later(seconds, self._be_late)
        self._number = engine.begin(*run, urgent, self._receive)

    @property
    def ended(self) -> bool:
        """Whether there will be no more events."""
        return self._outcome is not None or self._failed is not None

    @property
    def joinable(self) -> bool:
        """Whether another call may follow it: it goes on, and nobody has cancelled it."""
        return not self.ended and not self._cancelled

    @property
    def outcome(self) -> Outcome:
        """How it ended, once it has. Raises Refusal where it failed."""
        if self._outcome is not None:
            return self._outcome
        assert self._failed is not None, "asked once it has ended"
        raise refusal(self._failed)

    @contextmanager
    def followed(self) -> Iterator[None]:
        """While somebody waits for it. Without followers it is cancelled."""
        self._followers += 1
        try:
            yield
        finally:
            self._followers -= 1
            if not self._followers and not self.ended:
                self._cancel("disconnected")

    async def events(self) -> AsyncGenerator[wire.Advanced, None]:
        """All events from the first, as they come, until it has ended."""
        position = 0
        while True:
            while position < len(self._events):
                position += 1
                yield self._events[position - 1]
            if self.ended:
                return
            await self._news.wait()

    def supersede(self) -> None:
        """A newer request takes its place: end it, whoever waits."""
        if not self.ended:
            self.superseded = True
            self._cancel("superseded")

    def _be_late(self) -> None:
        self._late = True
        self._cancel("late")

    def _cancel(self, reason: str) -> None:
        if self._cancelled:
            return
        self._cancelled = True
        self._metrics.cancelled(reason)
        if self._number is not None:
            self._engine.cancel(self._number)

    def _receive(self, message: wire.Advanced | wire.Finished | wire.Failed) -> None:
        match message:
            case wire.Advanced():
                self.slot = message.slot
                self._events.append(message)
            case wire.Finished():
                self._outcome = self._outcome_of(message)
                self.slot = None
            case wire.Failed():
                self.slot = None
                if self.superseded and message.kind == "Cancelled":
                    self._outcome = SUPERSEDED  # it had not begun
                else:
                    self._failed = message
        if self.ended:
            self._timer.cancel()
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _outcome_of(self, finished: wire.Finished) -> Outcome:
        result = finished.result
        reused = result.statistics.reused_tokens
        evaluated = max((event.prompt_done for event in self._events), default=reused) - reused
        drafts = sum(event.drafted > 0 for event in self._events)
        self._metrics.ran(result, evaluated, drafts)
        if self.superseded:
            return Outcome("", (), "superseded", None, finished.slot, (), result, evaluated)
        chosen = tuple(choice for event in self._events for choice in event.chosen)
        ending: Ending = "time" if self._late else result.finish_reason
        return Outcome(
            result.text,
            result.tokens,
            ending,
            result.stopped_by,
            finished.slot,
            chosen,
            result,
            evaluated,
            finished.predicted,
            finished.came,
        )
