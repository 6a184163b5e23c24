"""The drafters, by name. Each is one module that imports no other drafter and no engine.

To add one: write a class with the four members of `redraft.protocols.Drafter` and a factory that
takes `Resources`, and enter it in `BUILT_IN` or, from another package, under the entry point
group `redraft.drafters`. The conformance suite in `tests/conformance` then tests it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from redraft.errors import DrafterFailed, UsageError

if TYPE_CHECKING:  # the names of drafters are asked for without any numbers
    from redraft.protocols import Drafter, Engine, Tokenizer
    from redraft.syntax import Syntax


@dataclass(frozen=True, slots=True)
class Resources:
    """What a drafter may be built from."""

    tokenizer: Tokenizer
    corpus: Path | None = None
    """Directory of the corpus index."""
    small_engine: Engine | None = None
    """Engine with the small model's weights, for the `model` drafter."""
    syntax: Syntax | None = None
    """Where the output is in the code, kept up by the policy; for the `forced` drafter."""


Factory: TypeAlias = "Callable[[Resources], Drafter]"

BUILT_IN = {
    "source": "redraft.drafters.source:SourceDrafter.build",
    "suffix": "redraft.drafters.suffix:SuffixDrafter.build",
    "corpus": "redraft.drafters.corpus.drafter:CorpusDrafter.build",
    "model": "redraft.drafters.model:ModelDrafter.build",
    "forced": "redraft.drafters.forced:ForcedDrafter.build",
}


def names() -> list[str]:
    """Names of all drafters, the built-in ones first."""
    others = [point.name for point in entry_points(group="redraft.drafters")]
    return [*BUILT_IN, *(name for name in others if name not in BUILT_IN)]


def build(name: str, resources: Resources) -> Drafter:
    """The drafter called `name`.

    Raises UsageError with the known names, and DrafterFailed where it cannot be made.
    """
    factory = find(name)
    if name in BUILT_IN:
        return factory(resources)
    from redraft.drafters.foreign import ForeignDrafter
    from redraft.protocols import Drafter

    try:
        drafter = factory(resources)
        is_drafter = isinstance(drafter, Drafter)
    except (Exception, SystemExit) as error:
        raise DrafterFailed(
            f"drafter {name!r} cannot be built: {_told(error)}; leave it out"
        ) from error
    if not is_drafter:
        what = type(drafter).__name__
        raise DrafterFailed(
            f"drafter {name!r} cannot be built: its factory gave {what}, which is no Drafter;"
            " leave it out"
        )
    return ForeignDrafter(name, drafter, resources.tokenizer.vocab_size)


def find(name: str) -> Factory:
    """The factory of the drafter called `name`, loaded; raises as `build` does."""
    if name in BUILT_IN:
        module, _, attributes = BUILT_IN[name].partition(":")
        found: object = import_module(module)
        for attribute in attributes.split("."):
            found = getattr(found, attribute)
        return found  # type: ignore[return-value]  # the table above holds factories only
    for point in entry_points(group="redraft.drafters", name=name):
        try:
            loaded: Factory = point.load()
        except (Exception, SystemExit) as error:
            place = f"drafter {name!r} ({point.value})"
            raise DrafterFailed(f"{place} cannot be loaded: {_told(error)}") from error
        return loaded
    raise UsageError(f"no drafter is called {name!r}; known are {', '.join(names())}")


def _told(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
