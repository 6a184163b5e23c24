"""What syntax says of the cursor: frozen values, and the names that they may hold.

All of it is knowable from the text left of the cursor. This module does not know tree-sitter, any
language or how a place is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TokenClass = Literal[
    "keyword", "identifier", "literal", "operator", "bracket", "comment", "whitespace"
]
"""What the character left of the cursor belongs to. `literal` are numbers, strings and their
quotes; `operator` is all other punctuation. Before the first character it is `whitespace`."""

Region = Literal[
    "import",
    "declaration",
    "data",
    "test",
    "error_handling",
    "boilerplate",
    "expression",
    "comment",
]
"""What sort of code the cursor is in; the first that fits, in the order that `Place.region`
gives."""

Kind = Literal[
    "file",
    "function",
    "type",
    "module",
    "branch",
    "loop",
    "try",
    "handler",
    "scope",
    "parentheses",
    "arguments",
    "index",
    "list",
    "braces",
    "import",
    "return",
    "raise",
    "statement",
    "string",
    "comment",
]
"""The innermost construct that was opened left of the cursor and not closed: a file, a definition
(`function`; `type`: classes, structs, enumerations, interfaces; `module`: namespaces), a control
block (`branch`: if, else, switch, case, match; `loop`; `try`; `handler`: except, catch, finally,
rescue; `scope`: with, unsafe and bare blocks), a bracket (`parentheses` and `arguments` round,
`index` and `list` square, `braces` that open no block), a statement begun in one of these
(`import`, `return`, `raise`, any other `statement`), a `string` or a `comment`. Behind the word
that says so, the head of a definition or block is of its kind already."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the cursor is, seen from the text before it."""

    kind: Kind
    depth: int
    """Definitions, control blocks and brackets around the cursor; 0 at the top of a file."""
    definition: str
    """Name of the innermost definition around the cursor, empty outside of all."""
    token_class: TokenClass
    region: Region
    """The first that fits: `comment` (docstrings too), `import`, `test` (in a definition or call
    that is named or marked as one), `error_handling` (raising, and what try and its handlers
    hold), `boilerplate` (decorators, attributes, preprocessor lines, the main guard),
    `declaration` (a definition's head, and members of a type outside of its functions), `data` (in
    a list or in braces that open no block), `expression`."""


@dataclass(frozen=True, slots=True)
class OpenConstruct:
    """A block, bracket or string that is open at the cursor."""

    kind: Kind
    closer: str
    """What closes it; empty for a block that columns end."""
    definition: str
    """Name of the innermost definition, this one too."""
