"""The process's own stdout and stderr, made to fail in one way wherever they are written to.

A standard stream can be closed, full, or a pipe whose reader has gone, and what Python, typer and
rich make of each differs. Here stdout raises an error of redraft's own once, and nothing after it;
stderr, which is only talk, never fails. It does not know what is written.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, ClassVar, TextIO

from redraft.errors import InputError, RedraftError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class ReaderGone(RedraftError):
    """Whoever read standard output has gone; there is nobody to tell."""

    exit_code: ClassVar[int] = 141


class _Stream(io.FileIO):
    """A descriptor that takes what it is given, and throws it away once that has failed."""

    def __init__(self, descriptor: int, is_closed: bool) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._is_closed = is_closed
        self._has_failed = False

    def write(self, data: ReadableBuffer, /) -> int:
        """As of FileIO, with what `_refuse` raises."""
        if self._has_failed:
            return memoryview(data).nbytes
        try:
            if self._is_closed:
                raise OSError("it is closed")
            return super().write(data)
        except OSError as error:
            self._has_failed = True  # Python writes what is buffered again when it exits
            self._refuse(error)
            return memoryview(data).nbytes

    def _refuse(self, error: OSError) -> None:
        """Nothing: talk that nobody hears is no failure."""


class _Data(_Stream):
    def _refuse(self, error: OSError) -> None:
        if isinstance(error, BrokenPipeError):
            raise ReaderGone from None
        reason = error.strerror or str(error)
        raise InputError(f"standard output cannot be written: {reason}") from None


def guard() -> None:
    """Put guarded streams in the place of `sys.stdout` and `sys.stderr`.

    A closed descriptor is opened on nothing first: the next file to be opened would get its number,
    and what is meant for a terminal would be written into that file.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
    sys.stdout = data_stream(1, sys.stdout)
    sys.stderr = _text(_Stream(2, sys.stderr is None), sys.stderr)


def data_stream(descriptor: int, like: TextIO | None) -> TextIO:
    """Text to `descriptor` in the form of another stream; None where that is closed.

    Writing or flushing raises InputError or ReaderGone.
    """
    return _text(_Data(descriptor, like is None), like)


def _text(raw: _Stream, like: TextIO | None) -> TextIO:
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=like.encoding if like else "utf-8",
        errors="backslashreplace",  # whatever the locale cannot show
        line_buffering=raw.fileno() == 2 or raw.isatty(),
    )
