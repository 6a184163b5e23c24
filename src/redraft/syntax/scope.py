"""Names in scope at a cursor: those that were written where the cursor still is, or further out.

A name counts as in scope from where it first stands, whatever it is there, until the block around
it is closed. It does not know types, imports or other files.
"""

from __future__ import annotations

from collections.abc import Sequence

from redraft.syntax.leaves import Leaf
from redraft.syntax.state import BRACKETS, State

FURTHEST = 6000
"""Leaves that are looked back at."""


def names_in_scope(
    leaves: Sequence[Leaf], states: Sequence[State], now: State, prefix: str = ""
) -> tuple[str, ...]:
    """Names of at least two letters that begin with `prefix`, the latest first. `states[i]` is the
    one before `leaves[i]`, `now` the one at the cursor."""
    around = {frame.start for frame in now.frames if frame.kind not in BRACKETS}
    first = max(0, len(leaves) - FURTHEST)
    found = [
        first + number
        for number, leaf in enumerate(leaves[first:])
        if leaf.text.startswith(prefix) and leaf.token_class == "identifier"
    ]
    names: dict[str, None] = {}
    for index in reversed(found):
        name = leaves[index].text
        if len(name) < 2 or name in names:
            continue
        block = next(f for f in reversed(states[index].frames) if f.kind not in BRACKETS)
        if block.start in around:
            names[name] = None
    return tuple(names)
