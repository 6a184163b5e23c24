"""The control experiment: what the gate gains, and how much of that is syntax's doing.

Three gates are trained on the same traces: with syntax, with the kinds of nodes shuffled among
tokens, and without syntax. Each task is replayed by gates that were trained on other tasks only.
Shuffled kinds are shuffled in training too: a gate that learned from true kinds would be misled by
false ones, and lose more than what kinds are worth. The difference is printed whatever its sign.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from redraft.bench.gate.examples import Examples, gather_all
from redraft.bench.gate.training import FOLDS, fit, fold_of
from redraft.bench.replay.run import Replayer, ReplayPlan
from redraft.bench.rows import TaskRow
from redraft.errors import InputError
from redraft.protocols import SyntaxPlace, SyntaxView, Tokenizer
from redraft.schedule.survival_model import Weights

RESAMPLED = 2000


@dataclass(frozen=True, slots=True)
class ShuffledPlace:
    """A place with another one's kind."""

    kind: str
    depth: int
    definition: str
    token_class: str
    region: str


class ShuffledKinds:
    """A view whose kinds are drawn at random from those it has seen, by their frequency."""

    def __init__(self, view: SyntaxView, seed: str) -> None:
        self._view = view
        self._random = Random(seed)
        self._kinds: list[str] = []

    def place(self, after: tuple[int, ...] = ()) -> SyntaxPlace | None:
        """The place with a kind that says nothing."""
        found = self._view.place(after)
        if found is None:
            return None
        self._kinds.append(found.kind)
        kind = self._random.choice(self._kinds)
        return ShuffledPlace(kind, found.depth, found.definition, found.token_class, found.region)


@dataclass(frozen=True, slots=True)
class Difference:
    """One gate against another: by how much it is faster, over all tasks."""

    name: str
    change: float
    """Speedup of the one ÷ that of the other - 1."""
    low: float
    high: float
    """Between them lie 95 % of the changes over tasks drawn again with replacement."""


def compare(
    name: str, one: Sequence[TaskRow], other: Sequence[TaskRow], seed: int = 0
) -> Difference:
    """`one` against `other`, rows of the same tasks in the same order."""
    ours, theirs = (np.array([_seconds(row) for row in rows]) for rows in (one, other))
    drawn = np.random.default_rng(seed).integers(0, len(ours), (RESAMPLED, len(ours)))
    changes = theirs[drawn].sum(axis=1) / ours[drawn].sum(axis=1) - 1.0
    low, high = np.quantile(changes, (0.025, 0.975)).tolist()
    return Difference(name, float(theirs.sum() / ours.sum() - 1.0), low, high)


def _seconds(row: TaskRow) -> float:
    assert row.timings is not None  # of a replay, all have
    return row.timings.drafted[0]


class CrossValidation:
    """Replays each trace by a gate that was trained on the traces of other folds."""

    def __init__(self, plan: ReplayPlan, tokenizer: Tokenizer) -> None:
        if len({fold_of(trace.task) for trace in plan.traces}) < 2:
            raise InputError("the traces are too few to train on some and test on others")
        self._plan = plan
        self._tokenizer = tokenizer

    def rows(self, done: Callable[[], None] = lambda: None) -> list[TaskRow]:
        """A row per trace, in the plan's order. `done` is called after each."""
        replayer = Replayer(self._plan, self._tokenizer)
        examples = gather_all(replayer, self._plan.traces)
        rows: dict[str, TaskRow] = {}
        for fold in range(FOLDS):
            inside = tuple(one for one in self._plan.traces if fold_of(one.task) == fold)
            if inside:
                weights = _outside(examples, fold)
                part = replace(self._plan, traces=inside, weights=weights)
                for row in Replayer(part, self._tokenizer).rows("gate", done):
                    rows[row.name] = row
        return [rows[trace.task] for trace in self._plan.traces]


def _outside(examples: Sequence[Examples], fold: int) -> Weights:
    return fit([one for one in examples if fold_of(one.task) != fold])
