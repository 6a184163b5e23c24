"""Verification by sample and compare."""

from __future__ import annotations

from collections.abc import Sequence as Tokens

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from redraft.protocols import Logits
from redraft.sampling import make_sampler
from redraft.tokens import Choice, Draft
from redraft.verify import verify

VOCABULARY = 4
tokens = st.lists(st.integers(0, VOCABULARY - 1), max_size=6)


def logits_saying(said: Tokens[int]) -> Logits:
    """Rows whose best token is said[i]."""
    return np.eye(VOCABULARY, dtype=np.float32)[list(said)]


def draft_of(drafted: Tokens[int]) -> Draft:
    count = len(drafted)
    return Draft(tuple(drafted), (0.5,) * count, ("d",) * count, (0,) * count)


@given(tokens, st.data())
def test_accepts_the_common_prefix_and_adds_the_targets_own(
    drafted: list[int], data: st.DataObject
) -> None:
    count = len(drafted) + 1
    said = data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    verdict = verify(draft_of(drafted), logits_saying(said), make_sampler(), [9, 9])
    common = 0
    while common < len(drafted) and drafted[common] == said[common]:
        common += 1
    assert verdict.accepted == common
    assert verdict.tokens == tuple(said[: common + 1])
    assert verdict.draft.tokens == tuple(drafted)


@given(tokens, st.integers(0, 2**32))
def test_samples_each_position_with_what_stands_before_it(drafted: list[int], seed: int) -> None:
    """One sampling per committed token, none past the first rejected one, in order."""
    rows = np.random.default_rng(seed).normal(size=(len(drafted) + 1, 4)).astype(np.float32)
    asked: list[tuple[int, ...]] = []
    sample = make_sampler(temperature=1.0, seed=seed)

    def watching(row: Logits, before: Tokens[int]) -> Choice:
        assert np.array_equal(row, rows[len(asked)])
        asked.append(tuple(before))
        return sample(row, before)

    before = [3, 1]
    verdict = verify(draft_of(drafted), rows, watching, before)
    assert before == [3, 1]
    assert len(asked) == len(verdict.choices) == verdict.accepted + 1
    for position, seen in enumerate(asked):
        assert seen == (3, 1, *drafted[:position])
    alone = [sample(rows[i], [3, 1, *drafted[:i]]) for i in range(verdict.accepted + 1)]
    assert verdict.choices == tuple(alone)


def test_an_empty_draft_brings_one_token() -> None:
    verdict = verify(Draft(), logits_saying([2]), make_sampler(), [])
    assert (verdict.accepted, verdict.tokens) == (0, (2,))
