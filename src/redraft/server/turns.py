"""Whose turn it is: which waiting run begins, and which run under way makes the next step.

Completions are urgent: somebody waits at a cursor. They go before edits and chats between two
steps, and one slot is kept for them. It does not know what a run does.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, Protocol, TypeVar

PATIENT_SHARE = 8
"""While urgent runs go on, one in so many steps is another's, so that none stands still."""


class Urgent(Protocol):
    """What is ordered."""

    @property
    def urgent(self) -> bool:
        """Whether somebody waits at a cursor for it."""
        ...


_Item = TypeVar("_Item", bound=Urgent)


class Turns(Generic[_Item]):
    """Items that wait or are under way; at most `slots` are under way at once."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._patient_slots = max(1, slots - 1)
        self._waiting: deque[_Item] = deque()
        self._active: list[_Item] = []
        self._turn = 0

    def wait(self, item: _Item) -> None:
        """Add an item behind those that wait."""
        self._waiting.append(item)

    def remove(self, item: _Item) -> None:
        """Forget an item, wherever it is."""
        for items in (self._waiting, self._active):
            if item in items:
                items.remove(item)

    def next(self) -> _Item | None:
        """The item that makes the next step, which may be its first; None if there is none."""
        while (item := self._may_begin()) is not None:
            self._waiting.remove(item)
            self._active.append(item)
        if not self._active:
            return None
        self._turn += 1
        urgent = [item for item in self._active if item.urgent]
        patient = [item for item in self._active if not item.urgent]
        chosen = urgent or patient
        if urgent and patient and self._turn % PATIENT_SHARE == 0:
            chosen = patient
        item = chosen[0]
        if not item.urgent:  # others of its kind come before it is its turn again
            self._active.remove(item)
            self._active.append(item)
        return item

    def _may_begin(self) -> _Item | None:
        if len(self._active) >= self._slots:
            return None
        patient_full = sum(not item.urgent for item in self._active) >= self._patient_slots
        candidates = [item for item in self._waiting if item.urgent or not patient_full]
        return min(candidates, key=lambda item: not item.urgent, default=None)
