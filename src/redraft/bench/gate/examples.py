"""Examples for the gate: features of drafted tokens and whether they were accepted, by replay.

The replayed loop reads features by the very code that reads them later, so that none can be
computed from what is not known yet. Drafts are cut at a length and not by what pays, since a model
that only saw what its predecessor chose would not know what that left out.
"""

from __future__ import annotations

from collections.abc import Sequence as Tokens
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from redraft.bench.replay.run import Replayer
from redraft.bench.replay.simulation import simulate
from redraft.bench.traces import Trace
from redraft.protocols import DraftContext, Drafter, SyntaxView
from redraft.schedule.compose import compose
from redraft.schedule.features import FeatureReader, Features
from redraft.tokens import NO_DRAFT, Draft, Step

LENGTHS = (4, 16)
"""Each trace is replayed once for each: many drafts short of their first unsure token, and a few
that go on beyond it."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Judged tokens of one task."""

    task: str
    features: Features
    estimates: NDArray[np.float64]
    """What the drafters said, [tokens]."""
    accepted: NDArray[np.float64]
    """1 or 0, [tokens]."""


class _Gathering:
    """A policy that drafts up to a length and keeps what it saw of the judged tokens."""

    def __init__(self, length: int, syntax: SyntaxView | None) -> None:
        self._length = length
        self._reader = FeatureReader(syntax)
        self._features: Features | None = None
        self.seen: list[tuple[Features, tuple[float, ...], NDArray[np.float64]]] = []

    def start(self, context: DraftContext) -> None:
        """A new generation."""
        self._reader.start(context)

    def choose(self, drafters: Tokens[Drafter], room: int) -> Draft:
        """The composed draft."""
        draft = compose(drafters, min(self._length, room))
        self._features = self._reader.read(draft) if draft else None
        return draft or NO_DRAFT

    def commit(self, step: Step) -> None:
        """Keep features and outcome of the judged tokens; fillers have none."""
        accepted = self._reader.commit(step)
        if self._features is None:
            return
        count = min(len(accepted), len(self._features.categories))
        survival = step.verdict.draft.survival[:count]
        self.seen.append((self._features.first(count), survival, accepted[:count]))


def gather_all(replayer: Replayer, traces: Tokens[Trace]) -> list[Examples]:
    """The examples of each trace that has any: a few short outputs are never drafted."""
    found = [gather(replayer, trace) for trace in traces]
    return [examples for examples in found if examples is not None]


def gather(replayer: Replayer, trace: Trace) -> Examples | None:
    """All examples of a trace; None where nothing was drafted."""
    seen = []
    for length in LENGTHS:
        machine = replayer.machine(trace)
        drafters, syntax = replayer.equipment(trace, machine)
        policy = _Gathering(length, syntax)
        simulate(trace, machine, drafters, policy)
        seen += policy.seen
    if not seen:
        return None
    return Examples(
        trace.task,
        Features(
            np.concatenate([features.numeric for features, _, _ in seen]),
            tuple(names for features, _, _ in seen for names in features.categories),
        ),
        np.array([value for _, survival, _ in seen for value in survival]),
        np.concatenate([accepted for _, _, accepted in seen]),
    )
