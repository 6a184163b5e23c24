"""Policies: which drafter drafts how much next.

`none` never drafts, `fixed:k` takes k tokens of the most confident drafter, `cost` takes what pays
by the cost curve. A policy knows drafters by their proposals only, and no engine.
"""

from __future__ import annotations

from time import perf_counter

from redraft.cost import CostCurve
from redraft.errors import UsageError
from redraft.protocols import Clock, Policy
from redraft.schedule.compose import compose, propose
from redraft.schedule.cost import CostPolicy
from redraft.schedule.fixed import FixedPolicy, NonePolicy


def make_policy(
    name: str, curve: CostCurve, fewest: int = 1, clock: Clock = perf_counter
) -> Policy:
    """The policy called `none`, `fixed:k` or `cost`. Raises UsageError for any other name."""
    if name == "none":
        return NonePolicy()
    if name == "cost":
        return CostPolicy(curve, fewest, clock)
    kind, _, count = name.partition(":")
    if kind == "fixed" and count.isdecimal():
        return FixedPolicy(int(count))
    raise UsageError(f"no policy is called {name!r}; known are none, fixed:k (1 … 63) and cost")


__all__ = ["CostPolicy", "FixedPolicy", "NonePolicy", "compose", "make_policy", "propose"]
