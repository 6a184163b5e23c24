"""Cancelling a forward that runs in a C library. It knows no library.

A thread polls `cancelled` and sets a flag, which the library's abort callback reads.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from types import TracebackType

from redraft.protocols import Cancelled

_PERIOD = 0.005


class AbortFlag:
    """A flag and the C function that reads it, to be given to a library as abort callback.

    The library calls `bool callback(void * data)` some hundred times a forward, so a Python
    function there takes the interpreter lock each time. C's `strlen` has a fitting signature: of
    a two-byte buffer it gives 0 while the first byte is NUL and 1 once it is set.
    """

    def __init__(self) -> None:
        strlen = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None).strlen
        self.function = int(ctypes.cast(strlen, ctypes.c_void_p).value or 0)
        """Address of the callback."""
        self._buffer = ctypes.create_string_buffer(2)
        self.data = ctypes.addressof(self._buffer)
        """Address that the callback is to be called with; valid as long as this object lives."""

    @property
    def is_set(self) -> bool:
        """Whether the library was told to stop."""
        return self._buffer[0] != b"\0"

    def set(self) -> None:
        """Tell the library to stop."""
        self._buffer[0] = b"\1"

    def clear(self) -> None:
        """Let the library run."""
        self._buffer[0] = b"\0"


class Watch:
    """While a forward runs, polls `cancelled` from another thread and sets the flag.

    The flag is set at once where `cancelled()` is true already. What `cancelled` raises stops the
    forward too and is raised again in the thread of the forward.
    """

    def __init__(self, cancelled: Cancelled, flag: AbortFlag) -> None:
        self._cancelled = cancelled
        self._flag = flag
        self._done = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def _poll(self) -> None:
        try:
            while not self._done.wait(_PERIOD):
                if self._cancelled():
                    self._flag.set()
                    return
        except BaseException as error:  # noqa: BLE001  raised again by __exit__
            self._error = error
            self._flag.set()

    def __enter__(self) -> None:
        if self._cancelled():
            self._flag.set()
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()
        if self._error is not None:
            raise self._error
