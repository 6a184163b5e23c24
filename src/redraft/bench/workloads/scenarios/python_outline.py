"""The outline of Python files, by the standard library's parser."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import accumulate

from redraft.bench.workloads.scenarios.outline import Function, Outline, Span

_Definition = ast.FunctionDef | ast.AsyncFunctionDef


def python_outline(text: str) -> Outline:
    """Functions of the module and of its classes, in order; not those inside functions."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return Outline((), sound=False)
    starts = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]
    return Outline(tuple(_functions(tree, starts, top_level=True)), sound=True)


def _functions(
    scope: ast.Module | ast.ClassDef, starts: list[int], top_level: bool
) -> Iterator[Function]:
    for node in scope.body:
        if isinstance(node, ast.ClassDef):
            yield from _functions(node, starts, top_level=False)
        elif isinstance(node, _Definition):
            yield _function(node, starts, top_level)


def _function(node: _Definition, starts: list[int], top_level: bool) -> Function:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    end = starts[(node.end_lineno or node.lineno)]
    documented = ast.get_docstring(node) is not None and len(node.body) > 1
    documentation = None
    if documented:
        last = node.body[0].end_lineno or node.body[0].lineno
        documentation = Span(starts[node.body[0].lineno - 1], starts[last])
    written = node.body[1] if documented else node.body[0]
    # from the line after the docstring, which may hold a comment
    begin = documentation.end if documentation else starts[written.lineno - 1]
    return Function(
        name=node.name,
        whole=Span(starts[first - 1], end),
        body=Span(begin, end),
        documentation=documentation,
        public=not node.name.startswith("_"),
        top_level=top_level,
    )
