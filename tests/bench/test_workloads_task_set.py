"""The sample, the hash and the unchanged share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.bench.workloads.task_set import sample, tasks_sha256, unchanged_share

tokens = st.lists(st.integers(0, 5), max_size=30)


@dataclass(frozen=True)
class Plain:
    name: str
    kind: str
    text: str = ""

    @property
    def identity(self) -> tuple[str, ...]:
        return (self.name, self.text)


TASKS = [Plain(f"{kind}{number}", kind) for kind in "abc" for number in range(9)] + [
    Plain("d", "d")
]
FIXED = ["a1", "a2", "b3", "b5", "c0", "c2", "c5"]
HASH = "21c2a43c69655272991a83435eea642511e38fc76e2935c472ab85812fb5005b"


def test_the_sample_is_fixed() -> None:
    assert [task.name for task in sample(TASKS, 7, 1)] == FIXED
    assert sample(TASKS, 7, 1) == sample(TASKS, 7, 1)
    assert sample(list(reversed(TASKS)), 7, 1) == tuple(reversed(sample(TASKS, 7, 1)))
    assert len({sample(TASKS, 7, seed) for seed in range(20)}) > 10


@given(st.integers(1, 40), st.integers(0, 2**32))
def test_every_kind_is_there_in_proportion_to_its_size(count: int, seed: int) -> None:
    chosen = sample(TASKS, count, seed)
    assert len(chosen) == len(set(chosen)) == min(count, len(TASKS))
    assert [task for task in TASKS if task in chosen] == list(chosen)
    found = Counter(task.kind for task in chosen)
    sizes = Counter(task.kind for task in TASKS)
    for kind, size in sizes.items():
        assert abs(found[kind] - min(count, len(TASKS)) * size / len(TASKS)) <= 1


@given(st.integers(1, 27), st.integers(0, 99))
def test_a_larger_sample_holds_the_smaller(count: int, seed: int) -> None:
    assert set(sample(TASKS, count, seed)) < set(sample(TASKS, count + 1, seed))


def test_an_empty_sample_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        sample(TASKS, 0, 0)


def test_the_hash_is_stable_and_sees_every_text() -> None:
    tasks = [Plain("b", "x", "two\n"), Plain("a", "y", "ein wörd")]
    assert tasks_sha256(tasks) == HASH
    assert tasks_sha256(tasks[::-1]) == tasks_sha256(tasks)
    assert tasks_sha256([Plain("b", "x", "two"), tasks[1]]) != tasks_sha256(tasks)
    assert tasks_sha256(tasks[:1]) != tasks_sha256(tasks)


@given(tokens, tokens)
def test_the_share_is_the_longest_common_subsequence(source: list[int], output: list[int]) -> None:
    table = [[0] * (len(output) + 1) for _ in range(len(source) + 1)]
    for i, left in enumerate(source):
        for j, right in enumerate(output):
            diagonal = table[i][j] + (left == right)
            table[i + 1][j + 1] = max(diagonal, table[i][j + 1], table[i + 1][j])
    expected = table[-1][-1] / len(output) if output else 1.0
    assert unchanged_share(source, output) == pytest.approx(expected)


def test_deletions_do_not_lower_the_share_and_insertions_do() -> None:
    assert unchanged_share([1, 2, 3, 4], [1, 4]) == 1.0
    assert unchanged_share([1, 4], [1, 2, 3, 4]) == 0.5
    assert unchanged_share([], [1]) == 0.0
    assert unchanged_share([1], []) == 1.0
