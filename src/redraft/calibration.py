"""What is measured once per weights, engine, threads and machine: numerics and cost curve.

Kept as one small JSON file per combination; a damaged or outdated one is measured again. It does
not know settings: the caller says where and for what.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from redraft.cost import measure_cost
from redraft.errors import InputError
from redraft.files import write_atomically
from redraft.invariance import CANDIDATES, Invariance, measure_invariance
from redraft.protocols import MAX_ROWS, Engine, Progress

VERSION = 2


@dataclass(frozen=True, slots=True)
class Calibration:
    """One measurement."""

    invariance: Invariance
    seconds_by_rows: dict[int, float]


@dataclass(frozen=True, slots=True)
class CalibrationKey:
    """What a measurement holds for."""

    engine: str
    """Name and version."""
    weights: Path
    threads: int

    def describe(self) -> dict[str, str | int]:
        """The key as it is stored: the file by size and time, the processor by its name."""
        status = self.weights.stat()
        return {
            "version": VERSION,
            "engine": self.engine,
            "weights": self.weights.name,
            "weights_bytes": status.st_size,
            "weights_mtime_ns": status.st_mtime_ns,
            "threads": self.threads,
            "processor": processor_name(),
        }


def calibrate(engine: Engine, progress: Progress = lambda share: None) -> Calibration:
    """Measure an engine: about five seconds with 1.5B weights on two cores. `progress` gets the
    share that is done."""
    invariance = measure_invariance(engine, progress=lambda share: progress(0.4 * share))
    sequence = engine.open_sequence()
    try:
        curve = measure_cost(
            sequence, engine.vocab_size, progress=lambda share: progress(0.4 + 0.6 * share)
        )
        return Calibration(invariance, curve)
    finally:
        sequence.close()


@dataclass(frozen=True, slots=True)
class CalibrationStore:
    """Where the measurement for a key is kept."""

    directory: Path
    key: CalibrationKey

    def load(self) -> Calibration | None:
        """The stored measurement, or None where there is none that can be used.

        A file that was damaged, if by one bit, is no measurement: exactness rests on it.
        """
        description = self.key.describe()
        try:
            stored = json.loads(self._path(description).read_text("utf-8"))
            content = stored["content"]
            if stored["sha256"] != _checksum(content) or content["key"] != description:
                return None
            return _parse(content)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None  # absent or damaged: measuring again costs five seconds and repairs it

    def store(self, calibration: Calibration) -> None:
        """Keep a measurement. Raises InputError where the directory cannot be written."""
        description = self.key.describe()
        content: dict[str, Any] = {
            "key": description,
            "invariant_from": calibration.invariance.invariant_from,
            "mismatch_rate": calibration.invariance.mismatch_rate,
            "seconds_by_rows": {str(k): v for k, v in calibration.seconds_by_rows.items()},
        }
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.directory} cannot be made: {error.strerror}") from None
        stored = {"sha256": _checksum(content), "content": content}
        write_atomically(self._path(description), json.dumps(stored, indent=1).encode())

    def stored_at(self) -> datetime | None:
        """When the stored measurement was made, in local time; None where there is none."""
        try:
            written = self._path(self.key.describe()).stat().st_mtime
        except OSError:
            return None
        return datetime.fromtimestamp(written).astimezone()

    def forget(self) -> None:
        """Have it measured again next time; where that cannot be, the old one serves again."""
        with suppress(OSError):
            self._path(self.key.describe()).unlink()

    def _path(self, description: dict[str, str | int]) -> Path:
        digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()
        return self.directory / f"{digest[:16]}.json"


def _parse(content: dict[str, Any]) -> Calibration:
    """Raises ValueError, TypeError or KeyError for what this module would not have stored."""
    smallest, rate = content["invariant_from"], content["mismatch_rate"]
    if smallest not in (None, *CANDIDATES) or isinstance(smallest, bool):
        raise ValueError(f"{smallest!r} was never measured")
    seconds = {int(rows): float(took) for rows, took in content["seconds_by_rows"].items()}
    if not seconds or not all(1 <= rows <= MAX_ROWS for rows in seconds):
        raise ValueError("rows out of range")
    if not all(0 < took < math.inf for took in seconds.values()) or not 0 <= rate <= 1:
        raise ValueError("values out of range")
    return Calibration(Invariance(smallest, float(rate)), seconds)


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def processor_name() -> str:
    """The processor's model name, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    kept = ("model name", "cpu family", "model\t", "stepping")
    return " / ".join(dict.fromkeys(line for line in lines if line.startswith(kept)))
