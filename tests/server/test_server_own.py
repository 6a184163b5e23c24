"""redraft's own endpoints and Ollama's; and that the answers are those of the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from command import Redraft, make_redraft
from redraft.config import Settings, load_settings
from redraft.requests import CompleteRequest, EditRequest, GenerateRequest, Options
from redraft.results import Result
from redraft.session import Session
from serving import Served, running

SOURCE = "def f(a):\n    return a\n" * 6


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("session")
    options = {"engine": "fake", "context": 2048, "max_tokens": 24, "record": False}
    return load_settings(options, folder)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server with the fake engine as it is shipped, started as a user would."""
    folder = tmp_path_factory.mktemp("plain")
    flags = ["--engine=fake", "--context=2048", "--max-tokens=24", "--port=0"]
    (folder / "queue.py").write_text("raise ImportError('a file of the project')")
    with running(folder, [sys.executable, "-P", "-m", "redraft", "serve", *flags]) as server:
        yield server


@pytest.fixture
def redraft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Redraft:
    return make_redraft(tmp_path, monkeypatch, capfd)


def alone(settings: Settings, request: Any, **options: Any) -> Result:
    """What a fresh session says."""
    with Session(settings) as session:
        run = session.start(request, Options(**options))
        list(run)
        return run.result


def test_an_edit_is_that_of_the_command_line(plain: Served, settings: Settings) -> None:
    body = {"text": SOURCE, "instruction": "Rename a to b", "file": "src/a.py"}
    value = plain.json("/v1/edits", body)
    result = alone(settings, EditRequest(SOURCE, "Rename a to b", "a.py", "python"))
    assert value["text"] == result.text and value["statistics"]["output_tokens"] == 24
    assert value["exact"] and value["changed"] and value["diff"].startswith("--- a.py\n+++ a.py\n")
    events = plain.events("/v1/edits", body)
    assert {one["event"] for one in events[:-1]} == {"progress", "draft"} or len(events) > 2
    assert events[-1]["event"] == "result" and events[-1]["text"] == value["text"]
    drafted = "".join(one["text"] for one in events if one["event"] == "draft")
    assert drafted == value["text"].removesuffix("\n")


def test_new_code_is_that_of_the_command_line(plain: Served, settings: Settings) -> None:
    value = plain.json("/v1/edits", {"instruction": "A stack", "language": "go"})
    result = alone(settings, GenerateRequest("A stack", "go"))
    assert value["text"] == result.text and value["kind"] == "generate"


@pytest.mark.parametrize("temperature", [None, 1.2])
def test_a_completion_is_that_of_the_command_line(
    plain: Served, settings: Settings, temperature: float | None
) -> None:
    body = {
        "input_prefix": "def f(",
        "input_suffix": "):\n",
        "return_tokens": True,
        "temperature": temperature,
        "seed": 5,
    }
    value = plain.json("/infill", body)
    request = CompleteRequest("def f(", "):\n")
    result = alone(settings, request, temperature=temperature, seed=5)
    assert tuple(value["tokens"]) == result.tokens and value["content"] == result.text


def test_windows_line_ends_stay(plain: Served) -> None:
    value = plain.json("/v1/edits", {"text": "a = 1\r\nb = 2\r\n", "instruction": "x"})
    assert value["text"].count("\n") == value["text"].count("\r\n")


def test_a_run_can_be_read_step_by_step(plain: Served) -> None:
    run = plain.json("/v1/edits", {"text": "a\n", "instruction": "x"})["run_id"]
    record = plain.get(f"/v1/runs/{run}").json()
    assert record["id"] == run and record["header"]["kind"] == "edit" and record["steps"]


def test_what_ollamas_clients_send(server: Served) -> None:
    assert server.get("/api/version").json()["version"]
    assert server.get("/api/tags").json()["models"][0]["name"] == "fake"
    shown = server.json("/api/show", {"model": "fake"})
    assert ".Suffix" in shown["template"] and "insert" in shown["capabilities"]
    body = {"model": "x", "prompt": "def f(", "suffix": "):\n", "options": {"num_predict": 6}}
    lines = server.post("/api/generate", body).text.splitlines()
    values = [json.loads(line) for line in lines]
    whole = server.json("/api/generate", {**body, "stream": False})
    assert "".join(one["response"] for one in values) == whole["response"]
    assert values[-1]["done"] and values[-1]["done_reason"] == "length" and whole["eval_count"] == 6
    infill = {"input_prefix": "def f(", "input_suffix": "):\n", "n_predict": 6}
    assert server.json("/infill", infill)["content"] == whole["response"]
    raw = {"prompt": "abc", "raw": True, "stream": False, "options": {"num_predict": 4}}
    completion = server.json("/completion", {"prompt": "abc", "n_predict": 4})
    assert server.json("/api/generate", raw)["response"] == completion["content"]
    chat = server.json("/api/generate", {"prompt": "hi", "system": "x", "stream": False})
    assert chat["prompt_eval_count"] > 20
    wrong = server.post("/api/generate", {"prompt": 1})
    assert wrong.status_code == 400 and "prompt" in str(wrong.json()["error"])


def test_counters_count(server: Served) -> None:
    def count() -> float:
        lines = server.get("/metrics").text.splitlines()
        return float(next(s for s in lines if s.startswith("llamacpp:tokens_pre")).split()[-1])

    before = count()
    server.json("/completion", {"prompt": "count", "n_predict": 5})
    assert count() == before + 5


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (["--engine=ik", "--model=no/such.gguf"], 3, "no/such.gguf"),
        (["--host=0.0.0.0"], 2, "--key-file"),
        (["--key-file=no-such-file"], 2, "no-such-file"),
        (["--key-file=empty"], 2, "holds no key"),
        (["--port=65536"], 2, "0 … 65535"),
        (["--queue=-1"], 2, "0 … 10000"),
    ],
)
def test_a_server_that_cannot_start_says_why(
    redraft: Redraft, flags: list[str], code: int, message: str
) -> None:
    Path("empty").write_text("\n")
    done = redraft("serve", *(["--port=0"] if flags[0][:6] != "--port" else []), *flags)
    assert done.code == code and message in done.err and done.out == ""


def test_a_port_that_is_taken_is_said_so(plain: Served, redraft: Redraft) -> None:
    done = redraft("serve", f"--port={plain.port}")
    assert done.code == 2 and f"127.0.0.1:{plain.port} cannot be listened on" in done.err
