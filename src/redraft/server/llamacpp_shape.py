"""What clients of llama.cpp's server are told of a run: its fields, in its order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from redraft.requests import CompleteRequest, Options, Request, TextRequest
from redraft.server import wire
from redraft.server.calls import Call
from redraft.server.fields import Fields
from redraft.server.generation import Outcome, Refusal
from redraft.server.replies import as_event, error_value
from redraft.server.service import Service
from redraft.server.timings import cached_tokens, prompt_tokens, timings


class CompletionShape:
    """What `/completion` and `/infill` say."""

    media_type = "text/event-stream"

    def __init__(self, service: Service, call: Call, fields: Fields, several: bool) -> None:
        self._service = service
        self._call = call
        self._several = several
        self._wanted = [name for name in fields.items("response_fields") if isinstance(name, str)]
        self._filtered = fields.has("response_fields")
        self._return_tokens = fields.flag("return_tokens")
        self._predicted = 0

    def whole(self, outcomes: list[Outcome]) -> object:
        """One object, or an array where several answers were asked for."""
        values = [self._last(index, one, one.text) for index, one in enumerate(outcomes)]
        return values if self._several else values[0]

    def begin(self, index: int) -> Iterable[object]:
        """Nothing: the first token comes first."""
        self._predicted = 0
        return ()

    def step(self, index: int, event: wire.Advanced) -> Iterable[object]:
        """The text of a step."""
        self._predicted += len(event.chosen)
        if not event.text:
            return
        value: dict[str, object] = {
            "index": index,
            "content": event.text,
            "tokens": [chosen.piece.id for chosen in event.chosen],
            "stop": False,
            "id_slot": event.slot,
            "tokens_predicted": self._predicted,
            "tokens_evaluated": event.prompt_total,
        }
        if self._call.runs[index][1].top:
            value["completion_probabilities"] = [probability(one) for one in event.chosen]
        yield value

    def end(self, index: int, outcome: Outcome) -> Iterable[object]:
        """The object with everything but the text, which was sent."""
        return (self._last(index, outcome, ""),)

    def close(self, outcomes: list[Outcome]) -> Iterable[object]:
        """Nothing: the last object says `stop`."""
        return ()

    def refused(self, refusal: Refusal) -> object:
        """See `error_value`."""
        return error_value(refusal)

    def encode(self, value: object) -> bytes:
        """See `as_event`."""
        return as_event(value)

    def _last(self, index: int, outcome: Outcome, text: str) -> dict[str, object]:
        request, options = self._call.runs[index]
        model, stream = self._service.model(), self._call.stream
        value: dict[str, object] = {
            "index": index,
            "content": text,
            "tokens": list(outcome.tokens) if self._return_tokens and not stream else [],
            "id_slot": outcome.slot,
            "stop": True,
            "model": model.name,
            "tokens_predicted": len(outcome.tokens),
            "tokens_evaluated": prompt_tokens(outcome),
            "generation_settings": generation_settings(self._service, options, stream)
            | {"n_ctx": model.context_length},
            "prompt": _prompt_text(request),
            "has_new_line": "\n" in outcome.text,
            "truncated": False,
            "stop_type": stop_type(outcome),
            "stopping_word": outcome.stopped_by or "",
            "tokens_cached": cached_tokens(outcome),
            "timings": timings(outcome),
        }
        if options.top and not stream:
            value["completion_probabilities"] = [probability(one) for one in outcome.chosen]
        return only(value, self._wanted) if self._filtered else value


def stop_type(outcome: Outcome) -> str:
    """`eos`, `word` or `limit`; `none` does not occur at an end."""
    if outcome.stopped_by is not None:
        return "word"
    return "eos" if outcome.ending == "stop" else "limit"


def only(value: Mapping[str, Any], paths: Iterable[str]) -> dict[str, object]:
    """What `response_fields` asks for: `a/b` is lifted to the top under that very name, and what
    is not there is left out."""
    found: dict[str, object] = {}
    for path in paths:
        place: Any = value
        for name in path.split("/"):
            place = place.get(name) if isinstance(place, Mapping) else None
        if place is not None:
            found[path] = place
    return found


def probability(chosen: wire.Chosen) -> dict[str, object]:
    """A token with its logprob and those in its place."""
    return _probability(chosen.piece) | {"top_logprobs": [_probability(one) for one in chosen.top]}


def _probability(piece: wire.Piece) -> dict[str, object]:
    return {
        "id": piece.id,
        "token": piece.bytes.decode("utf-8", "replace"),
        "bytes": list(piece.bytes),
        "logprob": piece.logprob,
    }


def generation_settings(service: Service, options: Options, stream: bool) -> dict[str, object]:
    """How a run is sampled and ended, as far as redraft has what llama.cpp has."""
    settings = service.settings

    def chosen(name: str) -> object:
        value = getattr(options, name)
        return getattr(settings, name) if value is None else value

    limit = -1 if options.max_tokens is None else options.max_tokens
    return {
        "seed": chosen("seed"),
        "temperature": chosen("temperature"),
        "top_k": chosen("top_k"),
        "top_p": chosen("top_p"),
        "min_p": chosen("min_p"),
        "typical_p": 1.0,
        "repeat_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "mirostat": 0,
        "stop": list(options.stop),
        "max_tokens": limit,
        "n_predict": limit,
        "n_keep": 0,
        "n_indent": options.indent,
        "ignore_eos": False,
        "stream": stream,
        "logit_bias": [],
        "n_probs": options.top,
        "min_keep": 0,
        "grammar": "",
        "samplers": ["top_k", "top_p", "min_p", "temperature"],
        "speculative.types": ",".join(settings.drafters) if settings.policy != "none" else "none",
        "timings_per_token": False,
        "lora": [],
    }


def _prompt_text(request: Request) -> str:
    match request:
        case CompleteRequest():
            return request.prefix + request.suffix
        case TextRequest():
            return "".join(part for part in request.prompt if isinstance(part, str))
        case _:
            return ""
