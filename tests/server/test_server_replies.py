"""Work for a client ends with the client."""

from __future__ import annotations

import asyncio

import pytest
from starlette.types import Message

from redraft.server.generation import Refusal
from redraft.server.replies import as_event, unless_gone


async def nothing_comes() -> Message:
    await asyncio.sleep(3600)
    raise AssertionError


async def client_leaves() -> Message:
    return {"type": "http.disconnect"}


class Work:
    ended = ""

    async def do(self, seconds: float) -> None:
        try:
            await asyncio.sleep(seconds)
            self.ended = "done"
        except asyncio.CancelledError:
            self.ended = "cancelled"
            raise


@pytest.mark.parametrize(
    ("receive", "work_seconds", "seconds", "ended"),
    [
        (nothing_comes, 0.0, 60.0, "done"),
        (client_leaves, 60.0, 60.0, "cancelled"),
        (nothing_comes, 60.0, 0.01, "cancelled"),
    ],
)
def test_work_goes_on_only_while_somebody_waits(
    receive: object, work_seconds: float, seconds: float, ended: str
) -> None:
    work = Work()
    asyncio.run(unless_gone(receive, work.do(work_seconds), seconds))  # type: ignore[arg-type]
    assert work.ended == ended


def test_a_refusal_comes_through() -> None:
    async def refuse() -> None:
        raise Refusal(429, "rate_limit_error", "later")

    with pytest.raises(Refusal, match="later"):
        asyncio.run(unless_gone(nothing_comes, refuse(), 60.0))


def test_an_event_is_one_line_of_compact_json() -> None:
    assert as_event({"content": "a\nb"}) == b'data: {"content":"a\\nb"}\n\n'
    assert as_event("[DONE]") == b"data: [DONE]\n\n"
