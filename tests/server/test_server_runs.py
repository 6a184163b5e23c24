"""What becomes of runs: crashes, disconnects, newer requests, full queues, the end."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from serving import PATIENCE, Served, receive_all, served, wait_for

LONG = {"n_predict": 1000}


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with two slots, for runs that take long."""
    with served(tmp_path_factory.mktemp("busy"), live_sequences=2, queue=8) as running:
        yield running


@pytest.fixture(autouse=True)
def _idle(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test leaves the shared server idle."""
    yield
    if "busy" in request.fixturenames:
        server: Served = request.getfixturevalue("busy")
        wait_for(lambda: metric(server, "llamacpp:requests_processing") == 0)
        wait_for(lambda: server.busy() == 0)


def metric(server: Served, name: str) -> float:
    lines = [line for line in server.get("/metrics").text.splitlines() if line.startswith(name)]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


def calls(server: Served) -> float:
    """Requests under way and waiting."""
    names = ("llamacpp:requests_processing", "llamacpp:requests_deferred")
    return sum(metric(server, name) for name in names)


def slow(prompt: str = "", **options: Any) -> dict[str, Any]:
    return {"prompt": f"SLOW {prompt}", **LONG, **options}


def infill(prefix: str, prompt: str = "", **options: Any) -> dict[str, Any]:
    return {"input_prefix": prefix, "input_suffix": "", "prompt": prompt, **LONG, **options}


def in_background(server: Served, path: str, body: dict[str, Any]) -> socket.socket:
    """Sends; `reply` reads what comes."""
    return server.send(path, body, "Connection: close\r\n")


def until(connection: socket.socket, wanted: bytes) -> None:
    """Read until this has come."""
    text = b""
    while wanted not in text:
        part = connection.recv(65536)
        assert part, text
        text += part


def reply(connection: socket.socket) -> tuple[int, bytes]:
    head, _, body = receive_all(connection).partition(b"\r\n\r\n")
    return int(head.split()[1]), body


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("phase", ["decode", "prefill", "queued"])
def test_a_client_that_goes_away_ends_its_run_only(busy: Served, phase: str, stream: bool) -> None:
    others = [busy.send("/completion", slow(stream=True))]
    if phase == "queued":
        others.append(busy.send("/infill", infill("SLOW a\n", stream=True)))
    wait_for(lambda: busy.busy() == len(others))
    before = metric(busy, "redraft:requests_cancelled_total")
    long_prompt = "x" * 6000 if phase == "prefill" else "y"
    body = infill(f"SLOW {long_prompt}\n", stream=stream)
    connection = busy.send("/infill", body)
    wait_for(lambda: calls(busy) == len(others) + 1)
    if phase != "queued":
        wait_for(lambda: busy.busy() == 2)
    connection.close()
    wait_for(lambda: metric(busy, "redraft:requests_cancelled_total") == before + 1)
    wait_for(lambda: calls(busy) == len(others))
    for other in others:
        until(other, b"data: ")
        other.close()


def test_a_cancelled_run_ends_within_a_forward(busy: Served) -> None:
    connection = busy.send("/completion", slow("z" * 3000))
    wait_for(lambda: busy.busy() == 1)
    connection.close()
    begun = time.monotonic()
    wait_for(lambda: busy.busy() == 0)
    # a prefill piece of 128 tokens takes 0.28 s here; its abort does not wait for that
    assert time.monotonic() - begun < PATIENCE / 10


def test_a_completion_goes_before_a_long_edit(busy: Served) -> None:
    with ThreadPoolExecutor(1) as pool:
        edit = {"instruction": "SLOW", "text": "x = 1\n" * 40, "max_tokens": 150}
        waiting = pool.submit(busy.json, "/v1/edits", edit)
        wait_for(lambda: busy.busy() == 1)
        done = busy.json("/infill", infill("a = ", n_predict=16))
        assert done["tokens_predicted"] == 16 and not waiting.done()
        assert waiting.result()["statistics"]["output_tokens"] > 0


def test_interleaved_runs_say_what_they_say_alone(busy: Served) -> None:
    bodies = [infill(f"SLOW {n}", n_predict=12) for n in range(3)]
    bodies += [{"prompt": f"SLOW {n}", "n_predict": 12} for n in range(3)]
    paths = ["/infill"] * 3 + ["/completion"] * 3
    alone = [busy.json(path, body)["content"] for path, body in zip(paths, bodies, strict=True)]
    with ThreadPoolExecutor(6) as pool:
        together = list(
            pool.map(lambda path, body: busy.json(path, body)["content"], paths, bodies)
        )
    assert together == alone


def test_the_newest_request_for_a_document_wins(busy: Served) -> None:
    prefix = "import os\nimport SLOW\n"
    first = in_background(busy, "/infill", infill(prefix, "a", id_slot=0))
    wait_for(lambda: busy.busy() == 1)
    other = in_background(busy, "/infill", infill("# SLOW other\n", "a", id_slot=0, n_predict=30))
    wait_for(lambda: calls(busy) == 2)
    newest = busy.json("/infill", infill(prefix, "ab", id_slot=0, n_predict=5))
    status, body = reply(first)
    assert status == 200 and newest["tokens_predicted"] == 5
    old = json.loads(body)
    assert old["content"] == "" and old["stop_type"] == "limit" and "n_ctx" in str(old)
    status, body = reply(other)
    assert status == 200 and json.loads(body)["tokens_predicted"] == 30


def test_a_request_that_waits_is_replaced_too(busy: Served) -> None:
    held = [busy.send("/completion", slow("1")), busy.send("/infill", infill("SLOW b\n"))]
    wait_for(lambda: busy.busy() == 2)
    first = in_background(busy, "/infill", infill("SLOW c\n", "a", id_slot=0))
    wait_for(lambda: calls(busy) == 3)
    second = in_background(busy, "/infill", infill("SLOW c\n", "ab", id_slot=0, n_predict=2))
    status, body = reply(first)
    assert status == 200 and json.loads(body)["content"] == ""
    for connection in held:
        connection.close()
    status, body = reply(second)
    assert status == 200 and json.loads(body)["tokens_predicted"] == 2


def test_a_header_names_the_document(busy: Served) -> None:
    body = {"prompt": "SLOW x", "suffix": "y", "max_tokens": 1000}
    named = "X-Redraft-Document: a.py\r\nConnection: close\r\n"
    first = busy.send("/v1/completions", body, named)
    wait_for(lambda: busy.busy() == 1)
    second = busy.post("/v1/completions", {**body, "max_tokens": 3}, x_redraft_document="a.py")
    assert second.status_code == 200
    status, answer = reply(first)
    assert status == 200 and json.loads(answer)["choices"][0]["text"] == ""


def test_equal_requests_are_joined(busy: Served) -> None:
    body = {"prompt": "SLOW def", "suffix": "end", "max_tokens": 30}
    before = metric(busy, "llamacpp:tokens_predicted_total")
    with ThreadPoolExecutor(3) as pool:
        texts = list(pool.map(lambda _: busy.json("/v1/completions", body), range(3)))
    assert len({one["choices"][0]["text"] for one in texts}) == 1
    assert metric(busy, "llamacpp:tokens_predicted_total") - before < 90


def test_without_a_sure_document_requests_wait_their_turn(busy: Served) -> None:
    bodies = [infill("SLOW", str(n), n_predict=8) for n in range(5)]
    with ThreadPoolExecutor(5) as pool:
        done = list(pool.map(lambda body: busy.json("/infill", body), bodies))
    assert all(one["tokens_predicted"] == 8 for one in done)


def test_a_full_queue_is_said_so(tmp_path: Path) -> None:
    with served(tmp_path, live_sequences=1, queue=1) as server:
        held = [server.send("/completion", slow(str(n))) for n in range(2)]
        wait_for(lambda: metric(server, "llamacpp:requests_deferred") == 1)
        refused = server.post("/completion", slow("more"))
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) > 0
        assert "--queue" in refused.json()["error"]["message"]
        assert server.get("/health").status_code == 200
        for connection in held:
            connection.close()
        wait_for(lambda: metric(server, "llamacpp:requests_processing") == 0)
        assert server.json("/completion", {"prompt": "x", "n_predict": 2})["stop"]
        engine = server.engine_pid()
        server.process.kill()  # and the engine ends with it
        wait_for(lambda: not Path(f"/proc/{engine}").exists())


def test_time_limits(busy: Served, tmp_path: Path) -> None:
    body = infill("SLOW" + "x" * 1200, n_predict=2, t_max_prompt_ms=300)
    late = busy.json("/infill", body)
    assert late["content"] == "" and late["stop_type"] == "limit"
    assert 0 < late["timings"]["prompt_n"] == late["tokens_cached"] < 1200
    # the prompt is evaluated on; the next request for the place takes what is there
    wait_for(lambda: busy.json("/infill", body)["tokens_predicted"] == 2)
    assert busy.json("/infill", body)["timings"]["cache_n"] > 1100
    with served(tmp_path, request_seconds=1) as server:
        cut = server.json("/completion", slow())
        assert cut["stop_type"] == "limit" and 0 < cut["tokens_predicted"] < 1000


def test_killing_the_engine_ends_streams_with_an_error_and_it_comes_back(tmp_path: Path) -> None:
    with served(tmp_path, live_sequences=8) as server:
        streams = [server.send("/completion", slow(str(n), stream=True)) for n in range(7)]
        streams.append(server.send("/infill", infill("SLOW", stream=True)))
        waiting = server.send("/completion", slow("whole"), "Connection: close\r\n")
        wait_for(lambda: server.busy() >= 7)
        os.kill(server.engine_pid(), signal.SIGKILL)
        status, body = reply(waiting)
        assert status == 503 and b"ended unexpectedly" in body
        for stream in streams:
            until(stream, b'"type":"unavailable_error"')
            stream.close()
        server.ready()
        assert server.json("/completion", {"prompt": "x", "n_predict": 2})["stop"]
        assert metric(server, "redraft:engine_starts") == 2


def test_a_prompt_that_kills_the_engine_hurts_nobody_later(busy: Served) -> None:
    for _ in range(2):
        died = busy.post("/completion", {"prompt": "CRASH", "n_predict": 2})
        assert died.status_code == 503, died.text
        busy.ready()
    assert busy.json("/completion", {"prompt": "x", "n_predict": 2})["stop"]


def test_a_stuck_engine_is_killed(tmp_path: Path) -> None:
    with served(tmp_path, stuck_after=0.5) as server:
        connection = server.send("/completion", {"prompt": "STUCK"})
        wait_for(lambda: metric(server, "llamacpp:requests_processing") == 1)
        connection.close()
        wait_for(lambda: metric(server, "redraft:engine_starts") == 2)
        assert "killing the engine" in server.log
        server.ready()
        assert server.json("/completion", {"prompt": "x", "n_predict": 2})["stop"]


def test_sigterm_lets_requests_finish(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        body = {"prompt": "SLOW", "n_predict": 30}
        connection = server.send("/completion", body, "Connection: close\r\n")
        wait_for(lambda: server.busy() == 1)
        server.process.send_signal(signal.SIGTERM)
        wait_for(lambda: server.get("/health").status_code == 503)
        assert server.post("/completion", {"prompt": "x"}).status_code == 503
        status, answer = reply(connection)
        assert status == 200 and json.loads(answer)["tokens_predicted"] == 30
        assert server.process.wait(PATIENCE) == 0


def test_many_editors_at_once_all_get_answers(busy: Served) -> None:
    counted: list[int] = []

    def type_letters(editor: int) -> None:
        for length in range(6):
            body = infill(f"# editor {editor}\n", "x" * length, id_slot=editor, n_predict=3)
            counted.append(busy.post("/infill", body).status_code)

    editors = [threading.Thread(target=type_letters, args=(n,)) for n in range(5)]
    for editor in editors:
        editor.start()
    for editor in editors:
        editor.join()
    assert counted == [200] * 30
