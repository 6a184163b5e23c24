"""Policies: which drafter drafts how much next.

`none` never drafts, `fixed:k` takes k tokens of the most confident drafter, `cost` takes what pays
by the cost curve, `gate` does the same by a learned survival, `seed` and `seed-regions` follow the
published rule. A policy knows drafters by their proposals only, and no engine.
"""

from __future__ import annotations

from time import perf_counter

from redraft.cost import CostCurve
from redraft.errors import UsageError
from redraft.protocols import Clock, Policy, SyntaxView
from redraft.schedule.compose import compose, propose
from redraft.schedule.cost import CostPolicy
from redraft.schedule.fixed import FixedPolicy, NonePolicy
from redraft.schedule.gate import Gate
from redraft.schedule.seed import SeedPolicy, SeedRule
from redraft.schedule.survival_model import (
    SurvivalModel,
    Weights,
    default_weights,
    open_gate,
    read_weights,
)

DEFAULT_RULE = SeedRule()


READ_SYNTAX = frozenset({"gate", "seed", "seed-regions"})
"""Policies that ask where in the code the output is."""


def make_policy(
    name: str,
    curve: CostCurve,
    fewest: int = 1,
    clock: Clock = perf_counter,
    syntax: SyntaxView | None = None,
    rule: SeedRule = DEFAULT_RULE,
    model: SurvivalModel | None = None,
) -> Policy:
    """The policy called `none`, `fixed:k`, `cost`, `gate`, `seed` or `seed-regions`.

    `syntax` is read by the last three. `model` is the gate's, which goes on learning in it; by
    default one of the package's own weights. Raises UsageError for any other name.
    """
    if name == "none":
        return NonePolicy()
    if name == "cost":
        return CostPolicy(curve, fewest, clock)
    if name == "gate":
        gate = Gate(model or open_gate(), syntax)
        return CostPolicy(curve, fewest, clock, gate)
    if name in ("seed", "seed-regions"):
        return SeedPolicy(rule, syntax, regions=name == "seed-regions")
    kind, _, count = name.partition(":")
    if kind == "fixed" and count.isdecimal():
        return FixedPolicy(int(count))
    raise UsageError(
        f"no policy is called {name!r}; known are none, fixed:k (1 … 63), cost, gate, seed and"
        " seed-regions"
    )


__all__ = [
    "READ_SYNTAX",
    "CostPolicy",
    "FixedPolicy",
    "Gate",
    "NonePolicy",
    "SeedPolicy",
    "SeedRule",
    "SurvivalModel",
    "Weights",
    "compose",
    "default_weights",
    "make_policy",
    "open_gate",
    "propose",
    "read_weights",
]
