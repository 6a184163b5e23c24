"""redraft's own endpoints: edits by instruction, and the records of runs.

An edit is the same as `redraft edit` makes, with the same fields. It knows HTTP bodies and
requests; it does not know engines.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import PurePath

import orjson
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import ASGIApp

from redraft import files, runs
from redraft.errors import InputError, UsageError
from redraft.files import SourceFile
from redraft.requests import EditRequest, GenerateRequest, Options, Request
from redraft.server.calls import Call
from redraft.server.fields import Fields, invalid
from redraft.server.generation import Outcome, Refusal
from redraft.server.guard import read_body
from redraft.server.replies import Reply, as_event, error_value
from redraft.server.sampling_fields import max_tokens, refuse_unsupported, sampling
from redraft.server.service import Service
from redraft.server.wire import Advanced
from redraft.terminal.diff import unified_diff
from redraft.terminal.languages import language_of, one_word
from redraft.terminal.report import as_json as result_as_json

_RUN_ID = re.compile(r"[0-9a-z-]{1,64}", re.ASCII)


class Edits:
    """The endpoints of this dialect."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def edit(self, http: HttpRequest) -> ASGIApp:
        """`POST /v1/edits`: a text changed as instructed; without a text, new code."""
        fields = Fields.parse(await read_body(http))
        refuse_unsupported(fields)
        instruction = fields.required_text("instruction")
        if not instruction.strip():
            raise invalid("Field 'instruction' is empty; say what to change")
        name = PurePath(fields.text("file")).name or "file"
        source, language = _source(fields.text("text"), fields.text("language"), name)
        request: Request
        if fields.has("text"):
            request = EditRequest(source.text, instruction, name, language)
        else:
            request = GenerateRequest(instruction, language)
        call = Call(((request, self._options(fields)),), stream=fields.flag("stream"))
        return Reply(self._service, call, EditShape(name, source))

    async def run(self, http: HttpRequest) -> Response:
        """`GET /v1/runs/{id}`: a run step by step, as `redraft explain-run --json` shows it."""
        run = http.path_params["id"]
        if not _RUN_ID.fullmatch(run):
            raise invalid("a run's id has digits, letters and dashes only")
        try:
            record = await asyncio.to_thread(runs.read, run, self._service.settings.runs_folder)
        except InputError as error:
            raise Refusal(404, "not_found_error", str(error)) from None
        return Response(orjson.dumps(asdict(record), _bytes_as_text), media_type="application/json")

    def _options(self, fields: Fields) -> Options:
        return replace(
            sampling(fields, self._service.settings), max_tokens=max_tokens(fields, "max_tokens")
        )


class EditShape:
    """What `/v1/edits` says. Its stream has named events: `progress`, `draft` and `result`."""

    media_type = "text/event-stream"

    def __init__(self, name: str, source: SourceFile) -> None:
        self._name = name
        self._source = source

    def whole(self, outcomes: list[Outcome]) -> object:
        """The result, as `redraft edit --json` prints it."""
        outcome = outcomes[0]
        if outcome.result is None:
            raise invalid("a newer request took its place")
        form = self._source.form
        before = files.render(self._source.text, form).decode(form.encoding)
        after = files.render(outcome.text, form).decode(form.encoding)
        return {
            "file": self._name,
            **result_as_json(outcome.result),
            "text": after,
            "diff": unified_diff(before, after, self._name),
            "changed": before != after,
        }

    def begin(self, index: int) -> Iterable[object]:
        """Nothing."""
        return ()

    def step(self, index: int, event: Advanced) -> Iterable[object]:
        """How far the prompt is; then what became sure, and how the draft fared."""
        if not event.chosen:
            yield {
                "event": "progress",
                "prompt_done": event.prompt_done,
                "prompt_total": event.prompt_total,
            }
        else:
            yield {
                "event": "draft",
                "text": event.text,
                "tokens": len(event.chosen),
                "drafted": event.drafted,
                "accepted": event.accepted,
            }

    def end(self, index: int, outcome: Outcome) -> Iterable[object]:
        """The result."""
        value = self.whole([outcome])
        assert isinstance(value, dict)
        return ({"event": "result", **value},)

    def close(self, outcomes: list[Outcome]) -> Iterable[object]:
        """Nothing: the result is the last event."""
        return ()

    def refused(self, refusal: Refusal) -> object:
        """See `error_value`."""
        return {"event": "error", **error_value(refusal)}

    def encode(self, value: object) -> bytes:
        """A named event; the name is in the data too, for readers that skip it."""
        assert isinstance(value, dict)
        return f"event: {value['event']}\n".encode() + as_event(value)


def _source(text: str, language: str, name: str) -> tuple[SourceFile, str]:
    """The text as a file would be read, and its language, which editors name in their own ways."""
    try:
        source = files.parse(text.encode(), name)
        return source, one_word(language, "language") or language_of(name)
    except (InputError, UsageError) as error:
        raise invalid(str(error)) from None


def _bytes_as_text(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)
