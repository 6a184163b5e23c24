"""Reads syntax trees for the checks: definitions by name, normal forms, occurrences.

Knows Python's syntax tree; does not know which instruction is being checked.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Function = ast.FunctionDef | ast.AsyncFunctionDef


def definitions(tree: ast.AST, prefix: str = "") -> dict[str, Definition]:
    """Functions and classes at top level and in classes, by dotted name, in order."""
    found: dict[str, Definition] = {}
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Definition):
            name = prefix + node.name
            found[name] = node
            if isinstance(node, ast.ClassDef):
                found |= definitions(node, f"{name}.")
    return found


def functions(tree: ast.AST) -> dict[str, Function]:
    """Top-level functions and methods by dotted name, in order."""
    return {name: node for name, node in definitions(tree).items() if isinstance(node, Function)}


def shape(node: ast.AST) -> str:
    """What the node says, without positions, docstrings and annotations."""
    return ast.dump(untyped(without_docstrings(node)))


def without_docstrings(node: ast.AST) -> ast.AST:
    """A copy without docstrings; a body left empty holds `pass`."""
    result = copy.deepcopy(node)
    for part in ast.walk(result):
        if isinstance(part, ast.Module | Definition) and has_docstring(part):
            part.body = part.body[1:] or [ast.Pass()]
    return result


def has_docstring(node: ast.Module | Definition) -> bool:
    """Whether the body starts with a text of at least one word."""
    return bool((ast.get_docstring(node) or "").strip())


class _Untyped(ast.NodeTransformer):
    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.returns = None
        self.generic_visit(node)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is None:
            return node
        return ast.Assign(targets=[node.target], value=node.value)


def untyped(node: ast.AST) -> ast.AST:
    """A copy without annotations. A field that is only declared stays as it is."""
    result: ast.AST = _Untyped().visit(copy.deepcopy(node))
    return result


def shells(tree: ast.Module) -> Mapping[str, str]:
    """The shape of every definition, by dotted name; a class's without its methods'."""
    result: dict[str, str] = {}
    for name, node in definitions(without_docstrings(tree)).items():
        alone = copy.deepcopy(node)
        if isinstance(alone, ast.ClassDef):
            alone.body = [part for part in alone.body if not isinstance(part, Definition)]
            alone.body = [part for part in alone.body if not isinstance(part, ast.Pass)]
        result[name] = shape(alone)
    return result


def statements(tree: ast.Module) -> list[str]:
    """The shapes of the top-level statements other than definitions, imports and docstring."""
    skipped = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    bare = without_docstrings(tree)
    assert isinstance(bare, ast.Module)
    return [shape(node) for node in bare.body if not isinstance(node, (*skipped, ast.Pass))]


def parameters(function: Function) -> list[ast.arg]:
    """All parameters in order, `*args` and `**kwargs` included."""
    spec = function.args
    stars = [star for star in (spec.vararg, spec.kwarg) if star is not None]
    return [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *stars]


def default_of(function: Function, parameter: str) -> str | None:
    """The source of a parameter's default, or None without one."""
    spec = function.args
    positional = [*spec.posonlyargs, *spec.args]
    pairs: list[tuple[ast.arg, ast.expr | None]] = list(
        zip(reversed(positional), reversed(spec.defaults), strict=False)
    )
    pairs += list(zip(spec.kwonlyargs, spec.kw_defaults, strict=True))
    for argument, default in pairs:
        if argument.arg == parameter and default is not None:
            return ast.unparse(default)
    return None


def names_read(node: ast.AST) -> set[str]:
    """Every name and attribute that is read below the node."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            found.add(part.id)
        elif isinstance(part, ast.Attribute):
            found.add(part.attr)
    return found


def imported(tree: ast.Module) -> set[str]:
    """The names that imports bind, anywhere in the file."""
    return {
        (alias.asname or alias.name).split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def calls(node: ast.AST, name: str) -> Iterator[ast.Call]:
    """Calls of `name` below the node, as a plain name or as an attribute."""
    for part in ast.walk(node):
        if not isinstance(part, ast.Call):
            continue
        target = part.func
        called = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", None)
        if called == name:
            yield part


class _Renamer(ast.NodeTransformer):
    """Renames in every role a name can have in code: bound, read, parameter, attribute, keyword."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in ("id", "arg", "attr", "name"):
            if getattr(node, field, None) == self.old:
                setattr(node, field, self.new)
        return super().generic_visit(node)


def renamed(node: ast.AST, old: str, new: str) -> ast.AST:
    """A copy in which the name `old` is `new` wherever it stands in code."""
    result: ast.AST = _Renamer(old, new).visit(copy.deepcopy(node))
    return result
