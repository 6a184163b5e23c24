"""The HTTP application: which path goes to which endpoint, behind the guard.

It knows all dialects by their endpoints and nothing of what they do.
"""

from __future__ import annotations

import sys
import traceback

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from redraft.server.edits import Edits
from redraft.server.generation import Refusal, refusal
from redraft.server.guard import Endpoint, Guard, Guarded
from redraft.server.llamacpp import LlamaCpp
from redraft.server.metrics import CONTENT_TYPE
from redraft.server.ollama import Ollama
from redraft.server.openai import OpenAI
from redraft.server.replies import as_json, error_reply
from redraft.server.service import Service
from redraft.server.supervisor import Unanswered

_TYPES = {404: "not_found_error", 405: "invalid_request_error"}


def make_app(service: Service, key: str | None) -> ASGIApp:
    """The application that answers for `service`; with a key, only to those who send it."""
    llama, openai = LlamaCpp(service), OpenAI(service)
    ollama, edits, health = Ollama(service), Edits(service), Health(service)
    posts: list[tuple[str, Endpoint]] = [
        ("/infill", llama.infill),
        ("/completion", llama.completion),
        ("/completions", llama.completion),
        ("/tokenize", llama.tokenize),
        ("/detokenize", llama.detokenize),
        ("/apply-template", llama.apply_template),
        ("/v1/completions", openai.completions),
        ("/v1/chat/completions", openai.chat),
        ("/v1/fim/completions", openai.fim),
        ("/api/show", ollama.show),
        ("/api/generate", ollama.generate),
        ("/v1/edits", edits.edit),
    ]
    gets: list[tuple[str, Endpoint]] = [
        ("/", health.greeting),
        ("/health", health.health),
        ("/v1/health", health.health),
        ("/metrics", health.metrics),
        ("/props", llama.props),
        ("/slots", llama.slots),
        ("/models", openai.models),
        ("/v1/models", openai.models),
        ("/api/version", ollama.version),
        ("/api/tags", ollama.tags),
        ("/v1/runs/{id}", edits.run),
    ]
    routes = [
        Route(path, Guarded(endpoint), methods=[method])
        for method, table in (("POST", posts), ("GET", gets))
        for path, endpoint in table
    ]
    handlers = {HTTPException: _no_such_path, Unanswered: _unanswered, Exception: _bug}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return Guard(app, service.settings.host, key, service.metrics.replied)


class Health:
    """Whether the server is there, and what it counts."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def greeting(self, http: Request) -> Response:
        """`GET /`: some clients ask whether anybody is there."""
        return PlainTextResponse("redraft is running")

    async def health(self, http: Request) -> Response:
        """`GET /health`: whether requests can be answered."""
        engine = self._service.engine
        if engine.model is not None and not self._service.draining:
            return as_json({"status": "ok"})
        message = engine.refused.message if engine.refused is not None else "Loading model"
        return error_reply(Refusal(503, "unavailable_error", message, 2))

    async def metrics(self, http: Request) -> Response:
        """`GET /metrics`: for Prometheus."""
        page = self._service.metrics.page(self._service.engine.starts)
        return Response(page, headers={"content-type": CONTENT_TYPE})


async def _no_such_path(http: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        known = dict.fromkeys(route.path for route in http.app.routes if isinstance(route, Route))
        message = f"File Not Found: there is no such path; known are {', '.join(known)}"
    else:
        message = f"{http.method} is not allowed here; {error.detail}"
    return error_reply(Refusal(error.status_code, _TYPES.get(error.status_code, ""), message))


async def _unanswered(http: Request, error: Exception) -> Response:
    assert isinstance(error, Unanswered)
    return error_reply(refusal(error.failed))


async def _bug(http: Request, error: Exception) -> Response:
    traceback.print_exception(error, file=sys.stderr)
    reason = f"internal error: {type(error).__name__}; see the server's log"
    return error_reply(Refusal(500, "server_error", reason))
