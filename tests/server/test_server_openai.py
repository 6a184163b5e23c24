"""OpenAI's dialect, through the real `openai` package, unmodified."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from serving import PATIENCE, Served

ASK: Any = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Say hi."}]


@pytest.fixture
def client(server: Served) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=f"{server.url}/v1", api_key="none", timeout=PATIENCE, max_retries=0
    ) as client:
        yield client


def test_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["fake"]


def test_chat_and_its_stream_say_the_same(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model="fake", messages=ASK, max_tokens=12)
    assert whole.choices[0].message.role == "assistant" and whole.usage is not None
    assert whole.usage.completion_tokens <= 12
    stream = client.chat.completions.create(
        model="", messages=ASK, max_tokens=12, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens
    assert chunks[-2].choices[0].finish_reason == whole.choices[0].finish_reason


def test_completions_and_their_stream_say_the_same(client: openai.OpenAI) -> None:
    whole = client.completions.create(model="fake", prompt="def f(", max_tokens=12)
    stream = client.completions.create(model="fake", prompt="def f(", max_tokens=12, stream=True)
    assert "".join(chunk.choices[0].text for chunk in stream) == whole.choices[0].text


def test_a_suffix_fills_in(client: openai.OpenAI, server: Served) -> None:
    filled = client.completions.create(model="fake", prompt="def f(", suffix="):\n", max_tokens=9)
    infill = {"input_prefix": "def f(", "input_suffix": "):\n", "n_predict": 9}
    assert filled.choices[0].text == server.json("/infill", infill)["content"]
    fim = {"prompt": "def f(", "suffix": "):\n", "max_tokens": 9}
    value = server.json("/v1/fim/completions", fim)
    assert value["choices"][0]["message"]["content"] == filled.choices[0].text


def test_a_prediction_changes_the_speed_only(client: openai.OpenAI) -> None:
    plain = client.chat.completions.create(model="fake", messages=ASK, max_tokens=20)
    text = plain.choices[0].message.content or ""
    predicted = client.chat.completions.create(
        model="fake",
        messages=ASK,
        max_tokens=20,
        prediction={"type": "content", "content": [{"type": "text", "text": text}]},
    )
    assert predicted.choices[0].message.content == text
    assert predicted.usage is not None
    details = predicted.usage.completion_tokens_details
    assert details is not None
    accepted, rejected = details.accepted_prediction_tokens, details.rejected_prediction_tokens
    assert accepted is not None and rejected is not None
    # bytes that are no UTF-8 came back as other characters, so not all of it can come
    assert accepted > 0 and accepted + rejected == len(text.encode())


def test_a_seed_repeats_and_choices_differ(client: openai.OpenAI) -> None:
    def ask(seed: int, n: int = 1) -> list[str | None]:
        reply = client.chat.completions.create(
            model="fake", messages=ASK, max_tokens=12, temperature=1.5, seed=seed, n=n
        )
        return [choice.message.content for choice in reply.choices]

    assert ask(7) == ask(7) != ask(8)
    first, second, third = ask(7, 3)
    assert [first] == ask(7) and len({first, second, third}) == 3


def test_logprobs_come_with_alternatives(client: openai.OpenAI) -> None:
    reply = client.chat.completions.create(
        model="fake", messages=ASK, max_tokens=3, logprobs=True, top_logprobs=2
    )
    logprobs = reply.choices[0].logprobs
    assert logprobs is not None and logprobs.content is not None
    assert all(len(one.top_logprobs) == 2 and one.logprob <= 0 for one in logprobs.content)


def test_a_stop_ends_the_text_before_it(client: openai.OpenAI) -> None:
    whole = client.completions.create(model="fake", prompt="abc", max_tokens=20)
    text = whole.choices[0].text
    stop = next(letter for letter in text[2:] if letter.isascii())
    cut = client.completions.create(model="fake", prompt="abc", max_tokens=20, stop=[stop, "zz"])
    assert cut.choices[0].text == text[: text.index(stop)]
    assert cut.choices[0].finish_reason == "stop"


def test_json_of_a_schema_is_all_that_can_come_out(client: openai.OpenAI) -> None:
    schema: Any = {
        "type": "object",
        "properties": {"c": {"enum": ["red", "blue"]}, "n": {"type": "boolean"}},
        "required": ["c", "n"],
        "additionalProperties": False,
    }
    reply = client.chat.completions.create(
        model="fake",
        messages=ASK,
        max_tokens=400,
        response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": schema}},
    )
    text = (reply.choices[0].message.content or "").replace(" ", "").replace("\n", "")
    begun = any(
        f'{{"c":"{colour}","n":{value}}}'.startswith("".join(text.split()))
        for colour in ("red", "blue")
        for value in ("true", "false")
    )
    assert begun, text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"presence_penalty": 1}, "presence_penalty"),
        ({"logit_bias": {"5": 1}}, "logit_bias"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"n": 2, "prediction": {"type": "content", "content": "x"}}, "prediction"),
        ({"response_format": {"type": "xml"}}, "response_format"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "wizard"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(
    client: openai.OpenAI, options: Any, message: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=message):
        client.chat.completions.create(**{"model": "fake", "messages": ASK, **options})


def test_too_long_a_prompt_says_how_long(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="context holds 2048") as caught:
        client.completions.create(model="fake", prompt="x" * 5000)
    assert caught.value.type == "exceed_context_size_error"
