"""Edit tasks: real files, an instruction, and a check that it was carried out.

The files are cut at run time from one pinned package, so that only names, instructions and checks
stand here. This module joins the table with the sources; it does not know any model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from redraft.bench.workloads.checks import Check, build_check, keeps_rest
from redraft.bench.workloads.code_checks import fixes
from redraft.bench.workloads.cut import cut
from redraft.bench.workloads.edit_spec import EditSpec
from redraft.bench.workloads.edit_table import EDITS
from redraft.bench.workloads.package import EDIT_PACKAGE


@dataclass(frozen=True, slots=True)
class EditTask:
    """One whole-file edit."""

    name: str
    kind: str
    path_in_package: str
    source: str
    """The file before the edit; ends with a newline."""
    instruction: str
    check: Check = field(compare=False, repr=False)
    """`check(output)`: None when carried out, else one line that says why not."""

    @property
    def identity(self) -> tuple[str, ...]:
        """What makes the task what it is, for the hash of a set."""
        return (self.name, self.instruction, self.source)


def edit_tasks(
    sources: Mapping[str, str], specs: Iterable[EditSpec] = EDITS
) -> tuple[EditTask, ...]:
    """The tasks of the table over the sources of `EDIT_PACKAGE`, in the table's order.

    Raises ValueError when the sources do not fit the table (another version of the package).
    """
    return tuple(_build(spec, sources) for spec in specs)


def _build(spec: EditSpec, sources: Mapping[str, str]) -> EditTask:
    path = f"{EDIT_PACKAGE.name}/{spec.module}.py"
    original = cut(sources[path], spec.names, spec.docstrings)
    if spec.fault is None:
        source, predicates = original, spec.predicates
    else:
        fault = spec.fault
        if original.count(fault.right) != 1:
            raise ValueError(f"{spec.name}: not exactly one {fault.right!r} to put a fault in")
        source = original.replace(fault.right, fault.wrong)
        others = [original.replace(fault.right, text) for text in fault.also_right]
        mended = fixes(fault.function, [original, *others])
        predicates = (keeps_rest(touched=(fault.function,)), mended)
    check = build_check(source, predicates)
    return EditTask(spec.name, spec.kind, path, source, spec.instruction, check)
