"""Slots: which sequence a run gets, and what is kept in it."""

from __future__ import annotations

import pytest

from redraft.engines.fake import FakeEngine
from redraft.errors import UsageError
from redraft.slots import Slot, Slots

A, B, C = list(range(100)), list(range(100, 200)), [*range(80), 250, 251]


def filled(slots: Slots, tokens: list[int]) -> Slot:
    slot = slots.take(tokens)
    slot.sequence.evaluate(tokens[slot.sequence.length :], 0)
    return slot


def test_a_run_gets_the_slot_that_shares_most() -> None:
    slots = Slots(3, FakeEngine().open_sequence, tuple)
    for tokens in (A, B):
        filled(slots, tokens).give_back(tokens)
    again = slots.take(C)
    assert again.index == 0 and again.sequence.length == 80
    other = slots.take(B)
    assert other.index == 1 and other.sequence.length == 99


def test_strangers_get_a_new_slot_and_then_the_one_used_longest_ago() -> None:
    slots = Slots(2, FakeEngine().open_sequence, tuple)
    for tokens in (A, B):
        filled(slots, tokens).give_back(tokens)
    filled(slots, A).give_back(A)
    stranger = slots.take([5, 6, 7])
    assert stranger.index == 1 and stranger.sequence.length == 0


def test_a_taken_slot_is_nobody_elses() -> None:
    slots = Slots(2, FakeEngine().open_sequence, tuple)
    first, second = filled(slots, A), filled(slots, A)
    assert first is not second and first.sequence is not second.sequence
    with pytest.raises(UsageError, match="under way"):
        slots.take(A)
    first.give_back(A)
    assert slots.take(A) is first


def test_what_the_sequence_does_not_hold_is_not_counted_on() -> None:
    slots = Slots(1, FakeEngine().open_sequence, tuple)
    slot = slots.take(A)
    slot.sequence.evaluate(A[:10], 0)
    slot.give_back(A)
    assert slots.take(A).sequence.length == 10


def test_forgetting_empties_all() -> None:
    slots = Slots(1, FakeEngine().open_sequence, tuple)
    filled(slots, A).give_back(A)
    slots.forget(keep_tokens=True)
    assert len(slots.take(A).held) == 100
    slots._slots[0].give_back(A)
    slots.forget()
    assert slots.take(A).sequence.length == 0
