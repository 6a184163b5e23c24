"""Parsers by tree-sitter, bounded in time. The only module that imports it.

It does not know leaves or places.
"""

from __future__ import annotations

from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING

from redraft.syntax.languages import Language

if TYPE_CHECKING:
    from tree_sitter import Parser, Point, Tree

LONGEST = 0.5
"""Seconds that one parse may take: some hundred times what a full window needs, and about what a
few steps of decoding take."""
_CHUNK = 8192


class ParseFailed(Exception):
    """A grammar that cannot be loaded, or a text that it cannot parse in time."""


class Grammar:
    """One language's parser. Raises ParseFailed where the grammar cannot be loaded."""

    def __init__(self, language: Language) -> None:
        from tree_sitter import Language as Loaded
        from tree_sitter import Parser

        try:
            module = import_module(language.package)
            self._parser: Parser = Parser(Loaded(getattr(module, language.loader)()))
        except Exception as error:
            name = language.package.replace("_", "-")
            raise ParseFailed(f"the grammar {name} cannot be loaded: {error}") from error

    def parse(self, text: bytes, old: Tree | None = None) -> Tree:
        """The tree of `text`; `old` is the tree of its earlier form, edited to fit.

        Raises ParseFailed after LONGEST seconds, and where the parser fails.
        """
        end = perf_counter() + LONGEST

        def read(offset: int, point: Point) -> bytes:
            return text[offset : offset + _CHUNK]

        def late(offset: int, has_error: bool) -> bool:
            return perf_counter() > end

        try:
            if old is None:
                return self._parser.parse(read, progress_callback=late)
            return self._parser.parse(read, old, progress_callback=late)
        except Exception as error:
            self._parser.reset()
            if perf_counter() > end:
                raise ParseFailed(f"parsing took more than {LONGEST} s") from error
            raise ParseFailed(f"parsing failed: {error}") from error
