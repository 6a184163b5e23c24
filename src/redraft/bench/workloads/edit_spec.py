"""One row of the table of edit tasks: which definitions, what is asked, how it is checked."""

from __future__ import annotations

from dataclasses import dataclass

from redraft.bench.workloads.checks import Predicate


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault to put into the cut file, for an edit that has to find it by its symptom."""

    function: str
    right: str
    """Text that stands exactly once in the cut file."""
    wrong: str
    also_right: tuple[str, ...] = ()
    """Other texts in its place that mean the same."""


@dataclass(frozen=True, slots=True)
class EditSpec:
    """What an edit task is made from."""

    name: str
    kind: str
    module: str
    """Module of the package, without `.py`."""
    names: tuple[str, ...]
    """Top-level definitions to cut out."""
    instruction: str
    predicates: tuple[Predicate, ...] = ()
    """Empty where a fault says what the right code is."""
    docstrings: bool = True
    """Whether the cut file keeps its docstrings."""
    fault: Fault | None = None
