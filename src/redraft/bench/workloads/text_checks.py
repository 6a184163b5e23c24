"""Predicates for edits that write text around code that stays: types, docstrings, tests.

Each function makes a predicate for `checks.build_check`. They see that a text is there and has
its form, not whether it is true.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from redraft.bench.workloads import trees
from redraft.bench.workloads.checks import Edited, Predicate


def typed(*names: str) -> Predicate:
    """The functions `names` (all, without any) have types on each parameter and the return."""

    def ask(edited: Edited) -> str | None:
        for name, function in trees.functions(edited.output).items():
            if names and name not in names:
                continue
            for argument in trees.parameters(function):
                if argument.annotation is None and argument.arg not in ("self", "cls"):
                    return f"{name}: parameter {argument.arg} has no type"
            if function.returns is None and function.name != "__init__":
                return f"{name}: no return type"
        return None

    return ask


def documented(sections: Sequence[str] = (), classes: bool = False) -> Predicate:
    """Every function has a docstring. Of `sections` one must be there in the docstring of a
    function with parameters of its own. With `classes` classes have one too."""

    def ask(edited: Edited) -> str | None:
        for name, node in trees.definitions(edited.output).items():
            if isinstance(node, ast.ClassDef):
                if classes and not trees.has_docstring(node):
                    return f"{name} has no docstring"
                continue
            if not trees.has_docstring(node):
                return f"{name} has no docstring"
            own = [one for one in trees.parameters(node) if one.arg not in ("self", "cls")]
            text = ast.get_docstring(node) or ""
            if own and sections and not any(section in text for section in sections):
                return f"{name}: the docstring has no {sections[0]}"
        return None

    return ask


def has_tests(functions: Sequence[str], per_function: int = 1) -> Predicate:
    """For each function some test (a function named `test…`) calls it and asserts, and there are
    at least `per_function` assertions a function in all."""

    def ask(edited: Edited) -> str | None:
        written = [
            node
            for node in trees.functions(edited.output).values()
            if node.name.startswith("test") and any(map(_asserts, ast.walk(node)))
        ]
        for name in functions:
            if not any(name in trees.names_read(test) for test in written):
                return f"no test of {name}"
        count = sum(_asserts(part) for test in written for part in ast.walk(test))
        wanted = per_function * len(functions)
        return None if count >= wanted else f"{count} assertions of {wanted}"

    return ask


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return True
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and (node.func.attr.startswith("assert") or node.func.attr == "raises")
    )
