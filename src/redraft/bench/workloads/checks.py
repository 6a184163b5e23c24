"""Whether an edited file does what its instruction said: predicates over two syntax trees.

Static on purpose: generated code is not run here. A predicate compares the source with the output
and returns None, or one line that says what is wrong. `build_check` joins them for one task; the
output must then also parse, and nothing outside the edit may have changed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redraft.bench.workloads import trees


@dataclass(frozen=True, slots=True)
class Edited:
    """A task's source and what came back for it."""

    source: ast.Module
    output: ast.Module


Predicate = Callable[[Edited], str | None]
Check = Callable[[str], str | None]
"""`check(output)`: None when the instruction was carried out, else one line that says why not."""


def build_check(source: str, predicates: Sequence[Predicate]) -> Check:
    """The check of one task: the output parses and every predicate agrees, in the given order."""
    tree = ast.parse(source)

    def check(output: str) -> str | None:
        try:
            edited = Edited(tree, ast.parse(output))
        except (SyntaxError, ValueError) as error:
            return f"the output does not parse: {error}"
        return next((problem for ask in predicates if (problem := ask(edited))), None)

    return check


def keeps_rest(touched: Sequence[str] = (), added: Sequence[str] = ()) -> Predicate:
    """Definitions not `touched` are as they were (docstrings and annotations aside), top-level
    statements too, what is still used is still imported, and nothing is defined but what was there
    and `added`. A name in either list stands for what is inside it as well; `*` allows any
    addition."""

    def inside(name: str, listed: Sequence[str]) -> bool:
        return any(name == entry or name.startswith(f"{entry}.") for entry in listed)

    def ask(edited: Edited) -> str | None:
        before, after = trees.shells(edited.source), trees.shells(edited.output)
        for name, shell in before.items():
            if not inside(name, touched) and after.get(name) != shell:
                return f"{name} was changed" if name in after else f"{name} is gone"
        for name in after:
            if name not in before and "*" not in added and not inside(name, added):
                return f"{name} was added"
        lost = trees.imported(edited.source) - trees.imported(edited.output)
        if missing := lost & trees.names_read(edited.output):
            return f"the import of {min(missing)} is gone"
        remaining = trees.statements(edited.output)
        if any(shape not in remaining for shape in trees.statements(edited.source)):
            return "a top-level statement was changed"
        return None

    return ask


def same_code(edited: Edited) -> str | None:
    """All code is as it was; only docstrings, comments and annotations may differ."""
    if problem := keeps_rest()(edited):
        return problem
    if list(trees.definitions(edited.source)) != list(trees.definitions(edited.output)):
        return "the definitions are in another order"
    if len(trees.statements(edited.source)) != len(trees.statements(edited.output)):
        return "a top-level statement was added"
    return None


def without(what: str, matches: Callable[[ast.AST], bool], inside: str = "") -> Predicate:
    """No node `matches` in the output, or in the function or class `inside` of it."""

    def ask(edited: Edited) -> str | None:
        place = trees.definitions(edited.output).get(inside) if inside else edited.output
        if place is None:
            return f"{inside} is gone"
        return f"{what} is left" if any(map(matches, ast.walk(place))) else None

    return ask


def contains(
    what: str, matches: Callable[[ast.AST], bool], inside: str, count: int = 1
) -> Predicate:
    """At least `count` nodes match in the function or class `inside` (in the file if empty)."""

    def ask(edited: Edited) -> str | None:
        place = trees.definitions(edited.output).get(inside) if inside else edited.output
        if place is None:
            return f"{inside} is gone"
        found = sum(map(matches, ast.walk(place)))
        return None if found >= count else f"{inside or 'the file'}: {found} of {count} {what}"

    return ask


def imports(name: str) -> Predicate:
    """The output imports the module `name` or something from it."""

    def ask(edited: Edited) -> str | None:
        for node in ast.walk(edited.output):
            if isinstance(node, ast.ImportFrom) and node.module == name:
                return None
            if isinstance(node, ast.Import) and name in [alias.name for alias in node.names]:
                return None
        return f"{name} is not imported"

    return ask


def defines(*names: str) -> Predicate:
    """The output defines all these, by dotted name."""

    def ask(edited: Edited) -> str | None:
        found = trees.definitions(edited.output)
        return next((f"{name} is not defined" for name in names if name not in found), None)

    return ask


def ordered(names: Sequence[str], scope: str = "") -> Predicate:
    """The definitions at top level, or in the class `scope`, are these in this order."""
    prefix = f"{scope}." if scope else ""

    def ask(edited: Edited) -> str | None:
        found = [
            name.removeprefix(prefix)
            for name in trees.definitions(edited.output)
            if name.startswith(prefix) and "." not in name.removeprefix(prefix)
        ]
        return None if found == list(names) else f"the order is {', '.join(found)}"

    return ask
