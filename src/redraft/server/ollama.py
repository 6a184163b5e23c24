"""The dialect of Ollama's server, as far as editors use it: tags, show, generate, version.

It knows HTTP bodies and requests; it does not know engines.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

import orjson
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import ASGIApp

from redraft.models import Message
from redraft.requests import ChatRequest, CompleteRequest, Request, TextRequest
from redraft.server.calls import Call
from redraft.server.fields import Fields
from redraft.server.generation import Outcome, Refusal
from redraft.server.guard import read_body
from redraft.server.replies import Reply, as_json
from redraft.server.sampling_fields import max_tokens, refuse_unsupported, sampling
from redraft.server.service import Service
from redraft.server.timings import prompt_tokens
from redraft.server.wire import Advanced

VERSION = "0.12.0"
"""Of the API that is spoken: clients compare it with what they need."""
TEMPLATE = "{{ if .Suffix }}{{ .Prompt }}{{ .Suffix }}{{ else }}{{ .Prompt }}{{ end }}"
"""Tells clients, which look for `.Suffix` in it, that the model fills in."""
_FINISHED = frozenset({"stop", "indent"})


class Ollama:
    """The endpoints of this dialect."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def version(self, http: HttpRequest) -> Response:
        """`GET /api/version`."""
        return as_json({"version": VERSION})

    async def tags(self, http: HttpRequest) -> Response:
        """`GET /api/tags`: the one model."""
        model = self._service.model()
        entry = {
            "name": model.name,
            "model": model.name,
            "modified_at": _now(),
            "size": model.size,
            "digest": "",
            "details": self._details(),
        }
        return as_json({"models": [entry]})

    async def show(self, http: HttpRequest) -> Response:
        """`POST /api/show`: what the model can do."""
        Fields.parse(await read_body(http))
        model = self._service.model()
        fills = not model.missing_markers
        return as_json(
            {
                "modelfile": "",
                "parameters": f"num_ctx {model.context_length}",
                "template": TEMPLATE if fills else "{{ .Prompt }}",
                "details": self._details(),
                "model_info": {
                    "general.architecture": model.architecture,
                    f"{model.architecture}.context_length": model.context_length,
                },
                "capabilities": ["completion", "insert"] if fills else ["completion"],
            }
        )

    async def generate(self, http: HttpRequest) -> ASGIApp:
        """`POST /api/generate`: raw, filling in with `suffix`, or one turn of a chat. Streams
        unless it is told not to."""
        fields = Fields.parse(await read_body(http))
        options = fields.object("options")
        refuse_unsupported(options)
        chosen = replace(
            sampling(options, self._service.settings), max_tokens=max_tokens(options, "num_predict")
        )
        request = self._request(fields)
        urgent = isinstance(request, CompleteRequest)
        call = Call(((request, chosen),), urgent, fields.flag("stream", True))
        return Reply(self._service, call, GenerateShape(self._service))

    @staticmethod
    def _request(fields: Fields) -> Request:
        prompt = fields.text("prompt")
        if fields.text("suffix"):
            return CompleteRequest(prompt, fields.text("suffix"))
        if fields.flag("raw"):
            return TextRequest((prompt,))
        system = fields.text("system")
        messages = (Message("system", system),) if system else ()
        return ChatRequest((*messages, Message("user", prompt)))

    def _details(self) -> dict[str, object]:
        model = self._service.model()
        return {
            "parent_model": "",
            "format": "gguf",
            "family": model.architecture,
            "families": [model.architecture],
            "parameter_size": "",
            "quantization_level": model.quantization,
        }


class GenerateShape:
    """What `/api/generate` says: one JSON object a line."""

    media_type = "application/x-ndjson"

    def __init__(self, service: Service) -> None:
        self._service = service

    def whole(self, outcomes: list[Outcome]) -> object:
        """The text and the counts."""
        return self._last(outcomes[0], outcomes[0].text)

    def begin(self, index: int) -> Iterable[object]:
        """Nothing."""
        return ()

    def step(self, index: int, event: Advanced) -> Iterable[object]:
        """The text of a step."""
        if event.text:
            yield self._value(event.text) | {"done": False}

    def end(self, index: int, outcome: Outcome) -> Iterable[object]:
        """The counts."""
        return (self._last(outcome, ""),)

    def close(self, outcomes: list[Outcome]) -> Iterable[object]:
        """Nothing: the last object says `done`."""
        return ()

    def refused(self, refusal: Refusal) -> object:
        """A text, as Ollama's clients expect."""
        return {"error": refusal.message}

    def encode(self, value: object) -> bytes:
        """One line."""
        return orjson.dumps(value) + b"\n"

    def _value(self, text: str) -> dict[str, object]:
        return {"model": self._service.model().name, "created_at": _now(), "response": text}

    def _last(self, outcome: Outcome, text: str) -> dict[str, object]:
        count = outcome.result.statistics if outcome.result is not None else None
        prompt_ns = round(1e9 * count.prefill_seconds) if count is not None else 0
        eval_ns = round(1e9 * count.decode_seconds) if count is not None else 0
        return self._value(text) | {
            "done": True,
            "done_reason": "stop" if outcome.ending in _FINISHED else "length",
            "total_duration": prompt_ns + eval_ns,
            "load_duration": 0,
            "prompt_eval_count": prompt_tokens(outcome),
            "prompt_eval_duration": prompt_ns,
            "eval_count": len(outcome.tokens),
            "eval_duration": eval_ns,
        }


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
