"""SHA-256 of weights, and the note beside a file that says it was verified.

The note (`<file>.verified.json`) holds size, modification time and checksum, so that a start need
not read a gigabyte again; a file changed since has another time and is read again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

import orjson

from redraft.models.progress import Progress, Report, silent
from redraft.regular import open_regular

_CHUNK = 4 << 20


def sha256_of(path: Path, report: Report = silent) -> str:
    """The checksum in hexadecimal, at about a second a gigabyte. Raises OSError."""
    digest = hashlib.sha256()
    done = 0
    with open_regular(path) as file:
        total = os.fstat(file.fileno()).st_size
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            done += len(chunk)
            report(Progress("checking", path.name, done, total))
    return digest.hexdigest()


def mark_verified(path: Path, sha256: str) -> None:
    """Note that the file as it is now has this checksum. Raises OSError."""
    status = path.stat()
    note = {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": sha256}
    temporary = _note_path(path).with_suffix(f".{os.getpid()}.tmp")
    try:
        temporary.write_bytes(orjson.dumps(note))
        temporary.replace(_note_path(path))
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def is_marked(path: Path, sha256: str) -> bool:
    """Whether the file was verified to have this checksum and has not changed since."""
    try:
        note = orjson.loads(_note_path(path).read_bytes())
        status = path.stat()
    except (OSError, orjson.JSONDecodeError):
        return False
    expected = {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": sha256}
    return bool(note == expected)


def check_once(path: Path, sha256: str, report: Report = silent) -> bool:
    """Whether the file has this checksum; read only if that was not noted before.

    Raises OSError when it cannot be read.
    """
    if is_marked(path, sha256):
        return True
    if sha256_of(path, report) != sha256:
        return False
    # In a folder that cannot be written to, each start takes the second that reading costs.
    with contextlib.suppress(OSError):
        mark_verified(path, sha256)
    return True


def unmark(path: Path) -> None:
    """Forget that the file was verified."""
    _note_path(path).unlink(missing_ok=True)


def _note_path(path: Path) -> Path:
    return path.with_name(path.name + ".verified.json")
