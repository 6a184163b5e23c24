"""Cuts a stand-alone file out of a module: chosen definitions, and what of its head they need.

Works on the text by the line numbers of its syntax tree, so that comments, quotes and line breaks
inside a definition stay as they were written. Does not know tasks or instructions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def cut(module: str, names: Sequence[str], docstrings: bool = True) -> str:
    """The file made of the module's top-level definitions `names`, in the module's own order.

    Imports and top-level assignments that these use, directly or through another assignment, come
    first. Without `docstrings` the docstrings of the definitions are left out, for tasks that ask
    for new ones. The text ends with a newline.

    Raises ValueError when the module does not define one of the names.
    """
    tree = ast.parse(module)
    lines = module.splitlines()
    chosen = [
        node for node in tree.body if isinstance(node, Definition) and node.name in set(names)
    ]
    missing = set(names) - {node.name for node in chosen}
    if missing:
        raise ValueError(f"the module does not define {', '.join(sorted(missing))}")
    head = _head(tree.body, _used_names(chosen))
    imports = [_text(node, lines) for node in head if not isinstance(node, ast.Assign)]
    constants = [_text(node, lines) for node in head if isinstance(node, ast.Assign)]
    bodies = [_text(node, lines, docstrings) for node in chosen]
    blocks = ["\n".join(block) for block in (imports, constants) if block]
    return "\n\n\n".join(["\n\n".join(blocks), *bodies] if blocks else bodies) + "\n"


def _used_names(nodes: Iterable[ast.AST]) -> set[str]:
    return {
        part.id
        for node in nodes
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
    }


def _head(body: Sequence[ast.stmt], used: set[str]) -> list[ast.stmt]:
    """The imports (guarded ones too) and assignments that bind used names, in order."""
    candidates = [
        node
        for node in body
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Assign | ast.Try)
    ]
    taken: set[int] = set()
    wanted = set(used)
    grown = True
    while grown:
        grown = False
        for index, node in enumerate(candidates):
            if index not in taken and wanted & _bound_names(node):
                taken.add(index)
                wanted |= _used_names([node])
                grown = True
    return [node for index, node in enumerate(candidates) if index in taken]


def _bound_names(node: ast.stmt) -> set[str]:
    bound: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.alias):
            bound.add((part.asname or part.name).split(".")[0])
        elif isinstance(part, ast.Assign):
            bound |= {target.id for target in part.targets if isinstance(target, ast.Name)}
    return bound


def _text(node: ast.stmt, lines: Sequence[str], docstrings: bool = True) -> str:
    first = node.lineno
    if isinstance(node, Definition):
        first = min([first, *(decorator.lineno for decorator in node.decorator_list)])
    last = node.end_lineno or first
    left_out = set() if docstrings else _docstring_lines(node, lines)
    kept = [lines[number - 1] for number in range(first, last + 1) if number not in left_out]
    return "\n".join(line.rstrip() for line in kept)


def _docstring_lines(node: ast.stmt, lines: Sequence[str]) -> set[int]:
    """Line numbers of docstrings that can go (not a body's only statement), with a blank after."""
    numbers: set[int] = set()
    for part in ast.walk(node):
        if not isinstance(part, Definition) or ast.get_docstring(part) is None:
            continue
        if len(part.body) == 1:
            continue
        start, end = part.body[0].lineno, part.body[0].end_lineno or part.body[0].lineno
        numbers |= set(range(start, end + 1))
        if not lines[end].strip():
            numbers.add(end + 1)
    return numbers
