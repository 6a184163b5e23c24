"""What every set of tasks needs: a fixed sample, a hash, and the share that an edit leaves.

Knows tasks only by name, kind and identity, and texts only as token ids.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

import numpy as np
import orjson


class Task(Protocol):
    """What a task of any workload tells about itself."""

    @property
    def name(self) -> str:
        """Unique in its set."""
        ...

    @property
    def kind(self) -> str:
        """The stratum it belongs to."""
        ...

    @property
    def identity(self) -> tuple[str, ...]:
        """All text of the task that a model can come to see, the name first."""
        ...


AnyTask = TypeVar("AnyTask", bound=Task)


def sample(tasks: Sequence[AnyTask], count: int, seed: int) -> tuple[AnyTask, ...]:
    """`count` of the tasks in their own order, the same ones for the same seed: random ones of each
    kind, each kind in proportion to its size, so that what is measured on the sample stands for
    the whole. A larger sample holds the smaller. All tasks when there are no more than `count`.

    Raises ValueError when `count` is below 1.
    """
    if count < 1:
        raise ValueError(f"a sample needs at least 1 task, not {count}")
    turns: list[tuple[float, float, str]] = []
    for kind in sorted({task.kind for task in tasks}):
        # one generator a kind: a task added to one kind leaves the order in the others alone
        order = random.Random(f"{seed}/{kind}")
        names = sorted(task.name for task in tasks if task.kind == kind)
        order.shuffle(names)
        turn = order.random()
        # the i-th of n stands for the share around (i + 1/2) ÷ n of its kind
        turns += [((place + 0.5) / len(names), turn, name) for place, name in enumerate(names)]
    chosen = {name for _, _, name in sorted(turns)[:count]}
    return tuple(task for task in tasks if task.name in chosen)


def tasks_sha256(tasks: Iterable[Task]) -> str:
    """Hash of the set: SHA-256 of the identities, ordered by name, as compact JSON."""
    identities = sorted(task.identity for task in tasks)
    return hashlib.sha256(orjson.dumps(identities)).hexdigest()


def unchanged_share(source: Sequence[int], output: Sequence[int]) -> float:
    """Share of the output's tokens that an edit took over from the source: length of the longest
    common subsequence of token ids ÷ tokens of the output (0 … 1; 1 for an empty output).

    What was deleted from the source does not count, since nobody has to write it. Tokens that
    agree by chance (a newline, a comma) count, as they do in any diff. Takes
    len(source) · len(output) steps, in numpy, one row of the table at a time.
    """
    if not output:
        return 1.0
    after = np.asarray(output, dtype=np.int64)
    best = np.zeros(len(after) + 1, dtype=np.int64)
    for token in source:
        # row of the usual table: best[j] is the length for the source so far and output[:j]
        taken = best.copy()
        taken[1:] = np.maximum(best[1:], best[:-1] + (after == token))
        best = np.maximum.accumulate(taken)
    return float(best[-1]) / len(after)
