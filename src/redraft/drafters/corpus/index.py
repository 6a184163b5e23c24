"""The index file: a token stream, its positions sorted by context, and the look-up in them.

    line of magic and sizes · header JSON · manifest JSON · starts · tokens · order (int32 each)

A file is written beside its final place and renamed, so a reader sees the old one or the new one.
`open_index` gives None for anything else than a whole file of this version and vocabulary: an
index is a cache that can be built again, and a drafter must never fail for its sake.

Does not know where files come from.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import sys
import tempfile
import zlib
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from redraft.drafters.corpus.ordering import DEPTH, bucket_starts, context_order
from redraft.protocols import Tokenizer

MAGIC = b"redraft corpus 1 "
FIRST_LINE = 64
"""Bytes of the first line: magic, lengths of header and manifest, checksum up to the tokens."""

SUFFIX = ".index"
SAMPLE = 64
"""Continuations looked at per match length, evenly spaced over all of them."""

SIZES = (1, 4, 16, 64)
"""A look-up gives the longest matches with at least these many occurrences."""

_PROBE = "def main(argv):\n\tfor x in range(10):\n        print(f'{x!r} → naïve')  # 日本\r\n"


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """One file of the stream; unchanged as long as time and size are."""

    path: str
    modified_ns: int
    size: int
    start: int
    """Where its tokens begin in the stream, after their separator."""
    length: int
    """How many they are."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What followed the last `length` tokens of a context."""

    length: int
    following: tuple[int, ...]
    """The token after each occurrence, of at most SAMPLE of them."""


def fingerprint(tokenizer: Tokenizer) -> str:
    """Tells vocabularies apart: a hash of the vocabulary's size and of how it cuts a sample."""
    sample = f"{tokenizer.vocab_size} {tokenizer.encode(_PROBE)}"
    return hashlib.sha256(sample.encode()).hexdigest()[:32]


def index_bytes(tokens: int, vocab_size: int) -> int:
    """Upper bound of the arrays' size on disk."""
    return 8 * tokens + 4 * (vocab_size + 1)


def write_index(
    path: Path,
    fingerprint: str,
    vocab_size: int,
    stream: NDArray[np.int32],
    files: Sequence[IndexedFile],
    check: Callable[[], None] = lambda: None,
) -> int:
    """Sort `stream` and write the index by rename. Returns its size in bytes.

    `check` is called between the stages; what it raises ends the call.

    Raises OSError when the disk is full or not writable; `path` is then as it was.
    """
    order = context_order(stream, vocab_size, check)
    starts = bucket_starts(stream, order, vocab_size)
    header = orjson.dumps(
        {
            "fingerprint": fingerprint,
            "vocab_size": vocab_size,
            "byteorder": sys.byteorder,
            "tokens": len(stream),
            "order": len(order),
        }
    )
    manifest = orjson.dumps(
        [[file.path, file.modified_ns, file.size, file.start, file.length] for file in files]
    )
    manifest += b" " * (-(len(header) + len(manifest)) % 8)
    front = header + manifest + starts.tobytes()
    first = MAGIC + f"{len(header)} {len(manifest)} {zlib.crc32(front)} ".encode()
    descriptor, partial = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(first.ljust(FIRST_LINE - 1) + b"\n" + front)
            stream.tofile(out)
            check()
            order.tofile(out)
            size = out.tell()
            out.flush()
            os.fsync(out.fileno())
        Path(partial).replace(path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
    return size


def open_index(path: Path, fingerprint: str) -> CorpusIndex | None:
    """The index at `path`, or None if there is none or it is damaged, old or of other tokens."""
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # missing, unreadable, or empty
        return None
    try:
        index = CorpusIndex(mapped)
    except (ValueError, KeyError, TypeError):  # not what write_index wrote
        return None
    return index if index.fingerprint == fingerprint else None


class CorpusIndex:
    """A memory-mapped index. Look-ups touch a few dozen pages and never fail."""

    def __init__(self, mapped: mmap.mmap) -> None:
        """Raises ValueError (or KeyError, TypeError) if `mapped` is not a whole index."""
        first = mapped[:FIRST_LINE]
        if not first.startswith(MAGIC):
            raise ValueError("no index of this version")
        header_size, manifest_size, checksum = (int(part) for part in first[len(MAGIC) :].split())
        manifest_start = FIRST_LINE + header_size
        arrays = manifest_start + manifest_size
        header = orjson.loads(mapped[FIRST_LINE:manifest_start])
        self.fingerprint: str = header["fingerprint"]
        self.vocab_size: int = header["vocab_size"]
        sizes = (self.vocab_size + 1, header["tokens"], header["order"])
        if header["byteorder"] != sys.byteorder or len(mapped) != arrays + 4 * sum(sizes):
            raise ValueError("other byte order, or not the size that it should have")
        if zlib.crc32(mapped[FIRST_LINE : arrays + 4 * sizes[0]]) != checksum:
            raise ValueError("damaged before the tokens")
        self._manifest = mapped[manifest_start:arrays]
        whole = memoryview(mapped)[arrays:].cast("i")
        self._starts = whole[: sizes[0]]
        self.tokens = whole[sizes[0] : sizes[0] + sizes[1]]
        """The stream, int32[tokens]; -1 separates files."""
        self._order = whole[sizes[0] + sizes[1] :]
        if hasattr(mmap, "MADV_WILLNEED"):
            mapped.madvise(mmap.MADV_WILLNEED)  # so that the first look-ups need not wait for disk

    def files(self) -> list[IndexedFile]:
        """The files in the stream, in its order."""
        return [IndexedFile(*entry) for entry in orjson.loads(self._manifest)]

    def evidence(self, context: Sequence[int]) -> list[Evidence]:
        """What followed the longest matches of the end of `context`, longest first.

        One entry per number in SIZES: the longest match with at least that many occurrences;
        fewer where two coincide or there is none. An index damaged where no checksum looks gives
        poor evidence or none, but never an error nor a token outside the vocabulary.
        """
        query = list(reversed(context[-DEPTH:]))
        if not query or not 0 <= query[0] < self.vocab_size:
            return []
        bucket = self._starts[query[0]], self._starts[query[0] + 1]
        try:
            ranges = self._ranges(query, *bucket)
            return [Evidence(length, self._following(low, high)) for length, low, high in ranges]
        except IndexError:  # a position outside the stream: the file was damaged
            return []

    def _context(self, position: int, length: int) -> list[int]:
        """The `length` tokens before a position, nearest first."""
        before = self.tokens[max(0, position - length) : position].tolist()
        before.reverse()
        return before

    def _ranges(self, query: list[int], first: int, last: int) -> list[tuple[int, int, int]]:
        """(match length, low, high) in the order, nested, longest first, one per size reached."""
        whole = len(query)
        order = self._order
        low = high = bisect_left(
            order, query, first, last, key=lambda position: self._context(position, whole)
        )
        found: list[tuple[int, int, int]] = []
        length = whole + 1
        for size in SIZES:
            while high - low < size:
                left = self._shared(query, low - 1) if low > first else 0
                right = self._shared(query, high) if high < last else 0
                length = min(length - 1, max(left, right))
                if length <= 0:
                    return found
                low, high = self._widen(query[:length], (low, high), (first, last))
            if not found or found[-1][0] != length:
                found.append((length, low, high))
        return found

    def _shared(self, query: list[int], index: int) -> int:
        """How many tokens of the query the context at `index` of the order agrees with."""
        count = 0
        for ours, theirs in zip(query, self._context(self._order[index], len(query)), strict=False):
            if ours != theirs:
                break
            count += 1
        return count

    def _widen(
        self, prefix: list[int], inner: tuple[int, int], outer: tuple[int, int]
    ) -> tuple[int, int]:
        """The range of all contexts that begin with `prefix`, around a range of some of them."""
        order, length = self._order, len(prefix)
        low, high = inner
        reach = 1
        while low - reach >= outer[0] and self._context(order[low - reach], length) == prefix:
            low -= reach
            reach *= 2
        low = bisect_left(
            order,
            True,
            max(outer[0], low - reach),
            low,
            key=lambda position: self._context(position, length) == prefix,
        )
        reach = 1
        while high + reach <= outer[1] and self._context(order[high + reach - 1], length) == prefix:
            high += reach
            reach *= 2
        high = bisect_left(
            order,
            True,
            high,
            min(outer[1], high + reach - 1),
            key=lambda position: self._context(position, length) != prefix,
        )
        return low, high

    def _following(self, low: int, high: int) -> tuple[int, ...]:
        count = high - low
        if count <= SAMPLE:
            positions = self._order[low:high].tolist()
        else:
            step = count / SAMPLE
            positions = [self._order[low + int((nth + 0.5) * step)] for nth in range(SAMPLE)]
        limit, tokens = self.vocab_size, self.tokens
        return tuple(token for token in map(tokens.__getitem__, positions) if 0 <= token < limit)
