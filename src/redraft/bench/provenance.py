"""Where a figure comes from: code, machine, weights, settings. Holds no path and no host name."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import redraft
from redraft.bench.corpus import CorpusFacts
from redraft.calibration import processor_name
from redraft.config import Settings
from redraft.cores import available_cores
from redraft.engines import identity
from redraft.errors import InputError
from redraft.loading import Loaded
from redraft.models.checksum import sha256_of
from redraft.session import Session

VERSION = 1
"""Of the JSON's form; a reader refuses others."""
_GIT_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Code:
    """The code that ran."""

    commit: str
    """Git's id with `-dirty` behind it where the work tree differed; the version without git."""
    source_sha256: str
    """Of the package's Python files, which tells two dirty trees apart."""


def origin(session: Session, corpus: CorpusFacts | None) -> dict[str, Any]:
    """What a result is of, for its JSON. Raises InputError where the weights cannot be read."""
    loaded, settings, found = session.loaded, session.settings, code()
    calibration = loaded.calibration
    return {
        "version": VERSION,
        "commit": found.commit,
        "source_sha256": found.source_sha256,
        "machine": machine(settings.threads),
        "versions": versions(loaded.engine_name),
        "weights": loaded.metadata.name,
        "weights_sha256": weights_sha256(loaded),
        "policy": settings.policy,
        "drafters": list(settings.drafters),
        "settings": settings_record(settings),
        "corpus": asdict(corpus) if corpus else None,
        "cost_curve": {str(rows): value for rows, value in calibration.seconds_by_rows.items()},
        "invariant_from": calibration.invariance.invariant_from,
    }


def code() -> Code:
    """The code of this process, as it is on disk now."""
    package = Path(redraft.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package)}\0".encode())
        digest.update(path.read_bytes() + b"\0")
    return Code(_commit(package), digest.hexdigest())


def _commit(package: Path) -> str:
    root = package.parent.parent
    # an installed package may lie inside somebody else's repository
    if _git(root, "rev-parse", "--show-prefix") != "" or package.parent.name != "src":
        return f"redraft {version('redraft')}"
    commit = _git(root, "rev-parse", "HEAD")
    changes = _git(root, "status", "--porcelain")
    if commit is None or changes is None:
        return f"redraft {version('redraft')}"
    return commit + ("-dirty" if changes else "")


def _git(folder: Path, *arguments: str) -> str | None:
    """What git says, or None where there is no git or no repository."""
    try:
        run = subprocess.run(
            ["git", *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return run.stdout.strip() if run.returncode == 0 else None


def machine(threads: int) -> dict[str, object]:
    """The hardware and system, as far as they change a figure."""
    return {
        "processor": _processor(),
        "cores": available_cores(),
        "threads": threads,
        "memory_gb": _memory_gb(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def moment() -> dict[str, object]:
    """Time, load of the machine and memory held so far, as they are now."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average": load_average(),
        "peak_memory_bytes": peak_memory_bytes(),
    }


def load_average() -> float | None:
    """Programs that wanted a core, averaged over the last minute."""
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:  # not told on this system
        return None


def peak_memory_bytes() -> int | None:
    """Most memory this process held so far, where the system tells."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if platform.system() == "Darwin" else peak * 1024


def _processor() -> str:
    parts = processor_name().split(" / ")
    named = next((part for part in parts if part.startswith("model name")), parts[0])
    return named.partition(":")[2].strip() or named


def _memory_gb() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError, AttributeError):  # not told on this system
        return None


def versions(engine: str) -> dict[str, str]:
    """redraft, the engine, and what computes beside it."""
    return {
        "redraft": redraft.__version__,
        "engine": identity(engine),
        "numpy": version("numpy"),
    }


def weights_sha256(loaded: Loaded) -> str | None:
    """The weights file's checksum, read where it is not known yet; None for the fake engine."""
    if loaded.sha256 is not None or loaded.path is None:
        return loaded.sha256
    try:
        return sha256_of(loaded.path)
    except OSError as error:
        raise InputError(f"{loaded.path} cannot be read: {error.strerror}") from None


def settings_record(settings: Settings) -> dict[str, object]:
    """The settings that change a figure, without anything that names a place on this machine."""
    work = ("engine", "context", "threads", "policy", "drafters", "numerics")
    sampling = ("temperature", "top_p", "top_k", "min_p", "seed", "max_tokens")
    record: dict[str, object] = {name: getattr(settings, name) for name in (*work, *sampling)}
    record["drafters"] = list(settings.drafters)
    record["model"] = Path(settings.model).name
    if "model" in settings.drafters:
        record["small_model"] = Path(settings.small_model).name
    return record
