"""What is said of an interruption, alike in every phase, and the moment that has none.

It does not know who interrupts, nor what is written.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130
"""The exit code."""
_LIKE_CTRL_C = (signal.SIGTERM, signal.SIGHUP)
_ENDING = (
    signal.SIGINT,
    *_LIKE_CTRL_C,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGALRM,
    signal.SIGXCPU,
)
"""Signals that end a process which does not mind them, and can be minded."""


class _Promise:
    """Whether the command that runs has left all files as they were."""

    holds = True


def promise_unchanged(holds: bool) -> None:
    """Say whether what begins now changes no file before it enters `writing`."""
    _Promise.holds = holds


def message() -> str:
    """What to say of an interruption now."""
    return "interrupted; no file was changed" if _Promise.holds else "interrupted"


def interrupt_on_signals() -> None:
    """Have SIGTERM and SIGHUP end the command the same way as Ctrl-C, unless whoever started it
    asked that they be ignored, as nohup does."""
    for number in _LIKE_CTRL_C:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


@contextmanager
def writing() -> Iterator[None]:
    """For the moment that writing takes: all files are written, or none is. Signals are not heard,
    but for the two that no process can refuse."""
    promise_unchanged(False)
    # a handler that is None was not set by Python, which then could not put it back
    numbers = [number for number in _ENDING if signal.getsignal(number) is not None]
    before = [signal.signal(number, signal.SIG_IGN) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
