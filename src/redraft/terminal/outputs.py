"""Where a command writes: what cannot be written is refused early, what changed is left alone.

It does not know what is written.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import sleep

from redraft import files
from redraft.errors import InputError, UsageError
from redraft.terminal.interruption import writing

LOOKS, BETWEEN_LOOKS = 100, 0.02
"""How often, and after how many seconds, it is tried to be alone in a folder."""


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


def _folder(path: Path) -> Path:
    """Where a file really is, through links."""
    return Path(os.path.realpath(path)).parent


@contextmanager
def _alone_in(folders: Set[Path]) -> Iterator[None]:
    """Keep other commands of redraft from writing into these folders meanwhile: of two that edited
    one file, the later would not see that it was changed between its look and its rename.

    A file system without locks leaves that moment, and so does whoever holds one for seconds.
    """
    descriptors = []
    try:
        for folder in sorted(folders):  # in one order, so that no two wait for each other
            with suppress(OSError):
                descriptors.append(os.open(folder, os.O_RDONLY))
                _lock(descriptors[-1])
        yield
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _lock(descriptor: int) -> None:
    for _ in range(LOOKS):
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sleep(BETWEEN_LOOKS)


def require_writable(path: Path) -> None:
    """Refuse before minutes of work what could not be written afterwards. Raises InputError."""
    folder = _folder(path)
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
    with writing(), _alone_in({_folder(place.path) for place, _ in contents}):
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
