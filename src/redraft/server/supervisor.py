"""Keeps the engine's process running and talks to it.

When that process dies, everything in flight is answered with a failure, and it is started again,
later and later if it keeps dying. It does not know HTTP, nor what a run is for.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import sys
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, TypeAlias

from redraft.config import Settings
from redraft.models import Message
from redraft.requests import Options, Request
from redraft.server import wire

Listener: TypeAlias = "Callable[[wire.Advanced | wire.Finished | wire.Failed], None]"
Say: TypeAlias = Callable[[str], None]

# -P: a project that has a file of one of Python's modules' names must not be imported
COMMAND = (sys.executable, "-P", "-m", "redraft.server.child")
FIRST_DELAY, LONGEST_DELAY = 0.1, 30.0
"""Seconds before the process is started again; doubled each time it dies young."""
YOUNG = 60.0
"""Seconds; a process that lived longer died of something new."""
STUCK_AFTER = 30.0
"""Seconds after which a cancelled run must have ended; else the process is killed."""
GRACE = 10.0
"""Seconds that the process gets to end by itself when it is closed."""
GONE = "EngineGone"
LOADING = "EngineLoading"


class EngineProcess:
    """One engine in a process of its own. All methods belong to one event loop.

    `say` is told one line when something happens that a person should know.
    """

    def __init__(self, settings: Settings, say: Say, command: Sequence[str] = COMMAND) -> None:
        self._settings = settings
        self.say = say
        self._command = command
        self._numbers = itertools.count(1)
        self._listeners: dict[int, Listener] = {}
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._closing = False
        self.model: wire.Model | None = None
        """The loaded weights; None while there are none."""
        self.known: wire.Model | None = None
        """The weights as they were loaded last, also while the engine starts again."""
        self.refused: wire.Refused | None = None
        """Why the weights could not be opened, the last time that was tried."""
        self.stage = "starting"
        self.starts = 0
        """How often the process was started."""

    @property
    def pid(self) -> int | None:
        """The process id, while there is a process."""
        return self._process.pid if self._process is not None else None

    async def keep_running(self) -> None:
        """Start the process, and again whenever it ends, until `close`. Returns after a first
        start at which the weights could not be opened; `refused` then says why."""
        delay = FIRST_DELAY
        while not self._closing:
            begun = monotonic()
            await self._run_once()
            if self._closing or (self.refused is not None and self.known is None):
                return
            if monotonic() - begun > YOUNG:
                delay = FIRST_DELAY
            self.say(f"the engine's process ended unexpectedly; starting it again in {delay:.1f}s")
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY)

    async def close(self) -> None:
        """End the process: it closes its weights, or is killed after some seconds."""
        self._closing = True
        process = self._process
        if self._writer is not None:
            self._writer.close()
        if process is None:
            return
        try:
            await asyncio.wait_for(process.wait(), GRACE)
        except TimeoutError:
            self.kill()

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):  # it has ended in this moment
                self._process.kill()

    def begin(
        self, request: Request, options: Options, urgent: bool, listener: Listener
    ) -> int | None:
        """Start a run; `listener` gets its messages, the last of which is Finished or Failed.
        Returns its number, or None while there is no engine (the listener was told)."""
        number = next(self._numbers)
        if not self._send(wire.Begin(number, request, options, urgent)):
            listener(self._unavailable(number))
            return None
        self._listeners[number] = listener
        return number

    def cancel(self, number: int) -> None:
        """End a run soon."""
        if number in self._listeners:
            self._send(wire.Cancel(number))
            asyncio.get_running_loop().call_later(STUCK_AFTER, self._kill_if_stuck, number)

    async def tokenize(self, text: str, special: bool, begin: bool) -> tuple[wire.Piece, ...]:
        """The tokens of a text. Raises Unanswered."""
        number = next(self._numbers)
        pieces: tuple[wire.Piece, ...] = await self._ask(
            wire.Tokenize(number, text, special, begin)
        )
        return pieces

    async def detokenize(self, tokens: tuple[int, ...]) -> str:
        """The text of tokens. Raises Unanswered."""
        return str(await self._ask(wire.Detokenize(next(self._numbers), tokens)))

    async def apply_template(self, messages: tuple[Message, ...]) -> str:
        """A conversation in the model's form. Raises Unanswered."""
        return str(await self._ask(wire.ApplyTemplate(next(self._numbers), messages)))

    async def _ask(self, question: wire.Tokenize | wire.Detokenize | wire.ApplyTemplate) -> Any:
        if not self._send(question):
            raise Unanswered(self._unavailable(question.number))
        future = asyncio.get_running_loop().create_future()
        self._answers[question.number] = future
        return await future

    def _send(self, message: wire.ToEngine) -> bool:
        """Whether there was an engine to send it to."""
        if self._writer is None or self.model is None or self._writer.is_closing():
            return False
        self._writer.write(wire.packed(message))
        return True

    def _unavailable(self, number: int) -> wire.Failed:
        if self.refused is not None:
            return wire.Failed(number, GONE, self.refused.message)
        return wire.Failed(
            number, LOADING, f"the model is being loaded ({self.stage}); try again in some seconds"
        )

    def _kill_if_stuck(self, number: int) -> None:
        if number in self._listeners:
            self.say(f"a cancelled run did not end within {STUCK_AFTER:.0f} s; killing the engine")
            self.kill()

    async def _run_once(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            # its own session: a Ctrl-C in the terminal is for us, and we end it in good order
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                str(theirs.fileno()),
                pass_fds=(theirs.fileno(),),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        self.starts += 1
        self.refused, self.stage = None, "starting"
        reader, self._writer = await asyncio.open_connection(sock=ours)
        try:
            self._writer.write(wire.packed(wire.Open(self._settings)))
            while True:
                header = await reader.readexactly(wire.HEADER)
                message = wire.unpacked(await reader.readexactly(wire.length_of(header)))
                self._handle(message)
        except (asyncio.IncompleteReadError, OSError):
            pass  # the process has ended or is about to
        finally:
            self.model = None
            self._writer.close()
            self.kill()
            await self._process.wait()
            self._process = None
            self._fail_all()

    def _handle(self, message: wire.FromEngine) -> None:
        match message:
            case wire.Stage(text=text):
                self.stage = text
            case wire.Ready(model=model):
                self.model = self.known = model
            case wire.Refused():
                self.refused = message
            case wire.Advanced(number=number):
                if number in self._listeners:
                    self._listeners[number](message)
            case wire.Finished(number=number) | wire.Failed(number=number):
                self._end(number, message)
            case wire.Answer(number=number, value=value):
                future = self._answers.pop(number, None)
                if future is not None and not future.done():
                    future.set_result(value)

    def _end(self, number: int, message: wire.Finished | wire.Failed) -> None:
        if number in self._listeners:
            self._listeners.pop(number)(message)
        future = self._answers.pop(number, None)
        if future is not None and not future.done() and isinstance(message, wire.Failed):
            future.set_exception(Unanswered(message))

    def _fail_all(self) -> None:
        reason = "the engine's process ended unexpectedly; it starts again, so try again soon"
        for number in [*self._listeners, *self._answers]:
            self._end(number, wire.Failed(number, GONE, reason))


class Unanswered(Exception):
    """A question could not be answered; `failed` says why."""

    def __init__(self, failed: wire.Failed) -> None:
        super().__init__(failed.message)
        self.failed = failed
