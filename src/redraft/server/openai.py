"""The dialect of OpenAI's API: completions, with `suffix`, and chat, with `prediction`.

It knows HTTP bodies and requests; it does not know engines.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Hashable, Iterable
from dataclasses import replace

import orjson
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import ASGIApp

from redraft.requests import ChatRequest, CompleteRequest, Options, Request, TextRequest
from redraft.server.calls import Call, completion
from redraft.server.conversation import read_content, read_messages
from redraft.server.fields import Fields, invalid
from redraft.server.guard import read_body
from redraft.server.identity import document_of
from redraft.server.llamacpp import MOST_CHOICES, prompts, seconds
from redraft.server.openai_shapes import ChatShape, Form, TextShape
from redraft.server.replies import Reply, as_json
from redraft.server.sampling_fields import max_tokens, refuse_unsupported, sampling
from redraft.server.service import Service

STARTED = int(time.time())


class OpenAI:
    """The endpoints of this dialect."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def models(self, http: HttpRequest) -> Response:
        """`GET /v1/models`: the one that is loaded."""
        model = self._service.model()
        return as_json(
            {
                "object": "list",
                "data": [
                    {
                        "id": model.name,
                        "aliases": [model.name],
                        "tags": [],
                        "object": "model",
                        "created": STARTED,
                        "owned_by": "llamacpp",  # what makes llama.vscode read /props
                        "meta": {
                            "n_vocab": model.vocabulary_size,
                            "n_ctx": model.context_length,
                            "n_ctx_train": model.trained_length,
                            "size": model.size,
                            "ftype": model.quantization,
                        },
                    }
                ],
            }
        )

    async def completions(self, http: HttpRequest) -> ASGIApp:
        """`POST /v1/completions`. With `suffix` it fills in between; without it goes on."""
        fields = Fields.parse(await read_body(http))
        self._refuse(fields, "best_of", "echo")
        prediction = _prediction(fields)
        asked = prompts(fields)
        requests: list[Request] = [TextRequest(prompt, prediction) for prompt in asked]
        line_end = "\n"
        if fields.has("suffix"):
            filled = [completion(_only_text(prompt), fields.text("suffix")) for prompt in asked]
            requests, line_end = [request for request, _ in filled], filled[0][1]
        top = fields.integer("logprobs", 0, 0, 100) if not _is_flag(fields, "logprobs") else 0
        options = replace(self._options(fields), top=top)
        call = replace(self._call(http, fields, requests, options), line_end=line_end)
        form = self._form(fields, bool(prediction), fields.raw("logprobs") not in (None, False))
        return Reply(self._service, call, TextShape(self._service, form))

    async def chat(self, http: HttpRequest) -> ASGIApp:
        """`POST /v1/chat/completions`."""
        fields = Fields.parse(await read_body(http))
        self._refuse(fields)
        if fields.raw("tools") and fields.raw("tool_choice") != "none":
            raise invalid("Field 'tools' is not supported; leave it out, or ask for JSON by"
                          " 'response_format'")  # fmt: skip
        prediction = _prediction(fields)
        request = ChatRequest(read_messages(fields), prediction)
        top = fields.integer("top_logprobs", 0, 0, 20)
        options = replace(self._options(fields), top=top, schema=_schema(fields))
        call = self._call(http, fields, [request], options)
        form = self._form(fields, bool(prediction), fields.flag("logprobs"))
        return Reply(self._service, call, ChatShape(self._service, form))

    async def fim(self, http: HttpRequest) -> ASGIApp:
        """`POST /v1/fim/completions`: fills in between, answered like a chat."""
        fields = Fields.parse(await read_body(http))
        self._refuse(fields)
        request, line_end = completion(fields.required_text("prompt"), fields.text("suffix"))
        call = self._call(http, fields, [request], self._options(fields))
        call = replace(call, line_end=line_end)
        return Reply(self._service, call, ChatShape(self._service, self._form(fields, False)))

    def _refuse(self, fields: Fields, *others: str) -> None:
        refuse_unsupported(fields)
        for name in others:
            if fields.raw(name) not in (None, False, 1):
                raise invalid(f"Field '{name}' is not supported; leave it out")

    def _options(self, fields: Fields) -> Options:
        return replace(
            sampling(fields, self._service.settings),
            max_tokens=max_tokens(fields, "max_completion_tokens", "max_tokens", "n_predict"),
            decode_seconds=seconds(fields.number("t_max_predict_ms", float("-inf"))),
        )

    def _call(
        self, http: HttpRequest, fields: Fields, requests: list[Request], options: Options
    ) -> Call:
        copies = fields.integer("n", 1, 1, MOST_CHOICES + 1)
        if copies > MOST_CHOICES:
            raise invalid(f"Field 'n' must be 1 … {MOST_CHOICES}, but is {fields.raw('n')}")
        if copies > 1 and fields.has("prediction"):
            raise invalid("Field 'n' must be 1 with 'prediction'; leave one of them out")
        runs = tuple(
            (request, replace(options, index=index if options.temperature else 0))
            for request in requests
            for index in range(copies)
        )
        urgent = all(isinstance(request, CompleteRequest) for request in requests)
        document: Hashable | None = None
        if urgent and isinstance(requests[0], CompleteRequest):
            slot = fields.integer("id_slot", -1, -1, 1 << 31)
            document = document_of(http, requests[0].prefix, slot if slot >= 0 else None)
        return Call(runs, urgent, fields.flag("stream"), document)

    @staticmethod
    def _form(fields: Fields, predicted: bool, logprobs: bool = False) -> Form:
        return Form(
            id=secrets.token_urlsafe(18),
            created=int(time.time()),
            usage=fields.object("stream_options").flag("include_usage"),
            predicted=predicted,
            logprobs=logprobs,
        )


def _prediction(fields: Fields) -> str:
    """The text that the answer will mostly repeat."""
    prediction = fields.object("prediction")
    if not fields.has("prediction"):
        return ""
    kind = prediction.text("type", "content")
    if kind != "content":
        raise invalid(f"a prediction of type {kind!r} is not supported; send type 'content'")
    return read_content(prediction)


def _only_text(prompt: Iterable[str | int]) -> str:
    parts = tuple(prompt)
    if any(not isinstance(part, str) for part in parts):
        raise invalid("Field 'prompt' must be text where there is a 'suffix'")
    return "".join(map(str, parts))


def _is_flag(fields: Fields, name: str) -> bool:
    return isinstance(fields.raw(name), bool)


def _schema(fields: Fields) -> str | None:
    """The JSON schema that `response_format` asks for, as JSON."""
    form = fields.object("response_format")
    kind = form.text("type", "text")
    if kind == "text":
        return None
    if kind == "json_object":
        return '{"type":"object"}'
    if kind != "json_schema":
        raise invalid(
            f"a response_format of type {kind!r} is not supported; known are text, json_object and"
            " json_schema"
        )
    schema = form.object("json_schema").raw("schema") or form.raw("schema")
    if not isinstance(schema, dict):
        raise invalid("Field 'response_format.json_schema.schema' is required; send an object")
    return orjson.dumps(schema).decode()
