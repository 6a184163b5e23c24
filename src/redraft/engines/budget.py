"""Which sequences of an engine hold a context now. It knows neither libraries nor tokens.

A context is large (112 MB of KV cache for 4,096 tokens of the 1.5B weights, and its compute
buffers), so only so many sequences have one at a time; the others are parked as saved states.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from redraft.errors import Cancelled
from redraft.protocols import Cancelled as CancelledCallback

_PERIOD = 0.005


class Parkable(Protocol):
    """What holds a context and can give it back."""

    def park(self) -> None:
        """Save the state and give the context back."""
        ...

    def close(self) -> None:
        """Give the context back."""
        ...


class ContextBudget:
    """At most `limit` holders; the one used longest ago is parked for the next.

    An engine runs one call at a time (`turn`): its forwards use all threads they were given, so
    two at once would only slow each other, and a sequence must not be parked while it computes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = max(1, limit)
        self._holders: OrderedDict[Parkable, None] = OrderedDict()  # used longest ago first
        self._lock = threading.RLock()

    @contextmanager
    def turn(self, cancelled: CancelledCallback | None = None) -> Iterator[None]:
        """Wait until no other thread uses the engine. Raises Cancelled when told so meanwhile."""
        if cancelled is None:
            self._lock.acquire()
        else:
            while not self._lock.acquire(timeout=_PERIOD):
                if cancelled():
                    raise Cancelled("cancelled before the forward began; nothing was changed")
        try:
            yield
        finally:
            self._lock.release()

    def make_room(self) -> None:
        """Park holders until another one may come."""
        while len(self._holders) >= self._limit:
            next(iter(self._holders)).park()

    def use(self, holder: Parkable) -> None:
        """Note that `holder` has a context and uses it now."""
        self._holders[holder] = None
        self._holders.move_to_end(holder)

    def release(self, holder: Parkable) -> None:
        """Note that `holder` has no context any more."""
        self._holders.pop(holder, None)

    def close_all(self) -> None:
        """Close every holder."""
        for holder in list(self._holders):
            holder.close()
