"""Learns the gate's weights and measures them: logistic regression, split by task.

Fitted by Newton's method with a ridge penalty, which has one solution, so that the same examples
give the same weights. It does not know how examples came about.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft.bench.gate.examples import Examples
from redraft.errors import InputError
from redraft.schedule.features import FIELDS, NUMERIC, Features
from redraft.schedule.survival_model import SurvivalModel, Weights, drafter_odds

RIDGE = 30.0
"""Penalty on half the squared weights, in examples; categories seldom seen stay near 0."""
LEAST_SEEN = 20
"""Examples that a category needs for a weight."""
FOLDS = 5
_ROUNDS = 25
_BINS = 15


@dataclass(frozen=True, slots=True)
class Quality:
    """How good estimates are, on tokens of tasks that they were not learned from."""

    log_loss: float
    """Mean of -log of the probability given to what happened."""
    calibration_error: float
    """|mean estimate - share accepted|, averaged over 15 bins of equally many tokens."""


def fold_of(task: str) -> int:
    """The part of the tasks that a task is in, the same for good: 0 … FOLDS - 1."""
    return int(hashlib.sha256(task.encode("utf-8", "replace")).hexdigest(), 16) % FOLDS


def split(examples: Sequence[Examples], fold: int) -> tuple[list[Examples], list[Examples]]:
    """Those outside a fold, to learn from, and those in it. Raises InputError where either is
    empty."""
    outside = [one for one in examples if fold_of(one.task) != fold]
    inside = [one for one in examples if fold_of(one.task) == fold]
    if not outside or not inside:
        raise InputError(
            f"{len(examples)} tasks are too few to learn from some and test on others; record more"
        )
    return outside, inside


def fit(examples: Sequence[Examples], card: dict[str, Any] | None = None) -> Weights:
    """The weights that explain these examples best, short of the penalty."""
    numeric = np.concatenate([one.features.numeric for one in examples])
    categories = [names for one in examples for names in one.features.categories]
    accepted = np.concatenate([one.accepted for one in examples])
    counted = Counter(name for names in categories for name in names)
    known = sorted(name for name, count in counted.items() if count >= LEAST_SEEN)
    active = SurvivalModel(Weights((0.0,) * len(NUMERIC), dict.fromkeys(known, 0.0), {})).active(
        Features(numeric, tuple(categories))
    )
    design = np.zeros((len(numeric), len(NUMERIC) + len(known) + 1))
    design[:, : len(NUMERIC)] = numeric
    for field in range(len(FIELDS)):
        design[np.arange(len(design)), len(NUMERIC) + active[:, field]] = 1.0
    weights = _newton(
        design[:, :-1], drafter_odds(numeric), accepted
    )  # without the column of unknown categories
    return Weights(
        tuple(weights[: len(NUMERIC)].tolist()),
        dict(zip(known, weights[len(NUMERIC) :].tolist(), strict=True)),
        card or {},
    )


def _newton(
    design: NDArray[np.float64], odds: NDArray[np.float64], accepted: NDArray[np.float64]
) -> NDArray[np.float64]:
    """argmin over corrections of `odds` of log-loss and penalty, [columns of `design`]."""
    weights = np.zeros(design.shape[1])
    penalty = RIDGE * np.eye(design.shape[1])
    for _ in range(_ROUNDS):
        survival = 1.0 / (1.0 + np.exp(-np.clip(odds + design @ weights, -30, 30)))
        gradient = design.T @ (accepted - survival) - RIDGE * weights
        curvature = (design.T * np.maximum(survival * (1 - survival), 1e-6)) @ design + penalty
        step = np.linalg.solve(curvature, gradient)
        weights += step
        if np.abs(step).max() < 1e-6:
            break
    return weights


def quality(estimates: NDArray[np.float64], accepted: NDArray[np.float64]) -> Quality:
    """Of estimates for judged tokens, both [tokens]; there is at least one."""
    inside = np.clip(estimates, 1e-4, 1 - 1e-4)
    loss = -np.where(accepted > 0, np.log(inside), np.log(1 - inside)).mean()
    order = np.argsort(estimates, kind="stable")
    bins = [part for part in np.array_split(order, _BINS) if len(part)]
    error = sum(
        len(part) * abs(float(estimates[part].mean() - accepted[part].mean())) for part in bins
    )
    return Quality(float(loss), error / len(estimates))


def online(weights: Weights, examples: Sequence[Examples]) -> NDArray[np.float64]:
    """Estimates for all tokens, task by task, by a model that learns as it goes, as in use:
    each task begins with the weights as they are."""
    estimates = []
    for one in examples:
        model = SurvivalModel(weights)
        for start in range(0, len(one.accepted), 8):
            part = Features(
                one.features.numeric[start : start + 8], one.features.categories[start : start + 8]
            )
            estimates.append(model.survival(part))
            model.learn(part, one.accepted[start : start + 8])
    return np.concatenate(estimates)


def still(weights: Weights, examples: Sequence[Examples]) -> NDArray[np.float64]:
    """Estimates for all tokens by the weights as they are."""
    model = SurvivalModel(weights)
    return np.concatenate([model.survival(one.features) for one in examples])
