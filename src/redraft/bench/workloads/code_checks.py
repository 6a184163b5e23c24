"""Predicates for edits that change code: names, parameters, faults, constructs, classes.

A function in the middle part makes a predicate for `checks.build_check`; those at the end match
single nodes, for `checks.without` and `checks.contains`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from redraft.bench.workloads import trees
from redraft.bench.workloads.checks import Edited, Predicate


def renames(*pairs: tuple[str, str]) -> Predicate:
    """Each (old, new) was renamed wherever it stands in code, and nothing else changed."""

    def ask(edited: Edited) -> str | None:
        expected: ast.AST = edited.source
        for old, new in pairs:
            expected = trees.renamed(expected, old, new)
        if trees.shape(expected) == trees.shape(edited.output):
            return None
        left = [old for old, _ in pairs if old in trees.names_read(edited.output)]
        return f"{left[0]} is still used" if left else "the code is not the source renamed"

    return ask


def has_parameter(function: str, parameter: str, default: str | None = None) -> Predicate:
    """The function takes the parameter with that default, and its body reads it."""

    def ask(edited: Edited) -> str | None:
        node = trees.functions(edited.output).get(function)
        if node is None:
            return f"{function} is gone"
        if parameter not in [one.arg for one in trees.parameters(node)]:
            return f"{function} has no parameter {parameter}"
        if default is not None and trees.default_of(node, parameter) != default:
            return f"{function}: {parameter} has not the default {default}"
        if not any(parameter in trees.names_read(statement) for statement in node.body):
            return f"{function} does not use {parameter}"
        return None

    return ask


def lacks_parameter(function: str, parameter: str) -> Predicate:
    """The function neither takes nor reads the parameter, and no call passes it by name."""

    def ask(edited: Edited) -> str | None:
        node = trees.functions(edited.output).get(function)
        if node is None:
            return f"{function} is gone"
        if parameter in [one.arg for one in trees.parameters(node)]:
            return f"{function} still takes {parameter}"
        if parameter in trees.names_read(node):
            return f"{function} still reads {parameter}"
        short = function.rpartition(".")[2]
        for call in trees.calls(edited.output, short):
            if parameter in [word.arg for word in call.keywords]:
                return f"a call of {function} still passes {parameter}"
        return None

    return ask


def passes(caller: str, callee: str, parameter: str) -> Predicate:
    """A call of `callee` in `caller` hands the parameter on."""

    def ask(edited: Edited) -> str | None:
        node = trees.functions(edited.output).get(caller)
        if node is None:
            return f"{caller} is gone"
        for call in trees.calls(node, callee):
            handed = [*call.args, *(word.value for word in call.keywords)]
            if any(parameter in trees.names_read(value) for value in handed):
                return None
        return f"{caller} does not pass {parameter} to {callee}"

    return ask


def extracts(function: str, new: str, moved: Sequence[str]) -> Predicate:
    """A new function exists and is called by the old, and the names `moved` are read there now."""

    def ask(edited: Edited) -> str | None:
        found = trees.functions(edited.output)
        old, fresh = found.get(function), found.get(new) or found.get(_sibling(function, new))
        if old is None or fresh is None:
            return f"{function if old is None else new} is not defined"
        if not any(trees.calls(old, new)):
            return f"{function} does not call {new}"
        for name in moved:
            if name not in trees.names_read(fresh):
                return f"{new} does not use {name}"
            if name in trees.names_read(old):
                return f"{function} still uses {name}"
        return None

    return ask


def _sibling(method: str, new: str) -> str:
    """The dotted name of `new` beside the method."""
    return f"{method.rpartition('.')[0]}.{new}"


def fixes(function: str, accepted: Sequence[str]) -> Predicate:
    """The function's code is what it is in one of the `accepted` texts (the file before a fault
    was put in, and ways of writing it that mean the same)."""
    shapes = {trees.shape(trees.functions(ast.parse(text))[function]) for text in accepted}

    def ask(edited: Edited) -> str | None:
        node = trees.functions(edited.output).get(function)
        if node is None:
            return f"{function} is gone"
        return None if trees.shape(node) in shapes else f"{function} is not mended"

    return ask


def grouped(name: str, functions: Sequence[str]) -> Predicate:
    """The functions are static or class methods of the new class `name`, none is left at top
    level, and calls among them name the class."""

    def ask(edited: Edited) -> str | None:
        found = trees.functions(edited.output)
        for function in functions:
            node = found.get(f"{name}.{function}")
            if function in found or node is None:
                return f"{function} is not a method of {name}"
            marks = {mark for one in node.decorator_list for mark in trees.names_read(one)}
            if not marks & {"staticmethod", "classmethod"}:
                return f"{name}.{function} is not static"
        for part in ast.walk(edited.output):
            if isinstance(part, ast.Call) and getattr(part.func, "id", None) in functions:
                return f"a call of {ast.unparse(part.func)} does not name {name}"
        return None

    return ask


def percent_format(node: ast.AST) -> bool:
    """A `%` between a string literal and its values."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mod)
        and isinstance(node.left, ast.Constant)
        and isinstance(node.left.value, str)
    )


def f_string(node: ast.AST) -> bool:
    """An f-string."""
    return isinstance(node, ast.JoinedStr)


def raising(exception: str) -> Callable[[ast.AST], bool]:
    """A matcher for `raise exception(…)`."""

    def matches(node: ast.AST) -> bool:
        return isinstance(node, ast.Raise) and exception in trees.names_read(node)

    return matches


def calling(*names: str) -> Callable[[ast.AST], bool]:
    """A matcher for a call of one of the names, plain or as an attribute."""

    def matches(node: ast.AST) -> bool:
        if not isinstance(node, ast.Call):
            return False
        target = node.func
        return (getattr(target, "id", None) or getattr(target, "attr", None)) in names

    return matches
