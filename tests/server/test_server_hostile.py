"""Hostile requests over bare sockets: each gets its answer, and the server lives on."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from hostile import TABLES, Row, head, page, post
from redraft.server.guard import is_local_host, is_local_origin
from serving import PATIENCE, Served, receive_all, served, wait_for

ROWS = [row for rows in TABLES.values() for row in rows]
PAGE = Path(__file__).parents[2] / "docs" / "server-requests.md"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_a_hostile_request_gets_its_answer(row: Row, server: Served) -> None:
    reply = server.raw(row.sent)
    first, _, body = reply.partition(b"\r\n")[0], b"", reply.partition(b"\r\n\r\n")[2]
    assert int(first.split()[1]) == row.status, reply[:400]
    assert row.message in body.decode(), body
    if body.startswith(b"{"):
        error = json.loads(body)["error"]
        assert error["code"] == row.status and error["type"] and "\n" not in error["message"]
    assert server.json("/completion", {"prompt": "x", "n_predict": 1})["stop"]
    assert "Traceback" not in server.log


def test_there_are_enough_of_them() -> None:
    assert len({row.what for row in ROWS}) == len(ROWS) >= 25


def test_the_page_shows_the_table() -> None:
    if os.environ.get("WRITE_DOCS"):
        PAGE.write_text(page())
    assert PAGE.read_text() == page(), "run 'make docs'"


def test_a_huge_number_of_tokens_is_what_the_context_holds(server: Served) -> None:
    body = {"prompt": "x" * 2000, "n_predict": 2**62}
    assert server.json("/completion", body)["tokens_predicted"] < 50


def test_a_client_that_sends_letter_by_letter_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(tmp_path, header_seconds=0.5) as server:
        slow = server.connect()
        begun = time.monotonic()
        try:
            while time.monotonic() - begun < PATIENCE:
                slow.sendall(b"X")
                slow.settimeout(0.05)
                try:
                    if slow.recv(1) == b"":
                        break
                except TimeoutError:
                    continue
        except ConnectionError:
            pass
        assert time.monotonic() - begun < PATIENCE
        kept = server.connect()  # the same after a request that was whole
        kept.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while b'"ok"' not in answer:
            answer += kept.recv(65536)
        kept.sendall(b"GET /hea")
        assert receive_all(kept) == b""
        body = server.connect()
        body.sendall(b"POST /completion HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
        assert b" 408 " in receive_all(body)
        assert server.json("/completion", {"prompt": "x", "n_predict": 1})["stop"]


def test_a_body_in_chunks_is_counted(server: Served) -> None:
    with server.connect() as connection:
        connection.sendall(head("POST /completion HTTP/1.1", "Transfer-Encoding: chunked"))
        chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        try:
            for _ in range(20):
                connection.sendall(chunk)
        except ConnectionError:
            pass  # it answered and closed before all was sent
        reply = receive_all(connection)
    assert b" 413 " in reply or not reply


def test_many_connections_that_say_nothing_do_not_keep_others_out(server: Served) -> None:
    idle = [server.connect() for _ in range(100)]
    assert server.json("/completion", {"prompt": "x", "n_predict": 1})["stop"]
    for connection in idle:
        connection.close()


def test_pipelined_requests_are_answered_in_order(server: Served) -> None:
    one = post("/completion", {"prompt": "x", "n_predict": 1}).replace(
        b"Connection: close\r\n", b""
    )
    reply = server.raw(one + one + head("GET /health HTTP/1.1"))
    assert reply.count(b"HTTP/1.1 200") == 3 and reply.endswith(b'{"status":"ok"}')


def test_local_pages_are_let_in(server: Served) -> None:
    asked = "Access-Control-Request-Headers: x-custom"
    reply = server.raw(
        head("OPTIONS /v1/completions HTTP/1.1", "Origin: http://localhost:3000", asked)
    )
    assert b"200 OK" in reply and b"access-control-allow-origin: http://localhost:3000" in reply
    assert b"access-control-allow-headers: x-custom" in reply
    reply = server.raw(head("GET /health HTTP/1.1", "Origin: vscode-webview://abc"))
    assert b"access-control-allow-origin: vscode-webview://abc" in reply


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True),
        ("LOCALHOST.:80", True),
        ("127.0.0.1:8012", True),
        ("127.1.2.3", True),
        ("[::1]:8012", True),
        ("::1", True),
        ("10.0.0.5:8012", True),
        ("10.0.0.6", False),
        ("", False),
        ("localhost.evil", False),
        ("127.0.0.1.evil", False),
        ("[::2]", False),
        ("0x7f000001", False),
    ],
)
def test_hosts(host: str, local: bool) -> None:
    assert is_local_host(host, "10.0.0.5") is local
    assert not is_local_origin(f"ftp://{host}")


def test_a_key_is_asked_for_everywhere_but_at_the_door(tmp_path: Path) -> None:
    with served(tmp_path, key="s3cret") as server:
        wait_for(lambda: server.get("/health").status_code == 200)
        for headers in ({}, {"authorization": "Bearer no"}, {"authorization": "Basic s3cret"}):
            refused = server.client.get("/props", headers=headers)
            assert refused.status_code == 401 and "Bearer" in refused.json()["error"]["message"]
        for headers in ({"authorization": "Bearer s3cret"}, {"x-api-key": "s3cret"}):
            assert server.client.get("/props", headers=headers).status_code == 200
        assert server.get("/v1/models", host="a.name").status_code == 401
