"""What a statement is and defines, word by word: its kind, its head, its names, its marks.

It does not know frames beyond the one that the statement is in, nor what opens or closes them.
"""

from __future__ import annotations

import re

from redraft.syntax.languages import Language
from redraft.syntax.leaves import Leaf
from redraft.syntax.state import (
    BOILERPLATE,
    BRACKETS,
    DEFINITIONS,
    ERROR,
    IMPORT,
    TEST,
    State,
    Statement,
)

TEST_NAME = re.compile(r"[Tt]est(?![a-z])|.*(?:[a-z_]Tests?|_tests?|_spec)$|Fact$|Theory$")
ASSIGNMENTS = frozenset({"=", ":=", "+=", "-=", "||=", "&&=", "??="})


class Statements:
    """The rules of one language."""

    def __init__(self, language: Language) -> None:
        self._language = language

    def begun(self, statement: Statement, leaf: Leaf) -> Statement:
        """The statement with one more leaf, whatever it is."""
        if statement.leaves:
            return statement._replace(leaves=statement.leaves + 1)
        language, word = (
            self._language,
            leaf.text if leaf.token_class == "identifier" else leaf.type,
        )
        flags = 0
        marking = word in language.boilerplate
        if marking or (word[:1] == "#" and word[1:2].isalpha()):
            flags |= BOILERPLATE
        return Statement(1, word, marking=marking, flags=flags)

    def extended(self, state: State, leaf: Leaf) -> Statement:
        """The statement after this leaf at its own level."""
        statement = self.begun(state.statement, leaf)
        word = leaf.text if leaf.token_class == "identifier" else leaf.type
        language = self._language
        plain = statement.kind == "statement" and statement.head is None
        if plain and statement.leaves <= 3 and not statement.assigned:
            statement = _with_kind(statement, word, language)
        if statement.marking and leaf.token_class in ("identifier", "keyword"):
            statement = self._marked(statement, state.previous, leaf)
        if leaf.token_class == "identifier":
            return self._named(statement, leaf, state.previous)
        if word in ASSIGNMENTS and not statement.assigned:
            return statement._replace(assigned=True, target=statement.last_name)
        if word == ":" and state.frames[-1].kind == "braces" and not statement.target:
            return statement._replace(target=statement.last_name)
        if word == "new":
            return statement._replace(created=True)
        head = language.heads.get(word)
        if head is not None and self._heads(statement, state):
            return statement._replace(head=head, naming=head in DEFINITIONS)
        return statement

    def _heads(self, statement: Statement, state: State) -> bool:
        """Whether a word that can head a block does so here."""
        if self._language.layout == "indentation":
            first = statement.leaves == 1 or (statement.leaves == 2 and statement.first == "async")
            return first and state.frames[-1].kind not in BRACKETS
        if statement.head in DEFINITIONS:
            return False  # a type in a function's head, or `impl … for`
        declared = self._language.declared_types and state.previous in (",", "enum")
        return not declared and state.previous not in ("<", ".", "->", "::", "typename")

    def _marked(self, statement: Statement, previous: str, leaf: Leaf) -> Statement:
        """Behind a decorator or attribute: its own name, or what it stands before."""
        if previous in ("@", ".", "#", "["):
            marks = TEST_NAME.match(leaf.text)
            return statement._replace(flags=statement.flags | TEST) if marks else statement
        if statement.leaves == 1 or statement.first[:1].isalpha():
            return statement
        return statement._replace(marking=False, flags=statement.flags & ~BOILERPLATE)

    def _named(self, statement: Statement, leaf: Leaf, previous: str) -> Statement:
        name = leaf.text
        if name == "__name__" and statement.head == "branch":
            return statement._replace(flags=statement.flags | BOILERPLATE, last_name=name)
        if statement.head == "branch" and name in self._language.error_names:
            return statement._replace(flags=statement.flags | ERROR, last_name=name)
        if previous == "." and statement.name == "self" and not statement.naming:
            return statement._replace(name=name, last_name=name)
        if statement.naming and previous not in ("<", ",", "'"):
            return statement._replace(name=name, naming=False, last_name=name)
        return statement._replace(last_name=name)


def _with_kind(statement: Statement, word: str, language: Language) -> Statement:
    if word in language.imports:
        return statement._replace(kind="import", flags=statement.flags | IMPORT)
    if word in language.raises:
        return statement._replace(kind="raise", flags=statement.flags | ERROR)
    if word in ("return", "yield") and statement.leaves == 1:
        return statement._replace(kind="return")
    return statement
