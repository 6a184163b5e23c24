"""The server with the small default weights: exact, quick to cancel, back after a kill."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from conftest import SMALL, weights
from redraft.config import load_settings
from redraft.requests import CompleteRequest, EditRequest, GenerateRequest, Options
from redraft.session import Session
from serving import Served, running, wait_for

pytestmark = pytest.mark.models

LOADING = 400.0
"""Seconds that a busy machine gets to read the weights and to measure itself."""
SOURCE = '''def load(path):
    """Read the settings."""
    with open(path) as file:
        return parse(file.read())


def save(path, values):
    with open(path, "w") as file:
        file.write(render(values))
'''
PREFIX, SUFFIX = 'def add(a, b):\n    """Add."""\n    return ', "\n\nprint(add(1, 2))\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("real")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    flags = [f"--model={weights(SMALL)}", "--context=2048", "--port=0", "--live-sequences=2"]
    flags.append("--no-corpus-update")  # the engine is to be the only process that is started
    command = [sys.executable, "-P", "-m", "redraft", "serve", *flags]
    with running(folder, command, LOADING) as server:
        yield server


@pytest.fixture(scope="module")
def session(folder: Path) -> Iterator[Session]:
    options = {"model": str(weights(SMALL)), "context": 2048, "record": False}
    with Session(load_settings(options, folder)) as session:
        yield session


def alone(session: Session, request: Any, **options: Any) -> Any:
    session.forget()
    run = session.start(request, Options(**options))
    list(run)
    return run.result


REQUESTS = {
    "edit": (
        "/v1/edits",
        {"text": SOURCE, "instruction": "Rename load to read_settings", "file": "a.py"},
        EditRequest(SOURCE, "Rename load to read_settings", "a.py", "python"),
        {},
    ),
    "generate": (
        "/v1/edits",
        {"instruction": "A ring buffer", "language": "python", "max_tokens": 60},
        GenerateRequest("A ring buffer", "python"),
        {"max_tokens": 60},
    ),
    "complete": (
        "/infill",
        {"input_prefix": PREFIX, "input_suffix": SUFFIX, "n_predict": 24},
        CompleteRequest(PREFIX, SUFFIX),
        {"max_tokens": 24},
    ),
    "sampled": (
        "/infill",
        {"input_prefix": PREFIX, "input_suffix": "", "n_predict": 24, "temperature": 1, "seed": 3},
        CompleteRequest(PREFIX, ""),
        {"max_tokens": 24, "temperature": 1.0, "seed": 3},
    ),
}


def text(server: Served, name: str) -> str:
    path, body, *_ = REQUESTS[name]
    value = server.json(path, body)
    return str(value["text"] if path == "/v1/edits" else value["content"])


def test_answers_are_those_of_a_session_also_when_interleaved(
    server: Served, session: Session
) -> None:
    expected = {
        name: alone(session, request, **options).text
        for name, (_, _, request, options) in REQUESTS.items()
    }
    one_by_one = {name: text(server, name) for name in REQUESTS}
    assert one_by_one == expected
    with ThreadPoolExecutor(len(REQUESTS)) as pool:
        together = dict(zip(REQUESTS, pool.map(lambda n: text(server, n), REQUESTS), strict=True))
    assert together == expected


def test_a_prediction_is_used_and_changes_nothing(server: Served) -> None:
    ask = {"messages": [{"role": "user", "content": f"Print this code again:\n{SOURCE}"}]}
    prediction = {"type": "content", "content": f"```python\n{SOURCE}```"}
    body = {**ask, "max_tokens": 80, "prediction": prediction}
    # first, while `suffix` has no such answer in its store to draft from
    predicted = server.json("/v1/chat/completions", body)
    plain = server.json("/v1/chat/completions", {**ask, "max_tokens": 80})
    assert predicted["choices"] == plain["choices"]
    details = predicted["usage"]["completion_tokens_details"]
    assert details["accepted_prediction_tokens"] > 40


def test_json_follows_its_schema(server: Served) -> None:
    schema = {"type": "object", "properties": {"c": {"type": "string"}}, "required": ["c"]}
    body = {
        "messages": [{"role": "user", "content": "Name a colour as JSON with key c."}],
        "max_tokens": 40,
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}},
    }
    reply = server.json("/v1/chat/completions", body)["choices"][0]
    assert reply["finish_reason"] == "stop" and '"c"' in reply["message"]["content"]


def test_a_long_prompt_is_left_soon(server: Served) -> None:
    connection = server.send("/completion", {"prompt": "x = [1, 2]\n" * 150})
    wait_for(lambda: server.busy() == 1)
    begun = time.monotonic()
    connection.close()
    wait_for(lambda: server.busy() == 0)
    seconds = time.monotonic() - begun
    print(f"cancelled within {1000 * seconds:.0f} ms")
    assert text(server, "complete")


def test_a_killed_engine_is_back_within_a_load(server: Served) -> None:
    os.kill(server.engine_pid(), signal.SIGKILL)
    begun = time.monotonic()
    wait_for(lambda: "redraft:engine_starts 2.0" in server.get("/metrics").text)
    server.ready(LOADING)
    print(f"back after {time.monotonic() - begun:.1f} s")
    assert text(server, "complete")
