"""Checks of refactorings in Python, put together from those of the bench's edits."""

from __future__ import annotations

import ast
import copy
from collections import Counter

from redraft.bench.workloads import trees
from redraft.bench.workloads.checks import Check, Edited, build_check, keeps_rest, same_code
from redraft.bench.workloads.code_checks import renames
from redraft.bench.workloads.text_checks import documented as has_docstrings


def renamed(source: str, old: str, new: str) -> Check:
    """`old` is `new` wherever it stands in code, and nothing else changed."""
    return build_check(source, (renames((old, new)),))


def documented(source: str) -> Check:
    """Every function has a docstring, and the code is as it was."""
    return build_check(source, (same_code, has_docstrings()))


def repeated_strings(source: str) -> list[str]:
    """String literals that stand more than once and are written in one way, in double quotes unless
    they hold one; no docstrings and no types."""
    tree = trees.untyped(trees.without_docstrings(ast.parse(source)))
    strings = Counter(
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    literals = {_quoted(value): count for value, count in strings.items() if len(value) > 2}
    return sorted(
        literal
        for literal, count in literals.items()
        if count > 1 and "\\" not in literal and source.count(literal) == count
    )


def extracted(source: str, literal: str, name: str) -> Check:
    """The literal stands once, assigned to the constant, which stands in all its places."""
    value = ast.literal_eval(literal)

    def ask(edited: Edited) -> str | None:
        stands = sum(_is_string(node, value) for node in ast.walk(edited.output))
        if stands != 1:
            return f"{literal} stands {stands} times"
        undone = _Undone(name, value).visit(copy.deepcopy(edited.output))
        if trees.shells(undone) != trees.shells(edited.source):
            return "other code was changed"
        return keeps_rest(touched=tuple(trees.definitions(edited.source)))(
            Edited(edited.source, undone)
        )

    return build_check(source, (ask,))


def moved(source: str, name: str) -> Check:
    """The function is the last definition, and the code is as it was."""

    def ask(edited: Edited) -> str | None:
        last = [node for node in edited.output.body if isinstance(node, trees.Definition)][-1:]
        if not last or last[0].name != name:
            return f"{name} is not the last definition"
        before = [other for other in _top(edited.source) if other != name]
        return None if _top(edited.output) == [*before, name] else "the order of others changed"

    return build_check(source, (keeps_rest(), ask))


class _Undone(ast.NodeTransformer):
    """Puts the string back where the constant is read, and drops the assignment's target."""

    def __init__(self, name: str, value: str) -> None:
        self._name, self._value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == self._name and isinstance(node.ctx, ast.Load):
            return ast.Constant(self._value)
        return node


def _is_string(node: ast.AST, value: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == value


def _quoted(value: str) -> str:
    return '"' + value + '"' if '"' not in value else repr(value)


def _top(tree: ast.Module) -> list[str]:
    return [node.name for node in tree.body if isinstance(node, trees.Definition)]
