"""Runs a session's work in a thread of its own, so that Ctrl-C works while the model computes.

A forward of the native library takes up to seconds, in which Python handles no signal in the
thread that waits for it. So the work is done beside the main thread, which shows its events and on
Ctrl-C tells the run to stop. It does not know what the events are shown as.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from redraft.errors import Cancelled, RedraftError
from redraft.terminal.interruption import INTERRUPTED, message

if TYPE_CHECKING:
    from redraft.session import Progress, Result, Run

_Value = TypeVar("_Value")
PATIENCE = 60.0
"""Seconds that an interrupted piece of native work gets to come back."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Something that takes a while has begun or gone on."""

    text: str
    share: float | None = None
    """0 … 1 where it is known."""
    detail: str = ""
    """Amounts that change all the time, such as megabytes."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A run begins; `Progress` events of it follow."""

    title: str


Event: TypeAlias = "Stage | Begun | Progress"


class Job(Generic[_Value]):
    """`work(job)` in a thread. Inside, `notify` and `follow` report what happens."""

    def __init__(self, work: Callable[[Job[_Value]], _Value]) -> None:
        self._work = work
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._run: Run | None = None
        self._value: _Value | None = None
        self._error: BaseException | None = None

    def notify(self, text: str, share: float | None = None) -> None:
        """Report a stage; what a `Session` is given as `notify`. Raises Cancelled after Ctrl-C,
        which also ends the loading of weights."""
        self.check()
        self._events.put(Stage(text, share))

    def follow(self, title: str, run: Run) -> Result:
        """Iterate a run to its end, reporting its events. Raises Cancelled after Ctrl-C."""
        with self._lock:
            self._run = run
            if self._stopped.is_set():
                raise Cancelled("interrupted")
        self._events.put(Begun(title))
        for progress in run:
            self._events.put(progress)
        self._run = None
        if run.result.finish_reason == "cancelled":
            raise Cancelled("interrupted")
        return run.result

    def check(self) -> None:
        """Between pieces of work: raise Cancelled when Ctrl-C was pressed."""
        if self._stopped.is_set():
            raise Cancelled("interrupted")

    def do(self, show: Callable[[Event], None]) -> _Value:
        """Run the work and show its events, in this thread. Returns what the work returns.

        Raises what the work raises, and Cancelled when the user stopped it.
        """
        thread = threading.Thread(target=self._in_thread, name="redraft-work", daemon=True)
        try:
            thread.start()  # waits for the thread, so Ctrl-C may come here too
            while (event := self._events.get()) is not None:
                show(event)
            thread.join()
        except KeyboardInterrupt:
            self._stop()
            raise Cancelled(message()) from None
        except BaseException:
            self._stop()
            raise
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # set where there was no error

    def _in_thread(self) -> None:
        try:
            self._value = self._work(self)
        except BaseException as error:  # noqa: BLE001  # raised again in the main thread
            self._error = error
        finally:
            self._events.put(None)
            self._ended.set()

    def _stop(self) -> None:
        """Tell the work to end and wait for it; a second Ctrl-C does not wait."""
        try:
            with self._lock:
                self._stopped.set()
                if self._run is not None:
                    self._run.cancel()
            if not self._ended.wait(PATIENCE):
                _leave_now()
        except KeyboardInterrupt:
            _leave_now()


def _leave_now() -> None:
    """End the process while native code still runs in a thread: a normal exit would take that
    code's memory away under it and crash."""
    with contextlib.suppress(OSError, RedraftError):  # there is nobody left to tell
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(INTERRUPTED)
