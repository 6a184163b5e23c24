"""Starts a real server in a process of its own, and talks to it over sockets."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

PATIENCE = 60.0
"""Seconds that a step of a test may take on a busy machine."""
HERE = Path(__file__).parent


class Served:
    """A server that runs."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self._log = log
        found = wait_for(lambda: re.search(r"listening on http://(\S+):(\d+)", self.log))
        self.host, self.port = found[1], int(found[2])
        self.url = f"http://{self.host}:{self.port}"
        self.client = httpx.Client(base_url=self.url, timeout=PATIENCE)

    @property
    def log(self) -> str:
        """What it said."""
        return self._log.read_text()

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.client.get(path, headers=headers)

    def post(self, path: str, body: object, **headers: str) -> httpx.Response:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post(path, content=data, headers=named)

    def json(self, path: str, body: object) -> Any:
        reply = self.post(path, body)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def events(self, path: str, body: dict[str, Any]) -> list[Any]:
        """The data of a stream's events."""
        reply = self.post(path, {**body, "stream": True})
        assert reply.status_code == 200, reply.text
        assert not [line for line in reply.text.splitlines() if line.startswith(":")]
        data = [line[6:] for line in reply.text.splitlines() if line.startswith("data: ")]
        return [one if one == "[DONE]" else json.loads(one) for one in data]

    def ready(self, patience: float = PATIENCE) -> None:
        """Wait until it can answer."""
        wait_for(lambda: self.get("/health").status_code == 200, patience)

    def busy(self) -> int:
        """Slots in which a run is under way."""
        return sum(slot["is_processing"] for slot in self.get("/slots").json())

    def engine_pid(self) -> int:
        """The process that hosts the engine."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return int(children.read_text().split()[0])

    def connect(self) -> socket.socket:
        """A bare connection."""
        return socket.create_connection((self.host, self.port), timeout=PATIENCE)

    def raw(self, data: bytes) -> bytes:
        """What comes back for these bytes until the server closes, or PATIENCE is over."""
        with self.connect() as connection:
            connection.sendall(data)
            return receive_all(connection)

    def send(self, path: str, body: dict[str, Any], headers: str = "") -> socket.socket:
        """A connection on which this request was sent; what comes is not read."""
        data = json.dumps(body).encode()
        length = f"Content-Length: {len(data)}\r\n{headers}"
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{length}\r\n"
        connection = self.connect()
        connection.sendall(head.encode() + data)
        return connection


def receive_all(connection: socket.socket) -> bytes:
    """Everything up to the end of the connection."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


def wait_for(condition: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """Until it is true; returns what it gave."""
    end = time.monotonic() + patience
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


@contextmanager
def served(folder: Path, key: str = "", **settings: object) -> Iterator[Served]:
    """A server with the slow engine, which is as quick as the fake one unless it is told."""
    arguments = [json.dumps(settings), *([key] if key else [])]
    command = [sys.executable, str(HERE / "slow_engine.py"), *arguments]
    with running(folder, command) as server:
        yield server


@contextmanager
def running(folder: Path, command: list[str], patience: float = PATIENCE) -> Iterator[Served]:
    """A server that this command starts, with a home in `folder`; ended by SIGTERM."""
    folder.mkdir(exist_ok=True)
    log = folder / "log"
    environment = {**os.environ, "REDRAFT_HOME": str(folder / "home")}
    environment.pop("REDRAFT_SERVER_KEY", None)
    with log.open("wb") as stderr:
        process = subprocess.Popen(command, stderr=stderr, cwd=folder, env=environment)
    try:
        server = Served(process, log)
        server.ready(patience)
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()
            process.wait()
