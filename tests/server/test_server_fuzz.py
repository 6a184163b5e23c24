"""Random requests: never a 5xx, never a hang, always JSON."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serving import Served

PATHS = (
    *("/infill", "/completion", "/tokenize", "/detokenize", "/apply-template", "/v1/completions"),
    *("/v1/chat/completions", "/v1/fim/completions", "/api/show", "/api/generate", "/v1/edits"),
)
FIELDS = (
    *("prompt", "suffix", "input_prefix", "input_suffix", "input_extra", "messages", "content"),
    *("tokens", "n_predict", "max_tokens", "n_cmpl", "n", "stop", "stream", "temperature", "top_p"),
    *("top_k", "min_p", "seed", "n_probs", "logprobs", "top_logprobs", "n_indent", "samplers"),
    *("response_fields", "prediction", "response_format", "options", "instruction", "text", "file"),
    *("language", "raw", "system", "id_slot", "t_max_predict_ms", "t_max_prompt_ms", "add_special"),
    *("with_pieces", "stream_options", "tools", "logit_bias", "return_tokens", "unknown"),
)
plain_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
numbers = st.integers(-(2**63), 2**64 - 1) | st.integers(-2, 20) | st.floats(allow_nan=False)
scalars = st.none() | st.booleans() | numbers.filter(lambda n: abs(n) != float("inf")) | plain_text
messages = st.lists(
    st.fixed_dictionaries({
        "role": st.sampled_from(["system", "user", "assistant", "tool"]),
        "content": plain_text | st.lists(st.fixed_dictionaries({"text": plain_text}), max_size=2),
    }),
    max_size=3,
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(plain_text, inner, max_size=3),
    max_leaves=6,
)
sensible = st.fixed_dictionaries(
    {},
    optional={
        "prompt": plain_text,
        "suffix": plain_text,
        "input_prefix": plain_text,
        "input_suffix": plain_text,
        "instruction": plain_text,
        "text": plain_text,
        "content": plain_text,
        "messages": messages,
        "stream": st.booleans(),
        "n_predict": st.integers(-1, 30),
        "temperature": st.floats(0, 3),
        "stop": st.lists(plain_text, max_size=3),
    },
)
bodies = st.tuples(sensible, st.dictionaries(st.sampled_from(FIELDS), values, max_size=4))


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(PATHS), bodies)
def test_random_requests_get_sensible_answers(
    server: Served, path: str, parts: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    reply = server.post(path, {**parts[0], **parts[1]})
    assert reply.status_code in (200, 400), (reply.status_code, reply.text)
    if reply.headers["content-type"].startswith("application/json"):
        value = reply.json()
        if reply.status_code == 400:
            error = value["error"]
            message = error if isinstance(error, str) else error["message"]
            assert message and "internal" not in message
    else:
        assert '"error"' not in reply.text
    assert "Traceback" not in server.log


@given(st.binary(max_size=200))
def test_random_bytes_do_no_harm(server: Served, data: bytes) -> None:
    server.raw(data + b"\r\n\r\n")
    assert server.get("/health").json() == {"status": "ok"}


@given(st.sampled_from(PATHS), st.binary(max_size=60))
def test_random_bodies_are_refused(server: Served, path: str, body: bytes) -> None:
    reply = server.post(path, body)
    assert reply.status_code == 400 and json.loads(reply.text)["error"]
