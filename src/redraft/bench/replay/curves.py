"""What a forward costs in a replay: recorded, from a file, or by name from `curves.json`.

Named `flat-…` curves are no measurements but the roofline of a device (Williams, Waterman and
Patterson, 2009): a forward reads all weights once and computes two operations per parameter and
row, and takes as long as the slower of the two. What a real kernel loses is not in it. It does not
know traces but for the curve they bring.
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

from redraft.errors import InputError, UsageError
from redraft.protocols import MAX_ROWS
from redraft.regular import read_regular

RECORDED = "recorded"
"""The name of the curve that each trace brings."""
MOST_ROWS = 4 * MAX_ROWS
_LARGEST_FILE = 256 << 20
"""Bytes of a file with a curve that are read at most; a bench's JSON has some megabytes."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Seconds of a forward by rows."""

    name: str
    source: str
    """Where the figures are from, for the result's JSON."""
    seconds_by_rows: Mapping[int, float]

    def seconds(self, rows: int) -> float:
        """Of a forward of `rows` tokens: interpolated, and proportional beyond the last figure."""
        known = sorted(self.seconds_by_rows)
        if rows > known[-1]:
            return self.seconds_by_rows[known[-1]] * rows / known[-1]
        times = [self.seconds_by_rows[count] for count in known]
        return float(np.interp(rows, known, times))


@dataclass(frozen=True, slots=True)
class Pair:
    """A target and a small model that nobody has here, by their figures."""

    curve: str
    """Name of the target's curve."""
    cost: float
    """Of one token of the small model, in one-row forwards of the target."""
    acceptance: float
    source: str


def find_pair(name: str) -> Pair:
    """A pair by its name in `curves.json`. Raises UsageError with the known ones."""
    pairs = _data()["pairs"]
    if name not in pairs:
        raise UsageError(f"no pair is called {name!r}; known are {', '.join(pairs)}")
    return Pair(**pairs[name])


def find_curve(name: str) -> Curve:
    """The curve of a file or of a known name; RECORDED is none.

    A file is a stored measurement, the JSON of `redraft doctor --json`, or that of a bench. Raises
    InputError for a file without a curve, UsageError for an unknown name.
    """
    named = _named()
    if name in named:
        return named[name]
    path = Path(name)
    if path.suffix != ".json" and not path.exists():
        known = ", ".join((RECORDED, *named))
        raise UsageError(f"no cost curve is called {name!r}; known are {known}, or name a file")
    return _from_file(path)


def _from_file(path: Path) -> Curve:
    try:
        found = _measured_in(orjson.loads(read_regular(path, _LARGEST_FILE)))
        seconds = {int(rows): float(took) for rows, took in found.items()}
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; check the path") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} holds no cost curve ({error})") from None
    if not seconds or min(seconds) < 1 or not all(0 < took < 1e6 for took in seconds.values()):
        raise InputError(f"{path} holds no cost curve: rows and seconds must be positive")
    return Curve(path.name, f"file {path.name}", seconds)


def _measured_in(content: Any) -> Mapping[str, float]:
    """The curve in any JSON of ours that has one. Raises ValueError for others."""
    if isinstance(content, dict):
        for name in ("seconds_by_rows", "cost_curve"):
            if isinstance(content.get(name), dict):
                found: Mapping[str, float] = content[name]
                return found
        for value in content.values():
            if isinstance(value, dict):
                try:
                    return _measured_in(value)
                except ValueError:
                    continue
    raise ValueError("neither seconds_by_rows nor cost_curve is in it")


@cache
def _data() -> Any:
    file = resources.files("redraft.bench.replay").joinpath("curves.json")
    return orjson.loads(file.read_bytes())


@cache
def _named() -> Mapping[str, Curve]:
    data = _data()
    curves = {
        name: _roofline(name, data["devices"][device], data["weights"][weights])
        for name, (device, weights) in data["curves"].items()
    }
    for name, found in data["measured"].items():
        seconds = {int(rows): took / 1000 for rows, took in found["milliseconds"].items()}
        curves[name] = Curve(name, found["source"], seconds)
    return curves


def _roofline(name: str, device: Mapping[str, Any], weights: Mapping[str, Any]) -> Curve:
    reading = weights["bytes"] / device["bytes_per_second"]
    each = 2 * weights["parameters"] / device["operations_per_second"]
    source = f"simulated, roofline of {device['name']}: {device['source']}; {weights['source']}"
    return Curve(name, source, {r: max(reading, r * each) for r in range(1, MOST_ROWS + 1)})
