"""The engines, by name. Each is one module that imports no other engine.

To add one: write classes with the members of `redraft.protocols.Engine`, `Sequence` and
`Tokenizer` and a factory `open(opening) -> Opened`, and enter it in `BUILT_IN` or, from another
package, under the entry point group `redraft.engines`. The conformance suite in
`tests/conformance` then tests it.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import TYPE_CHECKING

from redraft.errors import EngineUnavailable

if TYPE_CHECKING:  # the names of engines are asked for without any numbers
    from redraft.invariance import Invariance
    from redraft.protocols import Engine, Tokenizer


@dataclass(frozen=True, slots=True)
class Opening:
    """How to open weights."""

    path: Path
    context_length: int = 8192
    threads: int = 2
    live_sequences: int = 4
    """Sequences that hold a context at once; others are parked as saved states."""
    invariance: Invariance | None = None
    """As measured before on this machine; measured at first use where it is None."""
    progress: Callable[[float], None] | None = None
    """Gets the loaded share, 0 … 1."""


@dataclass(frozen=True, slots=True)
class Opened:
    """Open weights and their vocabulary."""

    engine: Engine
    tokenizer: Tokenizer


Factory = Callable[[Opening], Opened]


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a built-in engine is, which distribution it needs, and what opens its vocabulary
    without the weights."""

    factory: str
    distribution: str | None = None
    tokenizer: str | None = None


BUILT_IN = {
    "ik": Entry(
        "redraft.engines.ik:open_ik", "ik-llama-cpp-python", "redraft.engines.ik:open_ik_tokenizer"
    ),
    "llamacpp": Entry(
        "redraft.engines.llamacpp:open_llamacpp",
        "llama-cpp-python",
        "redraft.engines.llamacpp:open_llamacpp_tokenizer",
    ),
    "fake": Entry("redraft.engines.fake:open_fake"),
}


def names() -> list[str]:
    """Names of all engines, the built-in ones first."""
    others = [point.name for point in entry_points(group="redraft.engines")]
    return [*BUILT_IN, *(name for name in others if name not in BUILT_IN)]


def default_name() -> str:
    """`ik` where its wheel exists (Linux on x86-64), else `llamacpp`; of the two on such a machine
    the one that is installed."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "llamacpp"
    return next((name for name in ("ik", "llamacpp") if _version(name)), "ik")


def identity(name: str) -> str:
    """Name and version of an engine, which measurements are kept by."""
    if name not in BUILT_IN or BUILT_IN[name].distribution is None:
        return name
    return f"{name} {_version(name) or '(not installed)'}"


def _version(name: str) -> str | None:
    """Version of what a built-in engine needs; None where it is not installed."""
    distribution = BUILT_IN[name].distribution
    assert distribution is not None, "asked of engines that need one only"
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def open_engine(name: str, opening: Opening) -> Opened:
    """Open weights with the engine called `name`.

    Raises EngineUnavailable for an unknown or uninstalled engine, ModelError and EngineError when
    the weights cannot be opened.
    """
    if name in BUILT_IN:
        module, _, function = BUILT_IN[name].factory.partition(":")
        factory: Factory = getattr(import_module(module), function)
        return factory(opening)
    for point in entry_points(group="redraft.engines", name=name):
        loaded: Factory = point.load()
        return loaded(opening)
    raise EngineUnavailable(f"no engine is called {name!r}; known are {', '.join(names())}")


def open_tokenizer(name: str, path: Path) -> Tokenizer:
    """The vocabulary of weights, without loading the weights where the engine allows that.

    Raises what `open_engine` raises.
    """
    entry = BUILT_IN.get(name)
    if entry is None or entry.tokenizer is None:
        return open_engine(name, Opening(path)).tokenizer
    module, _, function = entry.tokenizer.partition(":")
    opened: Tokenizer = getattr(import_module(module), function)(path)
    return opened
