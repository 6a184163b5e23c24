"""Opens files of which only regular ones make sense, without waiting for anything else.

Opening a named pipe waits for a writer and a device may have no end, so both are refused. It does
not know what is read.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


class NotRegular(OSError):
    """A device, pipe or socket where a file is wanted; `strerror` says so."""


def open_regular(path: Path) -> BinaryIO:
    """`path` opened for reading. Raises NotRegular, IsADirectoryError and other OSErrors."""
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115  # the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise NotRegular(errno.EINVAL, "it is not a regular file")
    return file


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
