"""Samplers against a plain reference, their purity, their distribution and their refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from amount import thorough
from redraft.errors import UsageError
from redraft.protocols import Logits
from redraft.sampling import make_sampler

rows = arrays(np.float32, st.integers(1, 40), elements=st.floats(-20, 20, width=32))
"""Ties and near ties included: values are often simple."""
few_values = arrays(np.float32, st.integers(1, 20), elements=st.sampled_from([0.0, 1.0, 2.0, -5.0]))
seeds = st.integers(0, 2**64 - 1)


def log_softmax(row: Logits) -> list[float]:
    values = [float(value) for value in row]
    top = max(values)
    total = top + math.log(math.fsum(math.exp(value - top) for value in values))
    return [value - total for value in values]


def kept(row: Logits, top_p: float, top_k: int, min_p: float) -> set[int]:
    """Which tokens may be drawn, as the docstring says, without any of the shortcuts."""
    order = sorted(range(len(row)), key=lambda token: (-row[token], token))
    if top_k:
        order = order[:top_k]
    weights = [math.exp(float(row[token]) - float(row[order[0]])) for token in order]
    if top_p < 1.0:
        total, mass, count = math.fsum(weights), 0.0, 0
        while count < len(order) and mass <= top_p:
            mass += weights[count] / total
            count += 1
        order, weights = order[:count], weights[:count]
    return {t for t, w in zip(order, weights, strict=True) if w >= min_p}


@given(st.one_of(rows, few_values), st.integers(0, 50))
def test_greedy_takes_the_lowest_of_the_best(row: Logits, before: int) -> None:
    choice = make_sampler()(row, [0] * before)
    assert choice.token == min(range(len(row)), key=lambda token: (-row[token], token))
    assert choice.logprob == pytest.approx(log_softmax(row)[choice.token], abs=1e-4)
    assert choice.top == ()


@given(
    st.one_of(rows, few_values),
    st.sampled_from([1.0, 0.99, 0.9, 0.5, 0.01]),
    st.integers(0, 45),
    st.sampled_from([0.0, 0.05, 0.5, 1.0]),
    st.sampled_from([0.1, 0.8, 1.0, 3.0]),
    seeds,
)
def test_only_what_the_truncations_leave_is_drawn(
    row: Logits, top_p: float, top_k: int, min_p: float, temperature: float, seed: int
) -> None:
    sample = make_sampler(temperature, top_p, top_k, min_p, seed)
    # sums in another order may differ in the last bits just where the mass is reached
    allowed = kept(row, top_p, top_k, min_p * (1 - 1e-6)) | kept(row, top_p + 1e-6, top_k, min_p)
    for before in range(8):
        choice = sample(row, [0] * before)
        assert choice.token in allowed
        assert choice.logprob == pytest.approx(log_softmax(row)[choice.token], abs=1e-4)


@given(st.one_of(rows, few_values), seeds)
def test_pure(row: Logits, seed: int) -> None:
    """The same arguments give the same choice, whatever was asked before, from any sampler."""
    settings: dict[str, Any] = {"temperature": 0.8, "top_p": 0.9, "seed": seed, "top": 3}
    original = row.copy()
    one, other = make_sampler(**settings), make_sampler(**settings)
    forward = [one(row, [0] * before) for before in range(6)]
    backward = [other(row, [1] * before) for before in reversed(range(6))]
    assert forward == backward[::-1]
    assert np.array_equal(row, original)


@given(rows, st.integers(0, 100))
def test_alternatives_are_the_best_in_order(row: Logits, count: int) -> None:
    for temperature in (0.0, 1.0):
        top = make_sampler(temperature, top=count)(row, []).top
        expected = sorted(range(len(row)), key=lambda token: (-row[token], token))[:count]
        assert sorted(row[[token for token, _ in top]]) == sorted(row[expected])
        assert [token for token, _ in top] == sorted(
            (token for token, _ in top), key=lambda token: (-row[token], token)
        )
        for token, logprob in top:
            assert logprob == pytest.approx(log_softmax(row)[token], abs=1e-4)


@pytest.mark.parametrize(
    ("temperature", "settings"),
    [
        (1.0, {}),
        pytest.param(0.5, {}, marks=thorough),
        pytest.param(2.0, {}, marks=thorough),
        pytest.param(1.0, {"top_k": 3}, marks=thorough),
        (0.7, {"top_p": 0.8, "min_p": 0.1}),
    ],
)
def test_drawn_as_often_as_the_distribution_says(
    temperature: float, settings: dict[str, Any]
) -> None:
    """Chi-square over 4,000 positions and over 4,000 seeds, at one in a million for each."""
    row = np.array([1.0, 0.5, 0.0, 2.0, -1.0, 1.5, -3.0], dtype=np.float32)
    allowed = sorted(kept(row, settings.get("top_p", 1.0), settings.get("top_k", 0),
                          settings.get("min_p", 0.0)))  # fmt: skip
    weights = np.exp(row[allowed].astype(float) / temperature)
    expected = 4000 * weights / weights.sum()
    one = make_sampler(temperature, seed=1, **settings)
    by_position = [one(row, range(position)).token for position in range(4000)]
    by_seed = [make_sampler(temperature, seed=s, **settings)(row, [0]).token for s in range(4000)]
    for drawn in (by_position, by_seed):
        counts = np.array([drawn.count(token) for token in allowed])
        assert counts.sum() == 4000
        # 99.9999 % quantiles of chi-square with 1 … 6 degrees of freedom
        limit = [23.9, 27.6, 30.7, 33.4, 35.9, 38.3][len(allowed) - 2]
        assert ((counts - expected) ** 2 / expected).sum() < limit


def test_seeds_indices_and_positions_are_apart() -> None:
    row = np.zeros(50_000, dtype=np.float32)
    edge = [0, 1, 2, 2**31, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]
    streams = {
        tuple(make_sampler(1.0, seed=seed, index=index)(row, [0] * n).token for n in range(3))
        for seed in edge
        for index in (0, 1, 7)
    }
    assert len(streams) == len(edge) * 3
    assert len({make_sampler(1.0)(row, [0] * n).token for n in range(50)}) > 45


def test_cold_is_greedy_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    row = (np.random.default_rng(0).normal(size=5000) * 10).astype(np.float32)
    masked = np.where(np.arange(5000) % 3 == 0, -np.inf, row).astype(np.float32)
    for temperature in (1e-3, 1e-30, 1e-310, 5e-324):
        sample = make_sampler(temperature, seed=3)
        assert sample(row, []).token == row.argmax()
        assert sample(masked, []).token == masked.argmax()
    assert not recwarn.list


@given(rows, seeds)
def test_what_is_masked_is_never_drawn(row: Logits, seed: int) -> None:
    masked = np.append(row, np.float32(0.0))
    masked[: len(row)] = -np.inf
    sample = make_sampler(1.0, 0.9, 5, 0.1, seed)
    assert sample(masked, []).token == len(row)
    assert sample(masked, []).logprob == 0.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1), ("temperature", 101.0), ("temperature", math.nan),
        ("temperature", math.inf), ("top_p", 0.0), ("top_p", 1.01), ("top_p", math.nan),
        ("top_k", -1), ("min_p", -0.1), ("min_p", 1.1), ("min_p", math.nan), ("seed", -1),
        ("seed", 2**64), ("index", -1), ("index", 2**64), ("top", -1), ("top", 101),
    ],
)  # fmt: skip
def test_values_out_of_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=rf"^{name} is .*; it must be "):
        make_sampler(**{name: value})  # type: ignore[arg-type]
