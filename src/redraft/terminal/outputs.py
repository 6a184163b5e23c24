"""Where a command writes: what cannot be written is refused early, what changed is left alone.

It does not know what is written.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from redraft import files
from redraft.errors import InputError, UsageError
from redraft.terminal.interruption import writing


@dataclass(frozen=True, slots=True)
class Target:
    """A file to write."""

    path: Path
    before: bytes | None
    """What was in it when the command began; None where nothing could be read."""


@dataclass(frozen=True, slots=True)
class Written:
    """What became of an attempt to write."""

    paths: tuple[Path, ...] = ()
    trouble: InputError | None = None
    """Why the rest was not written."""


def target(path: Path) -> Target:
    """The file as it is now."""
    return Target(path, current(path))


def current(path: Path) -> bytes | None:
    """The bytes of a file; None where it cannot be read or is no file that redraft would."""
    try:
        return files.read_bytes(path)
    except InputError:
        return None


def output_path(text: str | None) -> Path | None:
    """What --output says. Raises UsageError or InputError for what names no file.

    From the text, as a Path forgets a slash at the end.
    """
    if text is None:
        return None
    if text == "-":
        raise UsageError("--output takes a file's name; leave it out for standard output")
    if not text:
        raise InputError("'' is no file name; check the path")
    if text.rpartition("/")[2] in ("", ".", ".."):
        folder = Path(text)
        if not _is_folder(folder):
            raise InputError(f"there is no folder {folder}; create it first")
        raise InputError(f"{folder} is a folder; give the name of a file in it")
    return Path(text)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # such as a name that is too long
        return False


def require_writable(path: Path) -> None:
    """Refuse before minutes of work what could not be written afterwards. Raises InputError."""
    folder = Path(os.path.realpath(path)).parent
    if not _is_folder(folder):
        raise InputError(f"there is no folder {folder}; create it first")
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}; use another path") from None
    if mode is not None:
        if stat.S_ISDIR(mode):
            raise InputError(f"{path} is a folder; give the name of a file in it")
        if not stat.S_ISREG(mode):
            raise InputError(f"{path} is not a regular file; it cannot be replaced")
        if not os.access(path, os.W_OK):
            raise InputError(f"{path} is read-only; make it writable, or use --output")
    if not os.access(folder, os.W_OK):
        raise InputError(f"the folder {folder} may not be written to; use --output elsewhere")


def write_all(contents: Sequence[tuple[Target, bytes]]) -> Written:
    """Write the files, after all of them were found to be writable and as they were."""
    done: list[Path] = []
    with writing():
        try:
            for place, _ in contents:
                require_writable(place.path)
                if current(place.path) != place.before:
                    raise InputError(
                        f"{place.path} was changed meanwhile, so nothing was written; run it again"
                    )
            for place, data in contents:
                files.write_atomically(place.path, data)
                done.append(place.path)
        except InputError as error:
            return Written(tuple(done), error)
    return Written(tuple(done))
