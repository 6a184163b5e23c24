"""Text files as a model sees them, and back to bytes without losing their form.

A model reads and writes plain `\\n` text. The form of a file (encoding, byte order mark, line
endings, final newline) is taken off when it is read and put back when it is written, so that the
bytes of unchanged text are the bytes that were there. It does not know what a change means.
"""

from __future__ import annotations

import codecs
import contextlib
import difflib
import errno
import itertools
import os
import re
import secrets
import stat
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from redraft.errors import InputError
from redraft.regular import NotRegular, open_regular

LARGEST_FILE = 4 << 20
"""Bytes; far more than any context holds."""

_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# PEP 263's expression, anywhere in the line since other languages' comments hold it too.
_COOKIE = re.compile(rb"coding[:=][ \t]*([-\w.]+)")
_LINE_END = re.compile(r"\r\n|\n|\r")
_ASCII = bytes(range(0x20, 0x7F)).decode("ascii")
_ALIGNED_LINES = 2_000


@dataclass(frozen=True, slots=True)
class TextForm:
    """What a file has besides its text."""

    name: str = "the text"
    """The file's name, for messages."""
    encoding: str = "utf-8"
    """A Python codec without a byte order mark."""
    mark: bytes = b""
    """The byte order mark in front, if any."""
    newline: str = "\n"
    """The line ending, or the most frequent one."""
    final_newline: bool | None = None
    """Whether the last line has an ending; None for an empty file."""
    lines: tuple[str, ...] = ()
    """Where endings are mixed: the lines as they were, with their endings, to match against."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file's text, its lines ended by `\\n`, and the form to write it back in."""

    text: str
    form: TextForm


def read(path: Path, limit: int = LARGEST_FILE) -> SourceFile:
    """The text file at `path`. Raises InputError as `read_bytes` does, or when it is no text."""
    return parse(read_bytes(path, limit), _shown(path))


def read_bytes(path: Path, limit: int = LARGEST_FILE) -> bytes:
    """The bytes of the file at `path`; waits for nothing, and reads no more than `limit`.

    Raises InputError when it is missing, no regular file, not readable or longer.
    """
    name = _shown(path)
    try:
        with open_regular(path) as file:
            data = file.read(limit + 1)
    except NotRegular:
        raise InputError(f"{name} is not a regular file; give a text file") from None
    except IsADirectoryError:
        raise InputError(f"{name} is a folder; give the files in it") from None
    except FileNotFoundError:
        raise InputError(f"there is no file {name}; check the path") from None
    except PermissionError:
        raise InputError(f"{name} may not be read by this user; check its permissions") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {_reason(error)}") from None
    if len(data) > limit:
        raise InputError(f"{name} is longer than {limit:,} bytes; give a smaller file")
    return data


def parse(data: bytes, name: str = "standard input") -> SourceFile:
    """The text in `data`. Raises InputError when it is binary.

    The encoding is that of the byte order mark; else UTF-8; else what a `coding:` line says; else
    Windows-1252 or Latin-1, which give any bytes back. Pure ASCII follows its `coding:` line too,
    as that decides what may be added: nothing but ASCII where that codec does not read it as such.
    """
    mark, encoding = _encoding(data, name)
    raw = data[len(mark) :].decode(encoding)
    if "\0" in raw:
        raise InputError(f"{name} looks binary (it holds NUL characters); give a text file")
    endings = Counter(_LINE_END.findall(raw))
    newline = max(endings, key=lambda ending: (endings[ending], ending == "\n"), default="\n")
    form = TextForm(
        name=name,
        encoding=encoding,
        mark=mark,
        newline=newline,
        final_newline=raw.endswith(("\n", "\r")) if raw else None,
        lines=_split(raw) if len(endings) > 1 else (),
    )
    return SourceFile(_LINE_END.sub("\n", raw), form)


def render(text: str, form: TextForm) -> bytes:
    """The bytes of `text`, whose lines end in `\\n`, in the form of the file that it came from.

    Unchanged text gives the original bytes. A final newline is added or taken away to be as it
    was; where endings were mixed, unchanged lines keep theirs and new ones get the most frequent.
    Raises InputError for a character that the file's encoding does not have.
    """
    text = _LINE_END.sub("\n", text)
    if text and form.final_newline is True and not text.endswith("\n"):
        text += "\n"
    if form.final_newline is False:
        text = text.removesuffix("\n")
    if form.lines:
        text = _with_old_endings(text, form)
    elif form.newline != "\n":
        text = text.replace("\n", form.newline)
    try:
        data = text.encode(form.encoding)
        lost = _first_difference(text, data.decode(form.encoding, "replace"))
    except UnicodeEncodeError as error:
        lost = error.start
    if lost is not None:
        line = text.count(form.newline, 0, lost) + 1
        raise InputError(
            f"{form.name} is encoded as {form.encoding}, which has no"
            f" {text[lost]!a} (new line {line}); save the file as UTF-8 first"
        )
    return form.mark + data


def _first_difference(text: str, read: str) -> int | None:
    """Where `read`, the text that was encoded and decoded, is not `text`: some codecs replace what
    they lack without an error, as Shift JIS does the yen sign by a backslash."""
    if read == text:
        return None
    pairs = enumerate(zip(text, read, strict=False))
    return next((at for at, (one, other) in pairs if one != other), len(text) - 1)


def write_atomically(path: Path, data: bytes) -> None:
    """Replace the content of `path` by `data`, all or nothing.

    Written to a file beside it, flushed to the disk and renamed, so that a crash, a full disk or
    Ctrl-C leaves the old content. Permissions (and, where allowed, the owner and the extended
    attributes) stay; a symbolic link keeps pointing to the file, which is the one replaced; another
    hard link to it keeps the old content. Raises InputError.
    """
    try:
        target = Path(os.path.realpath(path))
        old = target.stat() if target.exists() else None
        if target.is_symlink():
            raise InputError(f"{_shown(path)} is a symbolic link to itself; remove it")
        if old is not None and not stat.S_ISREG(old.st_mode):
            raise InputError(f"{_shown(path)} is not a regular file; it cannot be replaced")
        effective = os.access in os.supports_effective_ids
        if old is not None and not os.access(target, os.W_OK, effective_ids=effective):
            raise InputError(f"{_shown(path)} is read-only; make it writable, or use --output")
        _replace(target, data, old)
    except OSError as error:
        raise InputError(_refusal(path, error)) from None


def _replace(target: Path, data: bytes, old: os.stat_result | None) -> None:
    temporary = target.with_name(f".redraft-{secrets.token_hex(8)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o666)  # less the umask, as for any new file
    try:
        with os.fdopen(descriptor, "wb") as file:
            if old is not None:
                # Only root may give a file away; for others it is theirs already, or becomes so.
                with contextlib.suppress(PermissionError):
                    os.fchown(file.fileno(), old.st_uid, old.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
            file.write(data)
            file.flush()
            if old is not None:
                _copy_attributes(target, file.fileno())
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _copy_attributes(source: Path, descriptor: int) -> None:
    """Give the open file the extended attributes of another, where the system has them. Those that
    this user or file system may not set are left out, as the owner is."""
    if sys.platform == "linux":  # the one system for which Python has these calls
        with contextlib.suppress(OSError):
            for name in os.listxattr(source):
                with contextlib.suppress(OSError):
                    os.setxattr(descriptor, name, os.getxattr(source, name))


def _refusal(path: Path, error: OSError) -> str:
    name, folder = _shown(path), _shown(path.parent)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{name} was not changed: the disk is full; make room and run the command again"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{name} was not changed: {folder} may not be written to; use --output elsewhere"
    if error.errno == errno.ENOENT:
        return f"{name} cannot be written: there is no folder {folder}; create it first"
    return f"{name} was not changed: {_reason(error)}; use --output to write elsewhere"


def _encoding(data: bytes, name: str) -> tuple[bytes, str]:
    """Byte order mark and codec. The data decode by it, and encode to the same again."""
    for mark, encoding in _MARKS:
        if data.startswith(mark) and _fits(data[len(mark) :], encoding):
            return mark, encoding
    if b"\0" in data:
        raise InputError(f"{name} looks binary (it holds NUL bytes); give a text file")
    declared = _declared(data)
    keeps_ascii = declared is not None and _keeps_ascii(declared)
    if declared and data.isascii():
        return b"", declared if keeps_ascii and _fits(data, declared) else "ascii"
    candidates = ("utf-8", declared if declared and keeps_ascii else "utf-8", "cp1252")
    return b"", next((encoding for encoding in candidates if _fits(data, encoding)), "latin-1")


def _fits(data: bytes, encoding: str) -> bool:
    """Whether the bytes can be text in this encoding and come back the same."""
    try:
        return data.decode(encoding).encode(encoding) == data
    except (UnicodeError, LookupError, ValueError):
        return False


def _declared(data: bytes) -> str | None:
    """The codec that a `coding:` in the first two lines names, if there is such a codec."""
    for line in data.splitlines()[:2]:
        match = _COOKIE.search(line)
        if match:
            try:
                name = codecs.lookup(match[1].decode("ascii", "replace")).name
            except (LookupError, ValueError):
                return None
            return name.removesuffix("-sig")  # UTF-8, whose mark is none of the codec's business
    return None


def _keeps_ascii(encoding: str) -> bool:
    """Whether the codec leaves ASCII as it is; others would read the line that names them as
    something else."""
    try:
        return _ASCII.encode(encoding) == _ASCII.encode()
    except (UnicodeError, LookupError):
        return False


def _split(raw: str) -> tuple[str, ...]:
    """Lines with their endings; unlike str.splitlines, form feeds and the like end none."""
    ends = [match.end() for match in _LINE_END.finditer(raw)]
    bounds = [0, *ends] if ends and ends[-1] == len(raw) else [0, *ends, len(raw)]
    return tuple(raw[start:end] for start, end in itertools.pairwise(bounds))


def _with_old_endings(text: str, form: TextForm) -> str:
    """Each line that stands in the old text too with the ending it had there."""
    old = [line.rstrip("\r\n") for line in form.lines]
    endings = [line[len(bare) :] for line, bare in zip(form.lines, old, strict=True)]
    new = text.split("\n")
    chosen = [form.newline] * len(new)
    for old_at, new_at, size in _same_lines(old, new):
        kept = endings[old_at : old_at + size]
        chosen[new_at : new_at + size] = [ending or form.newline for ending in kept]
    chosen[-1] = ""
    return "".join(line + ending for line, ending in zip(new, chosen, strict=True))


def _same_lines(old: list[str], new: list[str]) -> list[tuple[int, int, int]]:
    """Runs of equal lines as (index in old, index in new, count). What is equal at both ends is
    taken first: it is most of a file, and makes unchanged text exact by construction."""
    most = min(len(old), len(new))
    head = next((i for i in range(most) if old[i] != new[i]), most)
    most -= head
    tail = next((i for i in range(most) if old[-1 - i] != new[-1 - i]), most)
    old_middle, new_middle = old[head : len(old) - tail], new[head : len(new) - tail]
    # Thousands of equal lines would take minutes without the shortcut for frequent ones.
    hurry = len(old_middle) > _ALIGNED_LINES
    matcher = difflib.SequenceMatcher(None, old_middle, new_middle, autojunk=hurry)
    blocks = matcher.get_matching_blocks()
    middle = [(head + block.a, head + block.b, block.size) for block in blocks]
    return [(0, 0, head), *middle, (len(old) - tail, len(new) - tail, tail)]


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _shown(path: Path) -> str:
    """A path as it stands in a message: on one line whatever its name contains."""
    text = str(path)
    return text if text.isprintable() else ascii(text)
