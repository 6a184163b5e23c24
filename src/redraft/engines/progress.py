"""Progress of loading weights, called from within a C library. It knows no library."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

ProgressCallback = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_float, ctypes.c_void_p)


class LoadProgress:
    """Passes the loaded share (0 … 1) on, and stops loading when that raises.

    Python drops what a callback from C raises, an interrupt by the user included, so it is kept
    here for the caller of the library.
    """

    def __init__(self, report: Callable[[float], None] | None) -> None:
        self._report = report
        self._error: BaseException | None = None
        self.callback = ProgressCallback(self._call)
        """For the library's load parameters; valid as long as this object lives."""

    def _call(self, share: float, _data: object) -> bool:
        try:
            if self._report is not None:
                self._report(share)
        except BaseException as error:  # noqa: BLE001  raised again by raise_error
            self._error = error
        return self._error is None

    def raise_error(self) -> None:
        """Raise what the report raised, if anything."""
        if self._error is not None:
            raise self._error
