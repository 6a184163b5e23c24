"""The dialect of llama.cpp's server: `/completion`, `/infill` and what belongs to them.

Paths, fields and their order are those of its server, so that llama.vim and llama.vscode work
unmodified. It knows HTTP bodies and requests; it does not know engines.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace

from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import ASGIApp

from redraft.context import OtherFile
from redraft.models import Message
from redraft.requests import CompleteRequest, Options, Request, TextRequest
from redraft.server import wire
from redraft.server.calls import Call, completion
from redraft.server.fields import Fields, invalid
from redraft.server.generation import Refusal
from redraft.server.guard import read_body
from redraft.server.identity import document_of
from redraft.server.llamacpp_shape import CompletionShape, generation_settings
from redraft.server.replies import Reply, as_json
from redraft.server.sampling_fields import max_tokens, refuse_unsupported, sampling
from redraft.server.service import Service

MOST_CHOICES = 16
MOST_PROBABILITIES = 100


class LlamaCpp:
    """The endpoints of this dialect."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def infill(self, http: HttpRequest) -> ASGIApp:
        """`POST /infill`: what goes between prefix and suffix."""
        body = await read_body(http)
        self._require_markers()
        fields = Fields.parse(body)
        refuse_unsupported(fields)
        others = tuple(
            OtherFile(other.text("filename"), other.text("text"))
            for other in fields.objects("input_extra")
        )
        before = fields.required_text("input_prefix")
        request, line_end = completion(
            before + fields.text("prompt"), fields.required_text("input_suffix"), others
        )
        slot = fields.integer("id_slot", -1, -1, 1 << 31)
        document = document_of(http, before, slot if slot >= 0 else None)
        options = self._options(fields)
        if options.max_tokens == 0:
            document = None  # a warm-up neither takes a place nor loses it
        return self._reply(fields, [request], options, document, line_end)

    async def completion(self, http: HttpRequest) -> ASGIApp:
        """`POST /completion`: goes on with a prompt, or with each of several."""
        fields = Fields.parse(await read_body(http))
        refuse_unsupported(fields)
        return self._reply(
            fields, [TextRequest(prompt) for prompt in prompts(fields)], self._options(fields)
        )

    async def tokenize(self, http: HttpRequest) -> Response:
        """`POST /tokenize`: ids, or with `with_pieces` ids and texts."""
        fields = Fields.parse(await read_body(http))
        special, begin = fields.flag("parse_special", True), fields.flag("add_special")
        pieces = await self._service.engine.tokenize(fields.text("content"), special, begin)
        if not fields.flag("with_pieces"):
            return as_json({"tokens": [piece.id for piece in pieces]})
        return as_json({"tokens": [{"id": p.id, "piece": _text_or_bytes(p)} for p in pieces]})

    async def detokenize(self, http: HttpRequest) -> Response:
        """`POST /detokenize`: the text of ids."""
        fields = Fields.parse(await read_body(http))
        tokens = token_ids("tokens", fields.items("tokens"))
        return as_json({"content": await self._service.engine.detokenize(tokens)})

    async def apply_template(self, http: HttpRequest) -> Response:
        """`POST /apply-template`: a conversation as the model reads it."""
        from redraft.server.conversation import read_messages

        fields = Fields.parse(await read_body(http))
        messages: tuple[Message, ...] = read_messages(fields)
        return as_json({"prompt": await self._service.engine.apply_template(messages)})

    async def props(self, http: HttpRequest) -> Response:
        """`GET /props`: the model and its defaults."""
        model = self._model()
        return as_json(
            {
                "default_generation_settings": {
                    "params": generation_settings(self._service, Options(), stream=False),
                    "n_ctx": model.context_length,
                },
                "total_slots": model.slots,
                "model_alias": model.name,
                "model_ftype": model.quantization,
                "model_path": model.path,
                "modalities": {"vision": False, "video": False, "audio": False},
                "endpoint_slots": True,
                "endpoint_props": True,
                "endpoint_metrics": True,
                "ui": False,
                "chat_template": model.chat_template,
                "bos_token": model.bos_text,
                "eos_token": model.eos_text,
                "build_info": f"redraft-{model.engine}",
                "is_sleeping": False,
            }
        )

    async def slots(self, http: HttpRequest) -> Response:
        """`GET /slots`: what works; with `fail_on_no_slot`, 503 where none is free."""
        model, busy = self._model(), self._service.busy_slots()
        if "fail_on_no_slot" in http.query_params and len(busy) >= model.slots:
            raise Refusal(503, "unavailable_error", "no slot is free; try again later", 1)
        return as_json(
            [
                {
                    "id": slot,
                    "n_ctx": model.context_length,
                    "speculative": self._service.settings.policy != "none",
                    "is_processing": slot in busy,
                }
                for slot in range(model.slots)
            ]
        )

    def _model(self) -> wire.Model:
        return self._service.model()

    def _require_markers(self) -> None:
        missing = self._model().missing_markers
        if missing:
            raise Refusal(
                501,
                "not_supported_error",
                "Infill is not supported by this model: "
                + "".join(f"{part} token is missing. " for part in missing)
                + "Serve a code model such as qwen2.5-coder-1.5b.",
            )

    def _options(self, fields: Fields) -> Options:
        tokens = max_tokens(fields, "n_predict", "max_tokens")
        prompt_ms = fields.number("t_max_prompt_ms", float("-inf"))
        predict_ms = fields.number("t_max_predict_ms", float("-inf"))
        return replace(
            sampling(fields, self._service.settings),
            max_tokens=tokens,
            top=fields.integer("n_probs", 0, 0, MOST_PROBABILITIES),
            indent=fields.integer("n_indent", 0, 0, 1 << 16),
            # a warm-up has all the time it needs: the plugins send 1 ms with it
            prompt_seconds=None if tokens == 0 else seconds(prompt_ms),
            decode_seconds=seconds(predict_ms),
        )

    def _reply(
        self,
        fields: Fields,
        requests: list[Request],
        options: Options,
        document: Hashable | None = None,
        line_end: str = "\n",
    ) -> Reply:
        copies = fields.integer("n_cmpl", 1, 1, MOST_CHOICES + 1)
        if copies > MOST_CHOICES:
            raise invalid(
                f"Field 'n_cmpl': Value must be between 1 <= value <= {MOST_CHOICES}, but got"
                f" {fields.raw('n_cmpl')}"
            )
        runs = [
            (request, replace(options, index=index if options.temperature else 0))
            for request in requests
            for index in range(copies)
        ]
        several = copies > 1 or (isinstance(requests[0], TextRequest) and _is_batch(fields))
        urgent = all(isinstance(request, CompleteRequest) for request in requests)
        call = Call(tuple(runs), urgent, fields.flag("stream"), document, line_end)
        return Reply(self._service, call, CompletionShape(self._service, call, fields, several))


def seconds(milliseconds: float | None) -> float | None:
    """A time limit; none where it is absent or not above 0."""
    return milliseconds / 1000 if milliseconds is not None and milliseconds > 0 else None


def prompts(fields: Fields) -> list[tuple[str | int, ...]]:
    """The field `prompt`: a text, token ids, both mixed, or an array of such."""
    value = fields.raw("prompt")
    if value is None:
        raise invalid("Field 'prompt' is required; send a string or an array of token ids")
    if not _is_batch(fields):
        return [_prompt(value)]
    if len(value) > MOST_CHOICES:
        raise invalid(f"Field 'prompt' has {len(value)} prompts; send up to {MOST_CHOICES}")
    return [_prompt(one) for one in value]


def _is_batch(fields: Fields) -> bool:
    value = fields.raw("prompt")
    if not isinstance(value, list):
        return False
    return bool(value) and all(isinstance(one, str | list) for one in value)


def _prompt(value: object) -> tuple[str | int, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        raise invalid("Field 'prompt' must be a string or an array of strings and token ids")
    texts = tuple(part for part in value if isinstance(part, str))
    ids = token_ids("prompt", [part for part in value if not isinstance(part, str)])
    following = iter(ids)
    if not texts:
        return ids
    return tuple(part if isinstance(part, str) else next(following) for part in value)


def token_ids(name: str, values: Iterable[object]) -> tuple[int, ...]:
    """Token ids. Raises Refusal for what is none; whether the model has them is told later."""
    found = []
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
            raise invalid(f"Field '{name}' must hold token ids, which are whole numbers from 0")
        found.append(value)
    return tuple(found)


def _text_or_bytes(piece: wire.Piece) -> object:
    try:
        return piece.bytes.decode()
    except UnicodeDecodeError:
        return list(piece.bytes)
