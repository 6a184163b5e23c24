"""What OpenAI's clients are told of a run: completions, chat, and their streams."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from redraft.server.generation import Outcome, Refusal
from redraft.server.llamacpp_shape import probability
from redraft.server.replies import as_event, error_value
from redraft.server.service import Service
from redraft.server.timings import prompt_tokens, reused_tokens, timings
from redraft.server.wire import Advanced, Chosen

DONE = "[DONE]"
_FINISHED = frozenset({"stop", "indent"})


@dataclass(frozen=True, slots=True)
class Form:
    """What the replies to one call have in common."""

    id: str
    created: int
    usage: bool
    """Whether a chat's stream ends with the counts."""
    predicted: bool
    """Whether a prediction came with the call."""
    logprobs: bool = False


class _Shape:
    """What both have in common."""

    media_type = "text/event-stream"
    whole_object = ""
    chunk_object = ""
    prefix = ""

    def __init__(self, service: Service, form: Form) -> None:
        self._service = service
        self._form = form

    def refused(self, refusal: Refusal) -> object:
        """See `error_value`."""
        return error_value(refusal)

    def encode(self, value: object) -> bytes:
        """See `as_event`."""
        return as_event(value)

    def _value(self, choices: list[object], object_: str) -> dict[str, object]:
        return {
            "choices": choices,
            "created": self._form.created,
            "model": self._service.model().name,
            "system_fingerprint": f"redraft-{self._service.model().engine}",
            "object": object_,
        }

    def _ended(self, value: dict[str, object], outcomes: list[Outcome]) -> dict[str, object]:
        """The value with the counts of all choices."""
        value["usage"] = self._usage(outcomes)
        value["id"] = self.prefix + self._form.id
        value["timings"] = timings(outcomes[-1])
        return value

    def _chunk(self, choices: list[object]) -> dict[str, object]:
        return self._value(choices, self.chunk_object) | {"id": self.prefix + self._form.id}

    def _usage(self, outcomes: list[Outcome]) -> dict[str, object]:
        prompt = prompt_tokens(outcomes[0])
        completion = sum(len(outcome.tokens) for outcome in outcomes)
        usage: dict[str, object] = {
            "completion_tokens": completion,
            "prompt_tokens": prompt,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": reused_tokens(outcomes[0])},
        }
        if self._form.predicted:
            came = sum(outcome.came for outcome in outcomes)
            predicted = sum(outcome.predicted for outcome in outcomes)
            usage["completion_tokens_details"] = {
                "accepted_prediction_tokens": came,
                "rejected_prediction_tokens": predicted - came,
            }
        return usage


class TextShape(_Shape):
    """What `/v1/completions` says."""

    whole_object = chunk_object = "text_completion"
    prefix = "cmpl-"

    def whole(self, outcomes: list[Outcome]) -> object:
        """One object with all choices."""
        choices: list[object] = [
            self._choice(index, one.text, one.chosen, finish_reason(one))
            for index, one in enumerate(outcomes)
        ]
        return self._ended(self._value(choices, self.whole_object), outcomes)

    def begin(self, index: int) -> Iterable[object]:
        """Nothing."""
        return ()

    def step(self, index: int, event: Advanced) -> Iterable[object]:
        """The text of a step."""
        if event.text:
            yield self._chunk([self._choice(index, event.text, event.chosen, None)])

    def end(self, index: int, outcome: Outcome) -> Iterable[object]:
        """Why the choice ended, with the counts."""
        value = self._value(
            [self._choice(index, "", (), finish_reason(outcome))], self.chunk_object
        )
        return (self._ended(value, [outcome]),)

    def close(self, outcomes: list[Outcome]) -> Iterable[object]:
        """The end of the stream."""
        return (DONE,)

    def _choice(
        self, index: int, text: str, chosen: tuple[Chosen, ...], reason: str | None
    ) -> dict[str, object]:
        logprobs = _text_logprobs(chosen) if self._form.logprobs and chosen else None
        return {"text": text, "index": index, "logprobs": logprobs, "finish_reason": reason}


class ChatShape(_Shape):
    """What `/v1/chat/completions` and `/v1/fim/completions` say."""

    whole_object = "chat.completion"
    chunk_object = "chat.completion.chunk"
    prefix = "chatcmpl-"

    def whole(self, outcomes: list[Outcome]) -> object:
        """One object with all choices."""
        choices: list[object] = []
        for index, outcome in enumerate(outcomes):
            choice: dict[str, object] = {
                "finish_reason": finish_reason(outcome),
                "index": index,
                "message": {"role": "assistant", "content": outcome.text},
            }
            choices.append(choice | self._logprobs(outcome.chosen))
        return self._ended(self._value(choices, self.whole_object), outcomes)

    def begin(self, index: int) -> Iterable[object]:
        """Who speaks."""
        return (self._delta(index, {"role": "assistant", "content": None}),)

    def step(self, index: int, event: Advanced) -> Iterable[object]:
        """The text of a step."""
        if event.text:
            yield self._delta(index, {"content": event.text}, event.chosen)

    def end(self, index: int, outcome: Outcome) -> Iterable[object]:
        """Why the choice ended."""
        choice = {"finish_reason": finish_reason(outcome), "index": index, "delta": {}}
        return (self._chunk([choice]),)

    def close(self, outcomes: list[Outcome]) -> Iterable[object]:
        """The counts, if they were asked for, and the end of the stream."""
        if self._form.usage:
            yield self._ended(self._value([], self.chunk_object), outcomes)
        yield DONE

    def _delta(
        self, index: int, delta: dict[str, object], chosen: tuple[Chosen, ...] = ()
    ) -> dict[str, object]:
        choice: dict[str, object] = {"finish_reason": None, "index": index, "delta": delta}
        return self._chunk([choice | self._logprobs(chosen)])

    def _logprobs(self, chosen: tuple[Chosen, ...]) -> dict[str, object]:
        if not self._form.logprobs:
            return {}
        return {"logprobs": {"content": [probability(one) for one in chosen]}}


def finish_reason(outcome: Outcome) -> str:
    """`stop` where the model, a stop string or the indentation ended the output, else `length`."""
    return "stop" if outcome.ending in _FINISHED else "length"


def _text_logprobs(chosen: tuple[Chosen, ...]) -> dict[str, object]:
    """As llama.cpp's server has it (`content`), and as OpenAI's older API (the rest)."""
    tokens = [one.piece.bytes.decode("utf-8", "replace") for one in chosen]
    return {
        "content": [probability(one) for one in chosen],
        "tokens": tokens,
        "token_logprobs": [one.piece.logprob for one in chosen],
        "top_logprobs": [
            {piece.bytes.decode("utf-8", "replace"): piece.logprob for piece in one.top}
            for one in chosen
        ],
    }
