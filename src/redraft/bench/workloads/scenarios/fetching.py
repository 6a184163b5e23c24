"""Fetches pinned packages by their registries' own clients, and verifies them by SHA-256.

Packages are data here: nothing is installed, built or run. npm gets `--ignore-scripts`; Python
sources come as pure wheels, since pip runs the build backend of a source distribution to learn its
metadata. Knows command lines; does not know what is inside an archive.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from redraft.bench.workloads.availability import WorkloadMissing
from redraft.bench.workloads.scenarios.pins import SourcePin

DOWNLOAD_SECONDS = 180
"""Longest that a download may take before it counts as failed."""

Runner = Callable[[Sequence[str], Path], "subprocess.CompletedProcess[str]"]
"""Runs a client in a folder, into which it puts the archive."""


def run_client(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """The real thing. Raises OSError without the client, TimeoutExpired."""
    return subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=DOWNLOAD_SECONDS,
        check=False,
    )


def archive_path(pin: SourcePin, cache: Path) -> Path:
    """Where a pin's archive is kept."""
    return cache / "scenarios" / pin.archive


def is_here(pin: SourcePin, cache: Path) -> bool:
    """Whether the archive is in the cache with the pinned checksum."""
    path = archive_path(pin, cache)
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == pin.sha256
    except OSError:
        return False


def fetch(pin: SourcePin, cache: Path, run: Runner = run_client) -> bool:
    """Put the verified archive in place, by rename; False when it was there already.

    Raises WorkloadMissing, with the reason, when the pinned bytes cannot be had.
    """
    if is_here(pin, cache):
        return False
    target = archive_path(pin, cache)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as folder:
            fetched = Path(folder) / pin.archive
            _download(pin, Path(folder), run)
            _verify(pin, fetched)
            fetched.replace(target)
    except OSError as error:
        raise WorkloadMissing(
            f"cannot store {pin.archive} in {target.parent}: {error.strerror}; "
            "set REDRAFT_HOME to a writable directory"
        ) from error
    return True


def _download(pin: SourcePin, folder: Path, run: Runner) -> None:
    command = _command(pin, folder)
    client = "pip" if pin.registry == "pypi" else command[0]
    try:
        done = run(command, folder)
    except FileNotFoundError:
        raise WorkloadMissing(
            f"{pin.language} sources come through {client}, which is not installed here"
        ) from None
    except subprocess.TimeoutExpired:
        raise WorkloadMissing(
            f"{client} did not fetch {pin.archive} within {DOWNLOAD_SECONDS} s; run the command "
            "again when the registry can be reached"
        ) from None
    if done.returncode:
        said = f"{done.stdout}\n{done.stderr}"
        raise WorkloadMissing(f"{client} cannot fetch {pin.archive}: {_reason(pin, said)}")


def _command(pin: SourcePin, folder: Path) -> list[str]:
    if pin.registry == "debian":
        return ["apt-get", "download", f"{pin.name}={pin.version}"]
    if pin.registry == "npm":
        return ["npm", "pack", "--silent", "--ignore-scripts", f"{pin.name}@{pin.version}"]
    requirement = folder / "requirement.txt"
    requirement.write_text(f"{pin.name}=={pin.version} --hash=sha256:{pin.sha256}\n", "utf-8")
    options = ["--quiet", "--disable-pip-version-check", "--no-input", "--timeout=10"]
    options += ["--retries=1", "--no-deps", "--only-binary=:all:", "--require-hashes"]
    options += ["--implementation=py", "--abi=none", "--platform=any", "--python-version=3.11"]
    pip = [sys.executable, "-m", "pip", "download"]
    return [*pip, *options, "--dest=.", f"--requirement={requirement.name}"]


def _reason(pin: SourcePin, said: str) -> str:
    """The one line of a client's complaints that says most, and what to do."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    gone = f"Version '{pin.version}'" in said or "Unable to locate package" in said
    if pin.registry == "debian" and gone:
        return (
            f"Debian serves no version {pin.version} here (removed, another release, or no "
            "'apt-get update' yet)"
        )
    if "DO NOT MATCH THE HASHES" in said:
        return "the index serves other bytes than those pinned by sha256"
    errors = [line for line in lines if line.startswith(("E:", "ERROR", "npm error"))] or lines
    if not errors:
        return "it gave no reason"
    return errors[0].removeprefix("E: ").removeprefix("ERROR: ")


def _verify(pin: SourcePin, fetched: Path) -> None:
    if not fetched.is_file():
        raise WorkloadMissing(f"the client brought no {pin.archive}; the scenarios need that file")
    found = hashlib.sha256(fetched.read_bytes()).hexdigest()
    if found != pin.sha256:
        raise WorkloadMissing(f"{pin.archive} has sha256 {found}, pinned is {pin.sha256}; not used")
