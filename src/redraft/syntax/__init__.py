"""Syntax beside the decoder: where in the code the output is, by tree-sitter, as it grows.

Parsing is a help and never a condition: where it cannot be had, decoding goes on without it.
"""

from __future__ import annotations

from redraft.syntax.expectations import REASONS, Expected, Reason
from redraft.syntax.following import Syntax
from redraft.syntax.values import Kind, OpenConstruct, Place, Region, TokenClass

__all__ = [
    "REASONS",
    "Expected",
    "Kind",
    "OpenConstruct",
    "Place",
    "Reason",
    "Region",
    "Syntax",
    "TokenClass",
]
