"""The engine's process: a session, and the runs that the HTTP process asks for, step by step.

A thread reads the pipe, so that a Cancel stops even the forward that is being computed; everything
else happens in the main thread, between two steps. When the pipe closes, the process ends. It
knows no HTTP.
"""

from __future__ import annotations

import os
import queue
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from redraft.decode import FILLER
from redraft.errors import ContextFull, RedraftError
from redraft.loading import Loaded
from redraft.models import render_chat
from redraft.results import Progress
from redraft.server import wire
from redraft.server.prediction import tokens_that_came
from redraft.server.turns import Turns
from redraft.session import Run, Session
from redraft.tokens import Prefill

SHORT = 64
"""Steps after which a completion is no longer urgent, so that the next one need not wait for it."""
_LEAVE_AFTER = 5.0
"""Seconds that a run gets to end after the pipe was closed."""


@dataclass(slots=True, eq=False)
class Work:
    """A run that waits or is under way."""

    number: int
    at_cursor: bool
    run: Run
    events: Iterator[Progress]
    steps: int = 0

    @property
    def urgent(self) -> bool:
        """Whether somebody waits at a cursor, and not for a whole file."""
        return self.at_cursor and self.steps < SHORT


class Pipe:
    """The engine's end of the pipe. One thread sends, one receives."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._file = connection.makefile("rb")

    def send(self, message: wire.FromEngine) -> None:
        """Send; raises OSError when the other side is gone."""
        self._connection.sendall(wire.packed(message))

    def receive(self) -> wire.ToEngine:
        """The next message. Raises EOFError or OSError when the other side is gone."""
        message: wire.ToEngine = wire.read_message(self._file.read)
        return message


class EngineLoop:
    """Answers messages and advances runs until the pipe closes."""

    def __init__(self, session: Session, slots: int, pipe: Pipe) -> None:
        self._session = session
        self._pipe = pipe
        self._inbox: queue.SimpleQueue[wire.ToEngine | None] = queue.SimpleQueue()
        self._turns: Turns[Work] = Turns(slots)
        self._works: dict[int, Work] = {}

    def run(self) -> None:
        """Until the other side closes the pipe."""
        threading.Thread(target=self._receive, name="pipe", daemon=True).start()
        while self._handle_inbox():
            work = self._turns.next()
            if work is not None:
                self._advance(work)

    def _receive(self) -> None:
        """In a thread: pass messages on, and cancel at once what is being computed."""
        try:
            while True:
                message = self._pipe.receive()
                if isinstance(message, wire.Cancel):
                    self._cancel(message.number)
                self._inbox.put(message)
        except (EOFError, OSError):
            for number in list(self._works):
                self._cancel(number)
            self._inbox.put(None)
            leave = threading.Timer(_LEAVE_AFTER, os._exit, (0,))
            leave.daemon = True
            leave.start()

    def _cancel(self, number: int) -> None:
        work = self._works.get(number)
        if work is not None:
            work.run.cancel()

    def _handle_inbox(self) -> bool:
        """Handle what came in; wait for something when there is nothing else to do. False at the
        end."""
        while not self._works or not self._inbox.empty():
            message = self._inbox.get()
            if message is None:
                return False
            self._handle(message)
        return True

    def _handle(self, message: wire.ToEngine) -> None:
        match message:
            case wire.Begin(number=number):
                self._attempt(number, lambda: self._begin(message))
            case wire.Cancel(number=number):
                if number in self._works:
                    self._end(self._works[number])
            case wire.Tokenize(number=number):
                self._attempt(number, lambda: self._answer(number, self._tokens(message)))
            case wire.Detokenize(number=number, tokens=tokens):
                decode = self._session.loaded.tokenizer.decode
                self._attempt(number, lambda: self._answer(number, decode(tokens)))
            case wire.ApplyTemplate(number=number):
                self._attempt(number, lambda: self._answer(number, self._rendered(message)))
            case wire.Open():
                raise AssertionError("the weights are open already")

    def _attempt(self, number: int, action: Callable[[], None]) -> None:
        """Do it; what it raises is the answer to message `number`."""
        try:
            action()
        except ContextFull as error:
            numbers = (error.prompt_tokens, error.context_length)
            self._pipe.send(wire.Failed(number, "ContextFull", str(error), *numbers))
        except RedraftError as error:
            self._pipe.send(wire.Failed(number, type(error).__name__, str(error)))
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001  # one request's failure is not the others'
            traceback.print_exception(error, file=sys.stderr)
            reason = f"internal error: {type(error).__name__}: {error}"
            self._pipe.send(wire.Failed(number, "InternalError", reason))

    def _begin(self, message: wire.Begin) -> None:
        run = self._session.start(message.request, message.options)
        work = Work(message.number, message.urgent, run, iter(run))
        self._works[message.number] = work
        self._turns.wait(work)

    def _end(self, work: Work) -> None:
        """End a cancelled run now, so that its slot, or its place, is free for the next."""
        work.run.cancel()
        if work.run.slot is None:
            self._forget(work)
            reason = "the run was cancelled before it began"
            self._pipe.send(wire.Failed(work.number, "Cancelled", reason))
        while work.number in self._works:
            self._advance(work)

    def _forget(self, work: Work) -> None:
        del self._works[work.number]
        self._turns.remove(work)

    def _advance(self, work: Work) -> None:
        done = True

        def advance() -> None:
            nonlocal done
            progress = next(work.events, None)
            done = progress is None
            slot = work.run.slot or 0
            if progress is None:
                self._pipe.send(_finished(work, slot))
            else:
                self._pipe.send(_advanced(self._session.loaded, work, progress))

        try:
            self._attempt(work.number, advance)
        finally:
            if done:
                self._forget(work)

    def _answer(self, number: int, value: object) -> None:
        self._pipe.send(wire.Answer(number, value))

    def _tokens(self, asked: wire.Tokenize) -> tuple[wire.Piece, ...]:
        loaded = self._session.loaded
        tokens = loaded.tokenizer.encode(asked.text, special=asked.special)
        if asked.begin and loaded.metadata.add_bos and loaded.metadata.bos is not None:
            tokens.insert(0, loaded.metadata.bos)
        return tuple(wire.Piece(token, loaded.tokenizer.piece(token)) for token in tokens)

    def _rendered(self, asked: wire.ApplyTemplate) -> str:
        segments = render_chat(self._session.loaded.metadata, asked.messages)
        return "".join(segment.text for segment in segments)


def _finished(work: Work, slot: int) -> wire.Finished:
    prediction, result = work.run.plan.context.source, work.run.result
    came = tokens_that_came(prediction, result.tokens)
    return wire.Finished(work.number, slot, result, len(prediction), came)


def _advanced(loaded: Loaded, work: Work, progress: Progress) -> wire.Advanced:
    event, slot, total = progress.event, work.run.slot or 0, len(work.run.plan.context.prompt)
    if isinstance(event, Prefill):
        return wire.Advanced(work.number, slot, "", (), 0, 0, event.done, total)

    work.steps += 1

    def piece(token: int, logprob: float) -> wire.Piece:
        return wire.Piece(token, loaded.tokenizer.piece(token), logprob)

    chosen = tuple(
        wire.Chosen(
            piece(choice.token, choice.logprob), tuple(piece(*other) for other in choice.top)
        )
        for choice in event.verdict.choices
    )
    names = event.verdict.draft.drafters
    drafted = names.index(FILLER) if FILLER in names else len(names)
    accepted = min(event.verdict.accepted, drafted)
    return wire.Advanced(work.number, slot, progress.text, chosen, drafted, accepted, total, total)


def describe(session: Session, slots: int) -> wire.Model:
    """What clients may know of the session's weights."""
    loaded, metadata = session.loaded, session.loaded.metadata
    fim = metadata.fim
    markers = {"prefix": fim.prefix, "suffix": fim.suffix, "middle": fim.middle}
    name = session.settings.model
    if loaded.path is None:
        name = metadata.name
    elif name == str(loaded.path) or os.sep in name:
        name = loaded.path.stem
    return wire.Model(
        name=name,
        path=str(loaded.path or ""),
        engine=loaded.engine_name,
        architecture=metadata.architecture,
        quantization=metadata.quantization,
        size=metadata.size,
        context_length=loaded.context_length,
        trained_length=metadata.context_length,
        vocabulary_size=loaded.tokenizer.vocab_size,
        chat_template=metadata.chat_template or "",
        bos_text=metadata.bos_text,
        eos_text=metadata.eos_text,
        missing_markers=tuple(part for part, token in markers.items() if token is None),
        slots=slots,
    )


def main() -> None:
    """Serve the pipe whose descriptor is the first argument, until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the HTTP process decides when to end
    pipe = Pipe(socket.socket(fileno=int(sys.argv[1])))
    opening = pipe.receive()
    assert isinstance(opening, wire.Open), opening
    settings = opening.settings
    slots = settings.live_sequences

    def notify(text: str, share: float | None) -> None:
        pipe.send(wire.Stage(text, share))

    try:
        session = Session(settings, notify, slots)
    except RedraftError as error:
        pipe.send(wire.Refused(str(error), error.exit_code))
        return
    with session:
        pipe.send(wire.Ready(describe(session, slots)))
        EngineLoop(session, slots, pipe).run()


if __name__ == "__main__":
    try:
        main()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        sys.exit(0)  # the HTTP process is gone, and with it everybody who would want an answer
