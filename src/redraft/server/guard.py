"""Stands before every handler: who may ask, from where, and how much.

A web page that somebody visits can reach a server on their own machine: by a name that resolves to
it (so the Host header must name this machine) or from its own origin (so Origin must be local).
Knows HTTP headers and no dialect.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
from collections.abc import Awaitable, Callable
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from redraft.server.generation import Refusal
from redraft.server.replies import error_reply

LARGEST_BODY = 8 << 20
"""Bytes; about twice the text of a million tokens."""
LARGEST_HEAD = 64 << 10
"""Bytes of a request's headers."""
BODY_SECONDS = 30.0
"""Seconds that a body may take to arrive."""
PUBLIC = frozenset({"/health", "/v1/health", "/"})
"""Paths that need no key: they tell whether the server is there, and no more."""
_EDITORS = frozenset({"vscode-webview", "vscode-file"})
"""Schemes of origins that are part of an editor on this machine."""


class Guard:
    """Wraps an ASGI application. `replied` is told the status of every reply.

    `host` is the address that the server listens on; `key`, if there is one, must be sent with
    every request as a bearer token, `x-api-key` or `api-key`.
    """

    def __init__(
        self, app: ASGIApp, host: str, key: str | None, replied: Callable[[int], None]
    ) -> None:
        self._app = app
        self._host = host
        self._key = key.encode() if key else None
        self._replied = replied

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin")

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._replied(message["status"])
                if origin is not None and is_local_origin(origin):
                    message["headers"] = [*message["headers"], *_cors(headers, origin)]
            await send(message)

        refusal = self._refusal(scope, headers, origin)
        if refusal is not None:
            await error_reply(refusal)(scope, receive, answer)
        elif scope["method"] == "OPTIONS":
            await Response(media_type="text/html")(scope, receive, answer)
        else:
            await self._app(scope, receive, answer)

    def _refusal(self, scope: Scope, headers: Headers, origin: str | None) -> Refusal | None:
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LARGEST_HEAD:
            reason = f"the headers are longer than {LARGEST_HEAD:,} bytes; shorten them"
            return Refusal(431, "invalid_request_error", reason)
        host = headers.get("host", "")
        if self._key is None and not is_local_host(host, self._host):
            return Refusal(
                403,
                "permission_error",
                f"the Host header names {ascii(host)[1:60]}, which is not this machine; use"
                " localhost or 127.0.0.1",
            )
        if origin is not None and not is_local_origin(origin):
            return Refusal(
                403,
                "permission_error",
                f"pages from {ascii(origin)[1:60]} may not use this server; open them from"
                " localhost",
            )
        if scope["method"] == "OPTIONS" or scope["path"] in PUBLIC or self._has_key(headers):
            return None
        return Refusal(
            401,
            "authentication_error",
            "the key is missing or wrong; send it as 'Authorization: Bearer KEY'",
        )

    def _has_key(self, headers: Headers) -> bool:
        if self._key is None:
            return True
        bearer = headers.get("authorization", "")
        scheme, _, token = bearer.partition(" ")
        given = (
            token.strip() if scheme.lower() == "bearer" else "",
            headers.get("x-api-key", ""),
            headers.get("api-key", ""),
        )
        return any(hmac.compare_digest(one.encode(), self._key) for one in given)


def is_local_host(header: str, listening: str) -> bool:
    """Whether a Host header names this machine: a loopback name, or the address listened on."""
    name = header.strip()
    if name.startswith("["):
        name = name[1:].partition("]")[0]
    elif name.count(":") == 1:
        name = name.partition(":")[0]
    return name.lower().rstrip(".") == "localhost" or name == listening or _is_loopback(name)


def is_local_origin(origin: str) -> bool:
    """Whether an Origin header is a page on this machine or a part of an editor."""
    scheme, separator, rest = origin.partition("://")
    if not separator:
        return False
    return scheme in _EDITORS or (scheme in ("http", "https") and is_local_host(rest, ""))


def _is_loopback(name: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(name).is_loopback
    return False


def _cors(headers: Headers, origin: str) -> list[tuple[bytes, bytes]]:
    wanted = headers.get("access-control-request-headers", "authorization, content-type")
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-allow-methods", b"GET, POST, OPTIONS"),
        (b"access-control-allow-headers", wanted.encode("latin-1")),
        (b"access-control-allow-credentials", b"true"),
        (b"vary", b"Origin"),
    ]


async def read_body(request: Request) -> bytes:
    """The body of a request. Raises Refusal for one that is too large or too slow, and
    ClientDisconnect where nobody is there any more."""
    try:
        return await asyncio.wait_for(_read(request), BODY_SECONDS)
    except TimeoutError:
        reason = f"the body did not arrive within {BODY_SECONDS:.0f} s; send it faster"
        raise Refusal(408, "invalid_request_error", reason) from None


async def _read(request: Request) -> bytes:
    declared = request.headers.get("content-length", "0")
    parts, size = [], 0
    if not declared.isdecimal() or int(declared) <= LARGEST_BODY:
        async for part in request.stream():
            parts.append(part)
            size += len(part)
            if size > LARGEST_BODY:
                break
        else:
            return b"".join(parts)
    raise Refusal(
        413, "invalid_request_error", f"the body is longer than {LARGEST_BODY:,} bytes; shorten it"
    )


Endpoint = Callable[[Request], Awaitable[ASGIApp]]


class Guarded:
    """An endpoint as an ASGI application that answers a Refusal as such."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            reply = await self._endpoint(Request(scope, receive))
        except Refusal as refusal:
            reply = error_reply(refusal)
        except ClientDisconnect:
            return
        await reply(scope, receive, send)
