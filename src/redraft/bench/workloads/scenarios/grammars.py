"""Outline and leaves of Go, Rust and TypeScript files, by tree-sitter.

The one module that knows tree-sitter, its grammars and their names for nodes. It parses what it
is given and does not know tasks.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from redraft.bench.workloads.scenarios.outline import Function, Outline, Span
from redraft.bench.workloads.scenarios.pins import Language

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_GRAMMARS = {
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}
_FUNCTIONS = {
    "go": {"function_declaration", "method_declaration"},
    "rust": {"function_item"},
    "typescript": {"function_declaration", "method_definition"},
}
_COMMENTS = {"comment", "line_comment", "block_comment"}
_BETWEEN = {"attribute_item", "decorator"}
"""What may stand between a doc comment and its function."""
_WHOLE = {
    "interpreted_string_literal",
    "raw_string_literal",
    "string_literal",
    "char_literal",
    "string",
}
"""Literals that are one leaf, though the grammar cuts them up."""
_STRINGS = {"interpreted_string_literal", "string_literal", "string"}
_NO_EXPRESSION = {
    "import_spec",
    "import_statement",
    "export_statement",
    "literal_type",
    "pair",
    "property_signature",
    "extern_modifier",
    "attribute",
    "token_tree",
}
"""Around a string: no constant can stand in its place there, or not in every case."""


def outline(language: Language, text: str) -> Outline:
    """The file's functions in order."""
    root = _parse(language, text)
    found = tuple(_functions(root, language, text)) if text.isascii() else ()
    return Outline(found, sound=not root.has_error)


def leaves(language: Language, text: str) -> tuple[tuple[str, int], ...]:
    """(text, offset) of all that is neither comment nor space, in order; strings in one piece.

    Two texts with equal leaves say the same. Offsets are bytes.
    """
    return tuple(_leaves(_parse(language, text)))


def strings(language: Language, text: str) -> Iterator[str]:
    """String literals in whose place a constant could stand, as written."""
    nodes = [_parse(language, text)]
    while nodes:
        node = nodes.pop()
        if node.type not in _STRINGS:
            nodes += node.children
        elif node.parent is None or node.parent.type not in _NO_EXPRESSION:
            yield (node.text or b"").decode("utf-8", "replace")


def _parse(language: Language, text: str) -> Node:
    return _parser(language).parse(text.encode("utf-8", "replace")).root_node


@cache
def _parser(language: Language) -> Parser:
    from tree_sitter import Language as Grammar
    from tree_sitter import Parser

    module, function = _GRAMMARS[language]
    return Parser(Grammar(getattr(import_module(module), function)()))


def _leaves(node: Node) -> Iterator[tuple[str, int]]:
    if node.type in _COMMENTS:
        return
    if node.child_count and node.type not in _WHOLE:
        for child in node.children:
            yield from _leaves(child)
        return
    text = (node.text or b"").decode("utf-8", "replace")
    if text.strip():
        yield text, node.start_byte


def _functions(node: Node, language: Language, text: str) -> Iterator[Function]:
    for child in node.children:
        if child.type in _FUNCTIONS[language]:
            function = _function(child, language, text)
            if function is not None:
                yield function
        elif not _is_tests(child):
            yield from _functions(child, language, text)


def _is_tests(node: Node) -> bool:
    """Rust keeps tests beside the code, in a module of that name."""
    name = node.child_by_field_name("name")
    return node.type == "mod_item" and name is not None and name.text in (b"test", b"tests")


def _function(node: Node, language: Language, text: str) -> Function | None:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None or body is None or name.text is None:
        return None
    parent = node.parent
    outer = parent if parent is not None and parent.type == "export_statement" else node
    start = _first(outer).start_byte
    return Function(
        name=name.text.decode("ascii"),
        whole=Span(start, outer.end_byte),
        body=Span(body.start_byte + 1, body.end_byte - 1),
        documentation=_documentation(outer, text),
        public=_is_public(node, language, name.text.decode("ascii")),
        top_level=outer.parent is not None and outer.parent.parent is None,
    )


def _first(node: Node) -> Node:
    """The node, or the first attribute or decorator that belongs to it."""
    before = node.prev_sibling
    while before is not None and before.type in _BETWEEN:
        node, before = before, before.prev_sibling
    return node


def _documentation(node: Node, text: str) -> Span | None:
    """The comments in the lines right before a function."""
    end = after = _first(node)
    start: int | None = None
    before = after.prev_sibling
    while before is not None and before.type in _COMMENTS:
        # Rust's grammar counts the line end into a doc comment
        gap = text[before.end_byte : after.start_byte]
        line_ends = gap.count("\n") + before.type.startswith("line") * text[
            before.start_byte : before.end_byte
        ].endswith("\n")
        line_start = text.rfind("\n", 0, before.start_byte) + 1
        if line_ends != 1 or text[line_start : before.start_byte].strip():
            break
        start, after, before = line_start, before, before.prev_sibling
    if start is None:
        return None
    return Span(start, text.rfind("\n", 0, end.start_byte) + 1)


def _is_public(node: Node, language: Language, name: str) -> bool:
    if language == "go":
        return name[0].isupper()
    kinds = {child.type: child.text for child in node.children}
    if language == "rust":
        return kinds.get("visibility_modifier") == b"pub"
    parent = node.parent
    if node.type == "function_declaration":
        return parent is not None and parent.type == "export_statement"
    hidden = kinds.get("accessibility_modifier") in (b"private", b"protected")
    return not (hidden or name.startswith(("#", "_")) or name == "constructor")
