"""What is measured once per weights, engine, threads and machine: numerics and cost curve.

Kept as one small JSON file per combination; a damaged or outdated one is measured again. It does
not know settings: the caller says where and for what.
"""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import dataclass
from pathlib import Path

from redraft.cost import measure_cost
from redraft.errors import InputError
from redraft.files import write_atomically
from redraft.invariance import Invariance, measure_invariance
from redraft.protocols import Engine

VERSION = 1


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


def calibrate(engine: Engine) -> Calibration:
    """Measure an engine: about five seconds with 1.5B weights on two cores."""
    invariance = measure_invariance(engine)
    sequence = engine.open_sequence()
    try:
        return Calibration(invariance, measure_cost(sequence, engine.vocab_size))
    finally:
        sequence.close()


def load_calibration(directory: Path, key: CalibrationKey) -> Calibration | None:
    """The stored measurement for `key`, or None where there is none that can be used."""
    description = key.describe()
    try:
        stored = json.loads(_path(directory, description).read_text("utf-8"))
        if stored["key"] != description:
            return None
        invariance = Invariance(stored["invariant_from"], float(stored["mismatch_rate"]))
        seconds = {int(rows): float(value) for rows, value in stored["seconds_by_rows"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # absent or damaged: measuring again costs five seconds and repairs it
    sound = bool(seconds) and min(seconds) >= 1 and min(seconds.values()) > 0
    return Calibration(invariance, seconds) if sound else None


def store_calibration(directory: Path, key: CalibrationKey, calibration: Calibration) -> None:
    """Keep a measurement. Raises InputError where the directory cannot be written."""
    description = key.describe()
    content = {
        "key": description,
        "invariant_from": calibration.invariance.invariant_from,
        "mismatch_rate": calibration.invariance.mismatch_rate,
        "seconds_by_rows": calibration.seconds_by_rows,
    }
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{directory} cannot be made: {error.strerror}") from None
    write_atomically(_path(directory, description), json.dumps(content, indent=1).encode())


def processor_name() -> str:
    """The processor's model name, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    kept = ("model name", "cpu family", "model\t", "stepping")
    return " / ".join(dict.fromkeys(line for line in lines if line.startswith(kept)))


def _path(directory: Path, description: dict[str, str | int]) -> Path:
    digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()
    return directory / f"{digest[:16]}.json"
