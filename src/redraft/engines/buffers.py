"""Buffers that a C function fills with tokens or bytes. It knows no library."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from redraft.errors import EngineError


def filled_tokens(text: bytes, fill: Callable[[Any, int], int]) -> list[int]:
    """Token ids of `text`, where `fill(buffer, room)` writes them and gives their number, or the
    negative number there would have been. Raises EngineError for more than the text has bytes."""
    room = len(text) + 8  # no token is shorter than a byte
    buffer = (ctypes.c_int32 * room)()
    count = fill(buffer, room)
    if count < 0:
        raise EngineError(f"the text needs {-count} tokens, more than its bytes allow")
    return list(buffer[:count])


def filled_bytes(fill: Callable[[Any, int], int]) -> bytes:
    """What `fill(buffer, room)` writes; where it gives a negative number, it is asked again with
    so much room."""
    room = 64
    while True:
        buffer = ctypes.create_string_buffer(room)
        count = fill(buffer, room)
        if count >= 0:
            return buffer.raw[:count]
        room = -count
