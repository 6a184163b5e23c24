"""`redraft serve`: binds the port, runs the HTTP server and the engine, and ends them in order.

It knows uvicorn, and neither dialects nor engines.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import signal
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from redraft import files
from redraft.config import Settings
from redraft.errors import EngineError, InputError, UsageError
from redraft.server.app import make_app
from redraft.server.guard import LARGEST_HEAD
from redraft.server.service import Service
from redraft.server.supervisor import COMMAND, EngineProcess, Say

KEY_VARIABLE = "REDRAFT_SERVER_KEY"
HEADER_SECONDS = 15.0
"""Seconds that a request's head may take to arrive."""
MOST_CONNECTIONS = 256
DRAIN_SECONDS = 30.0
"""Seconds that requests under way get when the server is told to end."""


def read_key(path: Path | None) -> str | None:
    """The key that clients must send: a file's text, else the variable REDRAFT_SERVER_KEY. None
    where there is neither. Raises InputError and UsageError."""
    if path is None:
        return os.environ.get(KEY_VARIABLE) or None
    key = files.read(path, LARGEST_HEAD).text.strip()
    if not key or not key.isascii() or not key.isprintable():
        raise UsageError(f"{path} holds no key; write one line of printable ASCII into it")
    return key


def serve(
    settings: Settings, key: str | None, say: Say, engine_command: Sequence[str] = COMMAND
) -> None:
    """Serve until SIGTERM or Ctrl-C. `engine_command` starts the engine's process.

    Raises InputError where the port cannot be had, UsageError for an open address without a key,
    and EngineError where the weights cannot be opened.
    """
    if key is None and not _is_loopback(settings.host):
        raise UsageError(
            f"--host {settings.host} lets other machines in; give a key by --key-file or"
            f" {KEY_VARIABLE}, or leave --host out"
        )
    with _listening(settings.host, settings.port) as listener:
        engine = EngineProcess(settings, say, engine_command)
        asyncio.run(_serve(engine, settings, key, listener))


async def _serve(
    engine: EngineProcess, settings: Settings, key: str | None, listener: socket.socket
) -> None:
    say = engine.say
    service = Service(settings, engine)
    server = Server(
        uvicorn.Config(
            make_app(service, key),
            http=PatientProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            h11_max_incomplete_event_size=LARGEST_HEAD,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=5,
        )
    )
    host, port = listener.getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    say(f"listening on http://{name}:{port}; loading {settings.model}")
    running = asyncio.create_task(engine.keep_running())
    serving = asyncio.create_task(server.serve([listener]))
    ready = asyncio.create_task(_say_when_ready(engine, say))
    ending = asyncio.create_task(_end_on_signal(service, server, say))
    try:
        await asyncio.wait((running, serving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        server.should_exit = True
        for task in (ready, ending):
            task.cancel()
        await engine.close()
        await asyncio.gather(running, serving)
    if engine.refused is not None and engine.known is None:
        kind = EngineError if engine.refused.exit_code == EngineError.exit_code else UsageError
        raise kind(engine.refused.message)


async def _say_when_ready(engine: EngineProcess, say: Say) -> None:
    while engine.model is None:
        await asyncio.sleep(0.05)
    say(f"ready: {engine.model.name}, {engine.model.context_length} tokens of context")


async def _end_on_signal(service: Service, server: Server, say: Say) -> None:
    """At the first signal let requests under way come to their end, at the second end at once."""
    signals: asyncio.Queue[int] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signals.put_nowait, number)
    await signals.get()
    say("ending; requests under way are finished first (once more to end at once)")
    waits = (asyncio.create_task(service.drained()), asyncio.create_task(signals.get()))
    _, late = await asyncio.wait(waits, timeout=DRAIN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    for task in late:
        task.cancel()
    server.should_exit = True


class Server(uvicorn.Server):
    """uvicorn's server, which leaves signals to us."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing is captured."""
        yield


class PatientProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, which waits only so long for the head of a request."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected: its first request is to come."""
        super().connection_made(transport)
        self._patience = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Bytes have come, of a head or of what follows one."""
        super().data_received(data)
        waiting = self.cycle is None or self.cycle.response_complete
        if not waiting and self._patience is not None:
            self._patience.cancel()
            self._patience = None
        elif waiting and self._patience is None:
            self._patience = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        if self._patience is not None:
            self._patience.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        self.transport.close()


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise InputError(
            f"{host}:{port} cannot be listened on: {error.strerror}; choose another by --port or"
            " --host"
        ) from None
    with listener:
        yield listener


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
