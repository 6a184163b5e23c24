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


def names_in_scope(leaves: Sequence[Leaf], states: Sequence[State], now: State) -> tuple[str, ...]:
    """Names of at least two letters, the latest first. `states[i]` is the one before `leaves[i]`,
    `now` the one at the cursor."""
    around = {frame.start for frame in now.frames if frame.kind not in BRACKETS}
    names: dict[str, None] = {}
    for index in range(len(leaves) - 1, max(-1, len(leaves) - 1 - FURTHEST), -1):
        leaf = leaves[index]
        if leaf.token_class != "identifier" or len(leaf.text) < 2 or leaf.text in names:
            continue
        block = next(f for f in reversed(states[index].frames) if f.kind not in BRACKETS)
        if block.start in around:
            names[leaf.text] = None
    return tuple(names)
