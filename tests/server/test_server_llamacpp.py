"""llama.cpp's dialect over a real socket: fields, order, streams, limits."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from serving import Served, receive_all

INFILL = {"input_prefix": "def add(a, b):\n", "input_suffix": "\n", "prompt": "    return "}
FIELDS = [
    *("index", "content", "tokens", "id_slot", "stop", "model", "tokens_predicted"),
    *("tokens_evaluated", "generation_settings", "prompt", "has_new_line", "truncated"),
    *("stop_type", "stopping_word", "tokens_cached", "timings"),
]
TRANSCRIPTS = os.environ.get("LLAMA_SERVER_TRANSCRIPTS", "")
"""A file of recorded exchanges with llama.cpp's own server, one JSON object a line: name, method,
path, body, status, response."""


def records() -> list[Any]:
    if not Path(TRANSCRIPTS).is_file():
        reason = "LLAMA_SERVER_TRANSCRIPTS names no file of recorded exchanges"
        return [pytest.param(None, marks=pytest.mark.xfail(run=False, reason=reason))]
    lines = Path(TRANSCRIPTS).read_text().splitlines()
    return [pytest.param(one, id=one["name"]) for one in map(json.loads, lines)]


LACKING = {
    "models": {"models"},
    "props": {"media_marker", "ui_settings", "chat_template_caps", "cors_proxy_enabled"},
}
"""Fields that redraft leaves out: they tell of what it has not."""


@pytest.mark.parametrize("record", records())
def test_replies_have_the_shape_of_recorded_ones(server: Served, record: dict[str, Any]) -> None:
    name, body = record["name"], record["body"]
    if name == "detokenize":
        body = {"tokens": [token % 256 for token in body["tokens"]]}
    if record["method"] == "OPTIONS":
        return
    content = body.encode() if isinstance(body, str) else body and json.dumps(body).encode()
    reply = server.client.request(record["method"], record["path"], content=content)
    if name == "infill-n_cmpl-too-many":
        assert reply.status_code == 200  # redraft computes more choices than it has slots
        return
    assert reply.status_code == record["status"], reply.text
    if record["path"] == "/metrics":
        recorded = {line.split()[2] for line in record["response"].splitlines() if "# TYPE" in line}
        missing = {one for one in recorded if f"# TYPE {one} " not in reply.text}
        assert missing <= {"llamacpp:n_busy_slots_per_decode"}  # always one here
        return
    theirs, ours = values(record["response"]), values(reply.text)
    for one in {json.dumps(keys(value, name)): value for value in theirs}.values():
        wanted = keys(one, name)
        assert any(keys(value, name) == wanted for value in ours), (wanted, ours[:1])


def values(text: str) -> list[Any]:
    """The JSON values of a reply or stream."""
    if text.startswith("data: "):
        lines = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
        return [json.loads(line) for line in lines if line != "[DONE]"] + [
            line for line in lines if line == "[DONE]"
        ]
    return [json.loads(text)]


def keys(value: Any, name: str) -> Any:
    """The fields of a value in order, with those of objects in it, for comparison."""
    if isinstance(value, list):
        return [keys(value[0], name)] if value else []
    if not isinstance(value, dict):
        return None
    skipped = LACKING.get(name, set()) | {"generation_settings", "params"}
    skipped |= {"draft_n", "draft_n_accepted", "usage", "meta", "architecture"}
    if name == "v1-completions-logprobs":  # in the form of OpenAI's older API too
        skipped |= {"top_logprobs", "token_logprobs", "tokens"}
    return {
        key: keys(inner, name) if key not in ("tokens", "top_logprobs") else None
        for key, inner in value.items()
        if key not in skipped
    }


def test_infill_answers_compactly_with_all_fields(server: Served) -> None:
    reply = server.post("/infill", {**INFILL, "n_predict": 6})
    assert '"content":"' in reply.text and reply.text.startswith("{") and "\n" not in reply.text
    assert list(reply.json()) == FIELDS
    assert reply.json()["generation_settings"]["n_ctx"] == 2048
    assert reply.json()["tokens_predicted"] == 6


def test_the_prompt_of_infill_belongs_to_the_prefix(server: Served) -> None:
    whole = {"input_prefix": INFILL["input_prefix"] + INFILL["prompt"], "input_suffix": "\n"}
    one = server.json("/infill", {**INFILL, "n_predict": 8})
    assert one["content"] == server.json("/infill", {**whole, "n_predict": 8})["content"]


def test_what_llama_vim_sends_is_accepted(server: Served) -> None:
    body = {
        **INFILL,
        "id_slot": 0,
        "input_extra": [{"text": "x = 1\n", "time": [1, 2], "filename": "b.py"}],
        "n_predict": 9,
        "stop": [],
        "n_indent": 4,
        "top_k": 40,
        "top_p": 0.9,
        "samplers": ["top_k", "top_p", "infill"],
        "stream": False,
        "cache_prompt": True,
        "t_max_prompt_ms": 500,
        "t_max_predict_ms": 1000,
        "response_fields": ["content", "timings/prompt_n", "truncated", "no/such"],
        "model": "",
    }
    connection = server.send("/infill", body, "Authorization: Bearer \r\nConnection: close\r\n")
    head, _, reply = receive_all(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200") and reply.startswith(b'{"content":"')
    assert list(json.loads(reply)) == ["content", "timings/prompt_n", "truncated"]


def test_a_warm_up_fills_the_cache_and_says_nothing(server: Served) -> None:
    prefix = "# warm\n" * 60
    warm = {"input_prefix": prefix, "input_suffix": "", "n_predict": 0, "t_max_prompt_ms": 1}
    assert server.json("/infill", {**warm, "response_fields": [""]}) == {}
    asked = {"input_prefix": prefix, "input_suffix": "", "prompt": "x", "n_predict": 1}
    timings = server.json("/infill", asked)["timings"]
    assert timings["cache_n"] >= len(prefix)


def test_windows_line_ends_change_nothing_but_line_ends(server: Served) -> None:
    prefix, text, number = "a = 1\nb = 2\n" * 9, "", 40
    while "\n" not in text and number < 126:  # what the fake engine says follows the last letter
        number += 1
        suffix = f"c\n{chr(number)}"
        unix = {"input_prefix": prefix, "input_suffix": suffix, "n_predict": 60}
        text = server.json("/infill", unix)["content"]
    assert "\n" in text
    prefix, suffix = prefix.replace("\n", "\r\n"), suffix.replace("\n", "\r\n")
    windows = {**unix, "input_prefix": prefix, "input_suffix": suffix}
    assert server.json("/infill", windows)["content"] == text.replace("\n", "\r\n")
    *steps, _ = server.events("/infill", windows)
    assert "".join(one["content"] for one in steps) == text.replace("\n", "\r\n")
    filled = {"prompt": prefix, "suffix": suffix, "max_tokens": 60}
    choice = server.json("/v1/completions", filled)["choices"][0]
    assert choice["text"] == text.replace("\n", "\r\n")


def test_null_is_absent(server: Served) -> None:
    nulls = dict.fromkeys(("stop", "seed", "temperature", "n_indent", "input_extra", "stream"))
    assert server.json("/infill", {**INFILL, **nulls, "n_predict": 3})["stop"] is True


def test_several_choices_are_an_array(server: Served) -> None:
    greedy = server.json("/infill", {**INFILL, "n_cmpl": 3, "n_predict": 4})
    assert [one["index"] for one in greedy] == [0, 1, 2]
    assert len({one["content"] for one in greedy}) == 1
    sampled = server.json("/infill", {**INFILL, "n_cmpl": 3, "n_predict": 8, "temperature": 2})
    assert len({one["content"] for one in sampled}) > 1


def test_several_prompts_are_an_array(server: Served) -> None:
    body = {"prompt": ["def a", [100, 101], "def b"], "n_predict": 2}
    assert len(server.json("/completion", body)) == 3
    mixed = {"prompt": ["def", 32, "a"], "n_predict": 4}
    plain = server.json("/completion", {"prompt": "def a", "n_predict": 4})
    assert server.json("/completion", mixed)["content"] == plain["content"]


@pytest.mark.parametrize("path", ["/infill", "/completion"])
def test_a_stream_adds_up_to_the_reply(server: Served, path: str) -> None:
    body = {**INFILL, "n_predict": 12} if path == "/infill" else {"prompt": "abc", "n_predict": 12}
    *steps, last = server.events(path, body)
    assert "".join(one["content"] for one in steps) == server.json(path, body)["content"]
    assert last["stop"] and last["content"] == "" and not any(one["stop"] for one in steps)
    assert sum(len(one["tokens"]) for one in steps) <= last["tokens_predicted"] == 12


def test_a_stop_string_is_named(server: Served) -> None:
    body = {"prompt": "abc", "n_predict": 20, "return_tokens": True}
    text = server.json("/completion", body)["content"]
    stop = next(letter for letter in text[2:] if letter.isascii())
    reply = server.json("/completion", {**body, "stop": [stop]})
    assert reply["stop_type"] == "word" and reply["stopping_word"] == stop
    assert reply["content"] == text[: text.index(stop)]


def test_probabilities_come_with_their_bytes(server: Served) -> None:
    reply = server.json("/completion", {"prompt": "abc", "n_predict": 3, "n_probs": 2})
    first = reply["completion_probabilities"][0]
    assert list(first) == ["id", "token", "bytes", "logprob", "top_logprobs"]
    assert first["top_logprobs"][0]["id"] == first["id"] and len(first["top_logprobs"]) == 2


def test_tokens_go_there_and_back(server: Served) -> None:
    text = "naïve <|im_end|>"
    tokens = server.json("/tokenize", {"content": text})["tokens"]
    assert 258 in tokens
    plain = server.json("/tokenize", {"content": text, "parse_special": False})["tokens"]
    assert server.json("/detokenize", {"tokens": plain})["content"] == text
    pieces = server.json("/tokenize", {"content": "ï", "with_pieces": True})["tokens"]
    assert [one["piece"] for one in pieces] == [[195], [175]]


def test_markers_in_what_users_wrote_are_text(server: Served) -> None:
    body = {**INFILL, "input_prefix": "# <|fim_middle|>\n", "n_predict": 1}
    evaluated = server.json("/infill", body)["tokens_evaluated"]
    assert evaluated == len("# <|fim_middle|>\n    return \n") + 3


def test_props_slots_and_template(server: Served) -> None:
    props = server.get("/props").json()
    assert props["default_generation_settings"]["n_ctx"] == 2048
    assert props["total_slots"] == len(server.get("/slots").json()) == 4
    rendered = server.json("/apply-template", {"messages": [{"role": "user", "content": "hi"}]})
    assert rendered["prompt"].endswith("<|im_start|>assistant\n")
