"""A standard output that nothing can be written to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from redraft.terminal.streams import data_stream


@contextmanager
def broken_stdout(name: str) -> Iterator[TextIO]:
    """What `redraft.__main__` puts in the place of a stdout that is "full", "closed", or a pipe
    with its "reader gone"."""
    if name == "reader gone":
        reader, descriptor = os.pipe()
        os.close(reader)
    else:
        descriptor = os.open("/dev/full", os.O_WRONLY)
    with os.fdopen(descriptor, "w") as like:
        yield data_stream(descriptor, None if name == "closed" else like)
