"""What a C library of the llama.cpp family logs, kept to explain its failures.

It knows no library, only their common log callback.
"""

from __future__ import annotations

import ctypes
from collections import deque

LogCallback = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
_ERROR = 4
_PREFIXES = ("llama_model_load: ", "error loading model: ", "llama_model_loader: ")


class LibraryMessages:
    """The latest errors that a library reported by its log callback."""

    def __init__(self) -> None:
        self._errors: deque[str] = deque(maxlen=20)
        self.callback = LogCallback(self._keep)
        """For `llama_log_set`; valid as long as this object lives."""

    def _keep(self, level: int, text: bytes, _data: object) -> None:
        if level == _ERROR:
            self._errors.append(" ".join(text.decode("utf-8", "replace").split()))

    def clear(self) -> None:
        """Forget what was reported so far."""
        self._errors.clear()

    def reason(self) -> str:
        """The most telling error since the last clear, on one line."""
        telling = [error for error in self._errors if "error" in error.lower()]
        if not self._errors:
            return "the library gave no reason"
        reason = (telling or list(self._errors))[0]
        for prefix in _PREFIXES:
            reason = reason.removeprefix(prefix)
        return reason[:200]
