"""The leaves of a syntax tree from a byte on: words, signs, and whole comments and raw strings.

What is left of the cursor has the same leaves whatever follows, since a parser that reads from left
to right finds no error in the beginning of sound text; only what encloses them changes. So places
are read from leaves. It does not know what a leaf means in a language.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from redraft.syntax.values import TokenClass

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

COMMENTS = frozenset({"comment", "line_comment", "block_comment", "doc_comment", "html_comment"})
TEXTS = frozenset(
    {
        "string_content", "string_fragment", "multiline_string_fragment", "string_literal_content",
        "raw_string_content", "raw_string_literal_content", "interpreted_string_literal_content",
        "heredoc_content", "heredoc_body", "nowdoc_body", "character", "character_literal_content",
        "regex", "regex_pattern", "jsx_text", "escape_sequence", "escape_interpolation",
        "char_literal", "character_literal", "rune_literal", "raw_string_literal",
        "verbatim_string_literal", "raw_string", "text", "ansi_c_string", "format_specifier",
        "type_conversion", "string_end", "heredoc_end",
    }
)  # fmt: skip
"""Leaf types inside which the cursor is in a string, or in text that is no code."""
HEREDOC_STARTS = frozenset({"heredoc_start", "heredoc_beginning"})
HEREDOCS = frozenset({"heredoc_body", "heredoc_content", "heredoc_end"})
WHOLE = COMMENTS | (TEXTS - {"format_specifier"}) | {"preproc_arg", "system_lib_string"}
"""Nodes that are read as one leaf though they may have parts."""
_BRACKETS = frozenset("()[]{}") | {
    "${", "#{", "$(", "$((", "((", "))", "[[", "]]", "<(", ">(", "#[", "interpolation_brace"
}  # fmt: skip
_CONSTANTS = frozenset({"true", "false", "null", "nil", "none", "boolean", "undefined"})
_LITERALS = ("literal", "integer", "float", "number", "string", "char", "heredoc", "preproc_arg")
_NAMES = ("identifier", "name", "constant", "variable", "word", "type", "symbol", "label")


class Leaf(NamedTuple):
    """One leaf. Offsets and columns count bytes, rows from 0."""

    type: str
    text: str
    start: int
    end: int
    row: int
    column: int
    end_row: int
    token_class: TokenClass


def leaves(tree: Tree, text: bytes, start: int, shift: tuple[int, int]) -> Iterator[Leaf]:
    """The leaves that end behind byte `start` of `text`, from left to right, without empty ones.

    Offsets and rows of the result are moved by `shift` (bytes, rows).
    """
    cursor = tree.walk()
    while cursor.node is not None and cursor.node.type not in WHOLE:
        if cursor.goto_first_child_for_byte(start) is None:
            break
    bytes_before, rows_before = shift
    while True:
        node = cursor.node
        assert node is not None
        kind = node.type
        if kind not in WHOLE and cursor.goto_first_child():
            continue
        begin, end = node.start_byte, node.end_byte
        if end > start and end > begin:
            row, column = node.start_point
            piece = text[begin:end].decode("utf-8", "replace")
            yield Leaf(
                kind,
                piece,
                begin + bytes_before,
                end + bytes_before,
                row + rows_before,
                column,
                node.end_point[0] + rows_before,
                _token_class(node, kind, piece),
            )
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _token_class(node: Node, kind: str, text: str) -> TokenClass:
    if kind in COMMENTS:
        return "comment"
    if kind in TEXTS:
        return "literal"
    if kind in _BRACKETS:
        return "bracket"
    first = text[0]
    if kind in _CONSTANTS:
        return "literal"
    if not node.is_named:
        if first.isalpha() or first in "_@#":
            return "keyword" if len(text) > 1 or first.isalpha() else "operator"
        return "literal" if first in "\"'`" else "operator"
    return _named_class(kind, first)


def _named_class(kind: str, first: str) -> TokenClass:
    if any(name in kind for name in _NAMES) and "string" not in kind:
        return "identifier"
    if any(name in kind for name in _LITERALS) or first in "\"'`" or first.isdigit():
        return "literal"
    return "identifier" if first.isalpha() or first == "_" else "operator"
