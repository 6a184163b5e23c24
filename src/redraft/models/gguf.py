"""Reads the header of a GGUF file (version 2 and 3, little-endian) without trusting a byte of it.

It never reads tensor data and never holds more than `LARGEST_HEADER` bytes; counts and lengths are
checked before anything is allocated or walked. It knows the container only: what the keys mean is
`redraft.models.metadata`'s affair, and which file may be used for what is its callers'.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from redraft.models.appearance import describe
from redraft.models.tensor_types import TENSOR_TYPES
from redraft.regular import NotRegular, open_regular

LARGEST_HEADER = 128 << 20
"""Bytes. Real headers have 1–30 MB: a vocabulary, its merges, sometimes a tokenizer.json."""
_FIRST_READ = 8 << 20
_MOST_KEYS = 4096
_MOST_TENSORS = 65_536
_MOST_STRINGS = 4 << 20
"""Array strings walked in one file; at 0.1 µs each this bounds the time."""
_LONGEST_KEY = 1024
_MOST_DIMENSIONS = 4
_LARGEST_DIMENSION = 1 << 40

_STRING = 8
_ARRAY = 9
_SCALARS: dict[int, struct.Struct] = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    4: struct.Struct("<I"),
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    7: struct.Struct("<?"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


class Unreadable(Exception):
    """The header cannot be used; the text says why, without the file's name."""


class _Short(Exception):
    """The bytes at hand end before the header does."""


@dataclass(frozen=True, slots=True, eq=False)
class Strings:
    """An array of strings by their places in `Header.data`."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True, slots=True)
class Numbers:
    """An array of numbers in `Header.data`, not unpacked."""

    kind: int
    """GGUF value type: 5 is int32, 6 float32."""
    start: int
    count: int


Value: TypeAlias = int | float | bool | bytes | Strings | Numbers


@dataclass(frozen=True, slots=True)
class Header:
    """What stands before the tensor data."""

    data: bytes
    values: dict[str, Value]
    """Strings are bytes as they stand in the file, perhaps not UTF-8."""
    tensor_count: int
    required_size: int
    """Bytes that the file must have at least, by the place and type of its tensors."""
    file_size: int

    def text(self, strings: Strings, index: int) -> bytes:
        """The bytes of one string of an array."""
        return self.data[strings.starts[index] : strings.ends[index]]


def read_header(path: Path) -> Header:
    """The header of the file at `path`.

    Raises Unreadable with the reason, and OSError when the file cannot be read. Truncated tensor
    data is not an error here: compare `required_size` with `file_size`.
    """
    try:
        opened = open_regular(path)
    except NotRegular:
        raise Unreadable("is not a regular file") from None
    with opened as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(min(size, _FIRST_READ))
        _check_beginning(data, size)
        while True:
            try:
                return _Parser(data, size).header()
            except _Short:
                more = file.read(len(data))
            if not more:
                raise Unreadable(f"ends inside its header, after {len(data):,} bytes")
            data += more


def _check_beginning(data: bytes, size: int) -> None:
    if size == 0:
        raise Unreadable("is empty")
    if data[:4] != b"GGUF":
        raise Unreadable(f"is not a GGUF file ({describe(data)})")
    if len(data) < 24:
        raise Unreadable(f"ends inside its header, after {size:,} bytes")
    (version,) = _U32.unpack_from(data, 4)
    if version not in (2, 3):
        swapped = int.from_bytes(data[4:8], "big")
        if swapped in (1, 2, 3):
            raise Unreadable("is a big-endian GGUF file, which this machine cannot run")
        raise Unreadable(f"has GGUF version {version}; versions 2 and 3 can be read")


class _Parser:
    """Walks a header from its first byte; every step checks that it stays inside."""

    def __init__(self, data: bytes, file_size: int) -> None:
        self._data = data
        self._file_size = file_size
        self._offset = 8
        self._strings_left = _MOST_STRINGS

    def header(self) -> Header:
        tensor_count = self._number(_U64)
        key_count = self._number(_U64)
        if tensor_count > _MOST_TENSORS:
            raise Unreadable(f"claims {tensor_count:,} tensors; at most {_MOST_TENSORS:,} can be")
        if key_count > _MOST_KEYS:
            raise Unreadable(f"claims {key_count:,} header keys; at most {_MOST_KEYS:,} can be")
        values: dict[str, Value] = {}
        for _ in range(key_count):
            key = self._key()
            if key in values:
                raise Unreadable(f"has the header key {key} twice")
            values[key] = self._value(self._number(_U32), key)
        alignment = values.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment not in (1 << n for n in range(3, 17)):
            raise Unreadable("has a general.alignment that is no power of two from 8 to 65536")
        required = self._tensors(tensor_count, alignment)
        return Header(self._data, values, tensor_count, required, self._file_size)

    def _need(self, count: int) -> int:
        """The offset of the next `count` bytes, which are skipped."""
        start = self._offset
        end = start + count
        if end > len(self._data):
            if end > self._file_size:
                raise Unreadable(
                    f"is damaged or cut off: its header needs byte {end:,} of {self._file_size:,}"
                )
            if end > LARGEST_HEADER:
                raise Unreadable(f"has a header of more than {LARGEST_HEADER >> 20} MiB")
            raise _Short
        self._offset = end
        return start

    def _number(self, kind: struct.Struct) -> int:
        (number,) = kind.unpack_from(self._data, self._need(kind.size))
        return int(number)

    def _string(self, longest: int = LARGEST_HEADER) -> bytes:
        length = self._number(_U64)
        if length > longest:
            raise Unreadable(f"is damaged: a header string of {length:,} bytes")
        start = self._need(length)
        return self._data[start : start + length]

    def _key(self) -> str:
        raw = self._string(_LONGEST_KEY)
        try:
            key = raw.decode()
        except UnicodeDecodeError:
            key = ""
        if not key or not key.isprintable():
            raise Unreadable(f"is damaged: {raw[:40]!r} is no header key")
        return key

    def _value(self, kind: int, key: str) -> Value:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            return self._array(key)
        if kind not in _SCALARS:
            raise Unreadable(f"is damaged: {key} has the unknown value type {kind}")
        form = _SCALARS[kind]
        value: int | float | bool = form.unpack_from(self._data, self._need(form.size))[0]
        return value

    def _array(self, key: str) -> Strings | Numbers:
        kind = self._number(_U32)
        count = self._number(_U64)
        if kind == _STRING:
            return self._walk(count, key)
        if kind not in _SCALARS:
            raise Unreadable(f"is damaged: {key} is an array of the unusable type {kind}")
        return Numbers(kind, self._need(count * _SCALARS[kind].size), count)

    def _walk(self, count: int, key: str) -> Strings:
        """Most of the time goes here: 300,000 strings in a usual file, so the loop is bare."""
        self._strings_left -= count
        if self._strings_left < 0 or count * 8 > self._file_size:
            raise Unreadable(f"is damaged: {key} claims {count:,} strings")
        data, offset, unpack = self._data, self._offset, _U64.unpack_from
        limit = len(data) - 8
        starts = []
        for _ in range(count):
            if offset > limit:
                break
            (length,) = unpack(data, offset)
            offset += 8
            starts.append(offset)
            offset += length
        if len(starts) < count or offset > len(data):
            self._need(offset + 8 * (count - len(starts)) - self._offset)
        self._offset = offset
        places = np.array([*starts, offset + 8], dtype=np.int64)
        return Strings(places[:-1], places[1:] - 8)

    def _tensors(self, count: int, alignment: int) -> int:
        """Reads the tensor list; the size that the file must have for it."""
        names: set[bytes] = set()
        end = 0
        for _ in range(count):
            name = self._string(_LONGEST_KEY)
            if name in names:
                raise Unreadable(f"is damaged: the tensor {_shown(name)} is there twice")
            names.add(name)
            size = self._tensor_size(name)
            offset = self._number(_U64)
            if offset % alignment:
                raise Unreadable(f"is damaged: the tensor {_shown(name)} is not aligned")
            end = max(end, offset + size)
        data_start = -(-self._offset // alignment) * alignment
        return data_start + end if count else self._offset

    def _tensor_size(self, name: bytes) -> int:
        dimensions = self._number(_U32)
        if dimensions > _MOST_DIMENSIONS:
            raise Unreadable(f"is damaged: the tensor {_shown(name)} has {dimensions} dimensions")
        shape = [self._number(_U64) for _ in range(dimensions)] or [1]
        kind = self._number(_U32)
        if kind not in TENSOR_TYPES:
            raise Unreadable(f"stores {_shown(name)} in the unknown tensor type {kind}")
        form = TENSOR_TYPES[kind]
        row, rows = shape[0], 1
        for length in shape[1:]:
            rows *= length
        if not all(0 < length <= _LARGEST_DIMENSION for length in shape) or row % form.block:
            raise Unreadable(f"is damaged: the tensor {_shown(name)} has the shape {shape}")
        return form.size(row, rows)


def _shown(name: bytes) -> str:
    """A tensor name fit for one line."""
    return ascii(name.decode(errors="replace"))[:80]
