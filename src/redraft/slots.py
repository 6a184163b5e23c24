"""Slots: sequences that outlive the runs they serve, each with equipment of its own.

A run takes the slot whose tokens its prompt shares most of, so that the shared part is not
evaluated again, and two runs that are under way at once never touch one KV cache. It does not know
prompts as text, nor settings.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Tokens
from dataclasses import dataclass

from redraft.errors import UsageError
from redraft.protocols import Drafter, Sequence
from redraft.syntax import Syntax
from redraft.tokens import shared_length

_RELATED = 0.5
"""A slot that shares less than this part of its own tokens and of the prompt holds somebody else's
text: a new slot, or the one used longest ago, is taken rather than this one."""


@dataclass(frozen=True, slots=True)
class Equipment:
    """What works beside a sequence and remembers what it has seen there."""

    drafters: tuple[Drafter, ...]
    syntax: Syntax | None = None
    """What follows the output's syntax, if anything does; the drafters may read it."""


class Slot:
    """A sequence, the tokens it holds, and the equipment that works beside it."""

    def __init__(self, index: int, sequence: Sequence, equipment: Equipment) -> None:
        self.index = index
        self.sequence = sequence
        self.equipment = equipment
        self.held: list[int] = []
        """Tokens in the KV cache; valid while no run has the slot."""
        self.taken = False
        self.used = 0
        """When it was last taken; larger is later."""

    def give_back(self, tokens: Tokens[int]) -> None:
        """The run has ended; `tokens` begin with all that the sequence holds."""
        self.held = list(tokens[: self.sequence.length])
        self.taken = False


class Slots:
    """At most `limit` slots, opened when they are needed."""

    def __init__(
        self,
        limit: int,
        open_sequence: Callable[[], Sequence],
        equip: Callable[[], Equipment],
    ) -> None:
        self._limit = limit
        self._open_sequence = open_sequence
        self._equip = equip
        # built before they are needed, so that a drafter that cannot be built is told at once
        self._spare: Equipment | None = equip()
        self._slots: list[Slot] = []
        self._clock = 0

    def take(self, prompt: Tokens[int]) -> Slot:
        """A slot for a run with this prompt, its sequence cut back to what both share.

        Raises UsageError while all slots are taken, and what opening a sequence raises.
        """
        free = [slot for slot in self._slots if not slot.taken]
        shared = {slot.index: shared_length(slot.held, prompt[:-1]) for slot in free}
        best = max(free, key=lambda slot: (shared[slot.index], slot.used), default=None)
        if best is None or not _related(shared[best.index], best.held, prompt):
            best = self._other(free)
        kept = shared.get(best.index, 0)
        best.sequence.truncate(min(kept, best.sequence.length))
        self._clock += 1
        best.taken, best.used = True, self._clock
        return best

    def _other(self, free: list[Slot]) -> Slot:
        """A new slot, or else the one that was taken longest ago."""
        if len(self._slots) < self._limit:
            equipment, self._spare = self._spare or self._equip(), None
            self._slots.append(Slot(len(self._slots), self._open_sequence(), equipment))
            return self._slots[-1]
        if not free:
            raise UsageError(
                "another run of this session is under way; iterate it to its end or close its"
                " iterator first"
            )
        return min(free, key=lambda slot: slot.used)

    def forget(self, keep_tokens: bool = False) -> None:
        """New equipment everywhere, and no tokens held unless `keep_tokens`."""
        for slot in self._slots:
            slot.equipment = self._equip()
            if not keep_tokens:
                slot.held = []


def _related(shared: int, held: Tokens[int], prompt: Tokens[int]) -> bool:
    return shared >= _RELATED * min(len(held), len(prompt))
