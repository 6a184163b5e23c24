"""Where settings come from: the command line, the environment, two files. Reads, judges nothing.

Two files count: the nearest `redraft.toml` upward from the working directory, and below it the
user's own in `$XDG_CONFIG_HOME/redraft/`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from redraft.config.settings import NAMES
from redraft.errors import InputError, UsageError
from redraft.regular import open_regular

FILE_NAME = "redraft.toml"
PREFIX = "REDRAFT_"
PROJECT_MARKS = (FILE_NAME, ".git", ".hg", "pyproject.toml", "package.json", "go.mod", "Cargo.toml")
LARGEST_FILE = 1 << 18
"""Bytes of a settings file that are read at most."""
MOST_DOTS = 500
"""In a line: the parser's time grows with the square of the dots of a key."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One source of settings and what it says."""

    kind: Literal["flag", "variable", "file", "code"]
    values: Mapping[str, object]
    file: Path | None = None

    def origin(self, name: str) -> str:
        """Where exactly this layer says `name`: a flag, a variable or a file."""
        if self.kind == "flag":
            return "--" + name.replace("_", "-")
        return PREFIX + name.upper() if self.kind == "variable" else shown_path(self.file)

    def naming(self, name: str) -> str:
        """How a message about `name` in this layer begins."""
        if self.kind == "code":
            return name
        if self.kind == "variable":
            return f"environment variable {self.origin(name)}"
        return f"{self.origin(name)}: {name}" if self.kind == "file" else self.origin(name)


def read_variables() -> Layer:
    """Every `REDRAFT_*` variable that is not empty, but for REDRAFT_HOME."""
    values = {
        variable.removeprefix(PREFIX).lower(): value
        for variable, value in os.environ.items()
        if variable.startswith(PREFIX) and value and variable != PREFIX + "HOME"
    }
    return Layer("variable", values)


def find_files(start: Path | None) -> list[Path]:
    """The settings files that exist, the one that counts more first; whether they can be read is
    found out by reading, so that none is passed over in silence. `start` None: the working
    directory. Raises InputError when that no longer exists."""
    upward = (place / FILE_NAME for place in _upward(start))
    candidates = [next((path for path in upward if os.path.lexists(path)), None), _user_file()]
    found = [path for path in candidates if path is not None and os.path.lexists(path)]
    return list(dict.fromkeys(found))


def find_project(start: Path | None) -> Path | None:
    """The nearest folder upward that is a project's root: it holds one of `PROJECT_MARKS`."""
    for place in _upward(start):
        if any(os.path.lexists(place / mark) for mark in PROJECT_MARKS):
            return place
    return None


def read_file(path: Path) -> Layer:
    """A settings file. Raises InputError when it cannot be read, UsageError when it is no TOML."""
    place = shown_path(path)
    try:
        with open_regular(path) as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"{place} cannot be read: {error.strerror}; mend or remove it") from None
    if len(data) > LARGEST_FILE:
        raise UsageError(f"{place} is longer than {LARGEST_FILE:,} bytes; settings are a few lines")
    if any(line.count(b".") > MOST_DOTS for line in data.splitlines()):
        raise UsageError(f"{place} is nested too deeply; settings are plain keys")
    try:
        return Layer("file", tomllib.loads(data.decode("utf-8-sig")), path)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{place} is not UTF-8 (line {line}); save it as UTF-8") from None
    except RecursionError:
        raise UsageError(f"{place} is nested too deeply; settings are plain keys") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{place} is no valid TOML: {one_line(str(error))}") from None
    except ValueError:  # Python's own, whose advice is for programmers
        raise UsageError(f"{place} has a number of thousands of digits; shorten it") from None


def unknown_names(layer: Layer) -> list[str]:
    """What the layer says that is no setting."""
    return [name for name in layer.values if name not in NAMES]


def one_line(text: str) -> str:
    """Text fit for the middle of a message."""
    line = " ".join(text.split())
    line = line if line.isprintable() else ascii(line)[1:-1]
    return line if len(line) <= 160 else line[:157] + "…"


def shown_path(path: Path | None) -> str:
    """A path as it stands in a message: on one line whatever its name contains."""
    text = str(path)
    return text if text.isprintable() else ascii(text)


def _upward(start: Path | None) -> tuple[Path, ...]:
    """The folder and those above it. Raises InputError when the working directory is gone."""
    try:
        folder = (start or Path.cwd()).absolute()
    except FileNotFoundError:
        raise InputError("the working directory does not exist any more; go to another") from None
    return (folder, *folder.parents)


def _user_file() -> Path | None:
    config = os.environ.get("XDG_CONFIG_HOME")
    try:
        return (Path(config) if config else Path.home() / ".config") / "redraft" / FILE_NAME
    except RuntimeError:  # a user without a home folder has no file of their own
        return None
