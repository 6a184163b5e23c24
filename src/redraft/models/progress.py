"""What a long operation on weights says of itself while it runs.

It does not know who shows it; the terminal draws bars from it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Stage = Literal["waiting", "source", "fetching", "checking"]


@dataclass(frozen=True, slots=True)
class Progress:
    """A moment of an operation."""

    stage: Stage
    """`waiting` for another process, `source`: one failed or is tried now, `fetching` bytes,
    `checking` the checksum."""
    text: str
    done: int = 0
    """Bytes of `total` that are done."""
    total: int = 0


Report: TypeAlias = Callable[[Progress], None]


def silent(_: Progress) -> None:
    """Reports to nobody."""


def bytes_in(folder: Path) -> int:
    """Bytes of all files below `folder`; what vanishes meanwhile counts as nothing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            # st_blocks, because a downloader may reserve the whole file before it fills it
            status = path.lstat()
        except FileNotFoundError:
            continue
        total += min(status.st_size, status.st_blocks * 512)
    return total


@contextmanager
def watched(
    folder: Path, before: Progress, report: Report, interval: float = 0.25
) -> Iterator[None]:
    """While the body runs, report `before` grown by what `folder` grows, capped at the total.

    For downloaders that report to nobody. The reports come from a thread of their own.
    """
    finished = threading.Event()
    start = bytes_in(folder)

    def look() -> None:
        while not finished.wait(interval):
            done = min(before.done + max(0, bytes_in(folder) - start), before.total)
            report(Progress(before.stage, before.text, done, before.total))

    thread = threading.Thread(target=look, name="redraft-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
