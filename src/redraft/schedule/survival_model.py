"""The learned survival model: logistic in a token's features, small enough for every step.

It corrects the drafter's own estimate: with all weights 0 it says what the drafter says.

Its weights are a JSON file with a name for each, and a card that says what they were learned from.
It learns on while it is used, by small steps. It does not know where features come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from redraft.errors import InputError
from redraft.regular import read_regular
from redraft.schedule.features import NUMERIC, ODDS_SCALE, Features

VERSION = 1
STEP = 0.02
"""Rate of the online correction: one wrong token moves log-odds by a few hundredths."""
LARGEST = 1e6
"""Of a weight, in log-odds: far beyond what training gives, and no sum of such overflows."""
OWN = "default"
"""Names the weights that are part of the package."""
_DEFAULT = "default_gate.json"
_LARGEST_FILE = 16 << 20
"""Bytes; a weight per category is some hundred kilobytes at most."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What a model is: a weight per numeric feature and per category."""

    numeric: tuple[float, ...]
    categories: Mapping[str, float]
    """Categories that are not in it weigh 0, and go on to do so."""
    card: Mapping[str, Any]
    """What it was learned from, and how well it does on what it was not."""


class SurvivalModel:
    """Probability that a drafted token is accepted given that those before it were."""

    def __init__(self, weights: Weights) -> None:
        self._numeric = np.array(weights.numeric)
        self._index = {name: place for place, name in enumerate(weights.categories)}
        self._weights = np.array([*weights.categories.values(), 0.0])

    def survival(self, features: Features) -> NDArray[np.float64]:
        """Of each token, [tokens]."""
        return self._survival(features.numeric, self.active(features))

    def _survival(
        self, numeric: NDArray[np.float64], active: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        odds = drafter_odds(numeric) + numeric @ self._numeric + self._weights[active].sum(axis=1)
        survival: NDArray[np.float64] = 1.0 / (1.0 + np.exp(-np.clip(odds, -30.0, 30.0)))
        return survival

    def active(self, features: Features) -> NDArray[np.intp]:
        """Places of the tokens' categories among the weights, [tokens, fields]; the last place is
        for unknown ones."""
        index, unknown = self._index, len(self._index)
        return np.array(
            [[index.get(name, unknown) for name in names] for names in features.categories],
            dtype=np.intp,
        )

    def learn(self, features: Features, accepted: NDArray[np.float64]) -> None:
        """A small step of gradient descent on the log-loss of these judged tokens, [tokens]."""
        active = self.active(features)
        step = STEP * (accepted - self._survival(features.numeric, active))
        self._numeric += step @ features.numeric
        np.add.at(self._weights, active, step[:, None])
        self._weights[-1] = 0.0


def drafter_odds(numeric: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-odds of the drafters' own estimates, [tokens], of `Features.numeric`."""
    odds: NDArray[np.float64] = ODDS_SCALE * numeric[:, NUMERIC.index("estimate")]
    return odds


def read_weights(path: Path) -> Weights:
    """Weights from a file that `gate train` wrote. Raises InputError for any other."""
    try:
        return _parsed(orjson.loads(read_regular(path, _LARGEST_FILE)))
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; train one with 'redraft gate train'") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} holds no gate of this version ({error}); train one with 'redraft gate train'"
        ) from None


@cache
def default_weights() -> Weights:
    """Those that are part of the package; see their card."""
    return _parsed(
        orjson.loads(resources.files("redraft.schedule").joinpath(_DEFAULT).read_bytes())
    )


def open_gate(name: str = OWN) -> SurvivalModel:
    """A model that can learn on, with weights from a file or, for OWN, those of the package.
    Raises InputError as `read_weights` does."""
    return SurvivalModel(default_weights() if name == OWN else read_weights(Path(name)))


def weights_json(weights: Weights) -> bytes:
    """The file's content."""
    content = {
        "version": VERSION,
        "card": dict(weights.card),
        "numeric": dict(zip(NUMERIC, weights.numeric, strict=True)),
        "categories": dict(weights.categories),
    }
    return orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n"


def _parsed(content: Mapping[str, Any]) -> Weights:
    """Raises KeyError, TypeError, ValueError or AttributeError for what `weights_json` never
    wrote."""
    version, card = content["version"], content["card"]
    if type(version) is not int or version != VERSION:
        raise ValueError(f"its version is {str(version)[:40]}")
    if not isinstance(card, dict):
        raise TypeError("its card is no object")
    numeric = tuple(_weight(name, content["numeric"][name]) for name in NUMERIC)
    categories = {name: _weight(name, value) for name, value in content["categories"].items()}
    return Weights(numeric, categories, card)


def _weight(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= LARGEST:
        raise ValueError(f"the weight of {name[:40]!r} is no number of a sane size")
    return float(value)
