"""Whose turn it is."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from redraft.server.turns import PATIENT_SHARE, Turns


@dataclass(slots=True, eq=False)
class Item:
    name: str
    urgent: bool = False


def turns_of(turns: Turns[Item], count: int) -> str:
    return "".join(item.name for item in (turns.next() for _ in range(count)) if item)


def test_items_that_are_not_urgent_take_turns() -> None:
    turns: Turns[Item] = Turns(4)
    for name in "abc":
        turns.wait(Item(name))
    assert turns_of(turns, 6) == "abcabc"


def test_one_slot_is_kept_for_what_is_urgent() -> None:
    turns: Turns[Item] = Turns(2)
    for name in "ab":
        turns.wait(Item(name))
    assert turns_of(turns, 3) == "aaa"
    urgent = Item("U", urgent=True)
    turns.wait(urgent)
    assert turns_of(turns, 5) == "UUUUa"
    turns.remove(urgent)
    assert turns_of(turns, 2) == "aa"


def test_the_only_slot_is_anybodys() -> None:
    turns: Turns[Item] = Turns(1)
    turns.wait(Item("a"))
    assert turns_of(turns, 1) == "a"


def test_nothing_to_do_is_none() -> None:
    assert Turns[Item](2).next() is None


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.integers(1, 4))
def test_everybody_comes_to_an_end(kinds: list[bool], slots: int) -> None:
    turns: Turns[Item] = Turns(slots)
    left = {}
    for number, urgent in enumerate(kinds):
        item = Item(str(number), urgent)
        left[item] = 3
        turns.wait(item)
    steps = 0
    while (item := turns.next()) is not None:
        steps += 1
        left[item] -= 1
        assert left[item] >= 0
        if not left[item]:
            turns.remove(item)
    assert steps == 3 * len(kinds)


def test_an_edit_moves_on_beside_endless_completions() -> None:
    turns: Turns[Item] = Turns(2)
    turns.wait(Item("a"))
    turns.wait(Item("U", urgent=True))
    assert turns_of(turns, 10 * PATIENT_SHARE).count("a") == 10
