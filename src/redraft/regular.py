"""Opens files of which only regular ones make sense, without waiting for anything else.

Opening a named pipe waits for a writer and a device may have no end, so both are refused, and a
file that is read whole has a limit. It does not know what is read.
"""

from __future__ import annotations

import errno
import gzip
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


def read_regular(path: Path, limit: int, gzipped: bool = False) -> bytes:
    """All of `path`, unpacked where it is `gzipped`: at most `limit` bytes of what is returned.

    Raises what `open_regular` does, an OSError that says so for a longer file, and for a damaged
    gzip file what gzip does: gzip.BadGzipFile, EOFError or zlib.error.
    """
    with open_regular(path) as file:
        if gzipped:
            with gzip.GzipFile(fileobj=file) as packed:
                data = packed.read(limit + 1)
        else:
            data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"it is longer than {limit:,} bytes")
    return data


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
