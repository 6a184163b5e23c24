"""Writes replies: JSON on one line, and streams of it, to clients that may go away at any time.

A reply is written while the request's channel is watched, so that a disconnect ends the work for
it in whatever phase that is. It does not know dialects: a `Shape` makes the values.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterable, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Protocol, TypeVar

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from redraft.server.calls import Call
from redraft.server.generation import Generation, Outcome, Refusal
from redraft.server.service import Service
from redraft.server.wire import Advanced

_Told = TypeVar("_Told", Advanced, Outcome)
READING_SECONDS = 60.0
"""Seconds beyond its own time limit that a reply may take to be read."""
JSON = "application/json; charset=utf-8"


class Shape(Protocol):
    """How a dialect says what a run brings."""

    media_type: str
    """Of its streams."""

    def whole(self, outcomes: list[Outcome]) -> object:
        """The reply that is no stream: a JSON value."""
        ...

    def begin(self, index: int) -> Iterable[object]:
        """What a stream says before the first text of a choice."""
        ...

    def step(self, index: int, event: Advanced) -> Iterable[object]:
        """What a stream says of an event."""
        ...

    def end(self, index: int, outcome: Outcome) -> Iterable[object]:
        """What a stream says at the end of a choice."""
        ...

    def close(self, outcomes: list[Outcome]) -> Iterable[object]:
        """What a stream says when all choices have ended; text is sent as it is."""
        ...

    def refused(self, refusal: Refusal) -> object:
        """What is said of a request that cannot be done."""
        ...

    def encode(self, value: object) -> bytes:
        """A value as it stands in the stream."""
        ...


def as_json(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON reply: compact, on one line, since some clients look for `"content":"` in it."""
    return Response(orjson.dumps(value), status, headers, JSON)


def error_value(refusal: Refusal) -> dict[str, object]:
    """The object that llama.cpp's server and OpenAI's clients expect of an error."""
    error = {"code": refusal.status, "message": refusal.message, "type": refusal.type}
    return {"error": error | refusal.details}


def error_reply(refusal: Refusal, value: object = None) -> Response:
    """A refusal as a reply. Where a body is not read to its end, the connection ends with it."""
    headers = {"Retry-After": str(refusal.retry_after)} if refusal.retry_after else {}
    if refusal.status in (408, 413):
        headers["Connection"] = "close"
    return as_json(value or error_value(refusal), refusal.status, headers)


def as_event(value: object) -> bytes:
    """A server-sent event: one line of data. No comments are ever sent between them, since some
    clients stop reading at one."""
    data = value.encode() if isinstance(value, str) else orjson.dumps(value)
    return b"data: " + data + b"\n\n"


class Reply:
    """The reply to a call, as an ASGI application."""

    def __init__(self, service: Service, call: Call, shape: Shape) -> None:
        self._service = service
        self._call = call
        self._shape = shape

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Compute and answer, until the client goes away."""
        try:
            with self._service.admitted():
                seconds = self._service.settings.request_seconds * len(self._call.runs)
                work = self._answer(scope, receive, send)
                await unless_gone(receive, work, seconds + READING_SECONDS)
        except Refusal as refusal:
            await error_reply(refusal, self._shape.refused(refusal))(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._call.stream:
            value = self._shape.whole([outcome async for outcome in self._outcomes()])
            await as_json(value)(scope, receive, send)
            return
        async with aclosing(self._parts()) as parts:
            # the first part comes before the status does: what cannot be done has its own
            first = await anext(parts)
            media_type = self._shape.media_type.encode()
            head = [(b"content-type", media_type), (b"cache-control", b"no-cache")]
            await send({"type": "http.response.start", "status": 200, "headers": head})
            await send({"type": "http.response.body", "body": first, "more_body": True})
            try:
                async for part in parts:
                    await send({"type": "http.response.body", "body": part, "more_body": True})
            except Refusal as refusal:
                body = self._shape.encode(self._shape.refused(refusal))
                await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    def _generations(self) -> Iterator[tuple[int, Generation]]:
        """The choices one after another: on a CPU nothing is won by computing them at once, and
        each finds the prompt in the KV cache. Equal ones are computed once."""
        runs, last = self._call.runs, None
        for index in range(len(runs)):
            if last is None or (runs[index] != runs[index - 1] and not last.superseded):
                last = self._service.begin(self._call, index)
            yield index, last

    async def _outcomes(self) -> AsyncIterator[Outcome]:
        for index, generation in self._generations():
            with generation.followed():
                async with aclosing(generation.events()) as events:
                    async for _event in events:
                        pass
                outcome = self._as_given(generation.outcome)
            self._service.go_on_warming(self._call, index, outcome)
            yield outcome

    async def _parts(self) -> AsyncGenerator[bytes, None]:
        """The stream's bytes, in pieces of one value each."""
        shape, outcomes = self._shape, list[Outcome]()
        for index, generation in self._generations():
            begun = False
            with generation.followed():
                async with aclosing(generation.events()) as events:
                    async for event in events:
                        for value in () if begun else shape.begin(index):
                            yield shape.encode(value)
                        begun = True
                        for value in shape.step(index, self._as_given(event)):
                            yield shape.encode(value)
                outcomes.append(self._as_given(generation.outcome))
            self._service.go_on_warming(self._call, index, outcomes[-1])
            for value in () if begun else shape.begin(index):
                yield shape.encode(value)
            for value in shape.end(index, outcomes[-1]):
                yield shape.encode(value)
        for value in shape.close(outcomes):
            yield shape.encode(value)

    def _as_given(self, told: _Told) -> _Told:
        """The event or outcome with the line ends of the text that was given."""
        if self._call.line_end == "\n":
            return told
        return replace(told, text=told.text.replace("\n", self._call.line_end))


async def unless_gone(receive: Receive, work: Awaitable[None], seconds: float) -> None:
    """Do the work, or stop doing it when the client disconnects or it takes longer than this:
    a client that does not read its reply keeps no place in the queue."""
    working = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(_disconnect(receive))
    try:
        both = (working, watching)
        await asyncio.wait(both, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        watching.cancel()
        if not working.done():
            working.cancel()
        with suppress(asyncio.CancelledError):
            await working
        with suppress(asyncio.CancelledError):
            await watching


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
