"""What is said of an interruption, alike in every phase, and the moment that has none.

It does not know who interrupts, nor what is written.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130
"""The exit code."""


class _Promise:
    """Whether the command that runs has left all files as they were."""

    holds = True


def promise_unchanged(holds: bool) -> None:
    """Say whether what begins now changes no file before it enters `writing`."""
    _Promise.holds = holds


def message() -> str:
    """What to say of an interruption now."""
    return "interrupted; no file was changed" if _Promise.holds else "interrupted"


@contextmanager
def writing() -> Iterator[None]:
    """For the moment that writing takes: all files are written, or none is."""
    promise_unchanged(False)
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signal.SIG_IGN) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
