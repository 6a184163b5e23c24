"""Refactorings of whole files: which file, what is asked, and what its output must satisfy.

Four kinds in four languages, each chosen so that its check can be strict: rename a function, write
doc comments, put a repeated literal into a constant, move a function to the end. Knows outlines;
the checks themselves stand in `python_checks` and `leaf_checks`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from redraft.bench.workloads.checks import Check
from redraft.bench.workloads.scenarios import leaf_checks, python_checks
from redraft.bench.workloads.scenarios.archives import SourceFile
from redraft.bench.workloads.scenarios.files import order_of, outline, rough_tokens
from redraft.bench.workloads.scenarios.outline import Function, Outline
from redraft.bench.workloads.scenarios.pins import Language

FILE_TOKENS = (1_150, 3_500)
"""By `rough_tokens`: what an output has, with what an edit adds, is 1,000 to 4,000 real ones."""
_NEW_VERBS = {
    "get": "fetch",
    "set": "assign",
    "new": "make",
    "make": "build",
    "create": "build",
    "parse": "decode",
    "read": "load",
    "write": "store",
    "is": "check",
    "has": "includes",
    "add": "append",
    "remove": "drop",
    "delete": "drop",
    "handle": "process",
    "run": "execute",
    "find": "locate",
    "check": "verify",
    "build": "assemble",
    "with": "using",
    "to": "into",
}
_DOCUMENTED = {
    "go": "Add a doc comment to every exported function and method that has none.",
    "rust": "Add a `///` doc comment to every `pub` function that has none.",
    "typescript": "Add a `/** … */` comment to every exported function and every public method "
    "that has none; constructors need none.",
    "python": "Add a one-line docstring to every function and method that has none.",
}


@dataclass(frozen=True, slots=True)
class Refactoring:
    """One whole-file edit."""

    kind: str
    source: str
    instruction: str
    check: Check = field(compare=False, repr=False)


Builder = Callable[[SourceFile, Outline, int], Refactoring | None]


def possible_refactorings(file: SourceFile, seed: int) -> dict[str, Refactoring]:
    """What can be asked of a file, by kind; empty for files of another size."""
    if not FILE_TOKENS[0] <= rough_tokens(file.text) <= FILE_TOKENS[1]:
        return {}
    found = outline(file.language, file.text)
    if not found.sound or not file.text.endswith("\n"):
        return {}
    built = (build(file, found, seed) for build in _BUILDERS)
    return {one.kind: one for one in built if one is not None}


def _rename(file: SourceFile, found: Outline, seed: int) -> Refactoring | None:
    names = [function.name for function in found.functions]
    for name in sorted(set(names), key=lambda one: order_of(seed, file.path, one)):
        new = _renamed(name)
        uses = len(re.findall(rf"\b{re.escape(name)}\b", file.text))
        if new is None or uses < 2 or names.count(name) > 1 or re.search(rf"\b{new}\b", file.text):
            continue
        check = (
            python_checks.renamed(file.text, name, new)
            if file.language == "python"
            else leaf_checks.renamed(file.language, file.text, name, new)
        )
        asked = f"Rename the function `{name}` to `{new}` everywhere in the file."
        return Refactoring("rename", file.text, asked, check)
    return None


def _renamed(name: str) -> str | None:
    """The name with another verb in front, in the same case."""
    verb = re.match(r"[A-Z]?[a-z]+", name)
    if verb is None or (new := _NEW_VERBS.get(verb.group().lower())) is None:
        return None
    return (new.capitalize() if name[0].isupper() else new) + name[verb.end() :]


def _document(file: SourceFile, found: Outline, seed: int) -> Refactoring | None:
    asked = [one for one in found.functions if one.public or file.language == "python"]
    spans = [one.documentation for one in asked if one.documentation is not None]
    if not 3 <= len(spans) <= 12 or len(asked) > 15:
        return None
    text = file.text
    for span in reversed(spans):
        text = text[: span.start] + text[span.end :]
    if not outline(file.language, text).sound or rough_tokens(text) < FILE_TOKENS[0]:
        return None
    check = (
        python_checks.documented(text)
        if file.language == "python"
        else leaf_checks.documented(file.language, text)
    )
    return Refactoring("document", text, _DOCUMENTED[file.language], check)


def _constant(file: SourceFile, found: Outline, seed: int) -> Refactoring | None:
    repeated = (
        python_checks.repeated_strings(file.text)
        if file.language == "python"
        else leaf_checks.repeated_strings(file.language, file.text)
    )
    for literal in sorted(repeated, key=lambda one: order_of(seed, file.path, one)):
        name = _constant_name(file.language, literal)
        if name is None or re.search(rf"\b{name}\b", file.text):
            continue
        check = (
            python_checks.extracted(file.text, literal, name)
            if file.language == "python"
            else leaf_checks.extracted(file.language, file.text, literal, name)
        )
        asked = (
            f"Put the string {literal} into a constant `{name}` at the top of the file, and use "
            "the constant wherever the string stands."
        )
        return Refactoring("constant", file.text, asked, check)
    return None


def _constant_name(language: Language, literal: str) -> str | None:
    words = re.findall(r"[A-Za-z]+", literal)
    if not words or len(literal) > 40 or not literal[1:-1].strip():
        return None
    if language == "go":
        return "text" + "".join(word.capitalize() for word in words[:3])
    return "_".join(["TEXT", *(word.upper() for word in words[:3])])


def _move(file: SourceFile, found: Outline, seed: int) -> Refactoring | None:
    names = [function.name for function in found.functions]
    tops = [one for one in found.functions if one.top_level and names.count(one.name) == 1]
    if not tops or len(names) < 3:
        return None
    candidates = [one for one in tops if _stands_alone(one, file.text)]
    if not candidates:
        return None
    moved = min(candidates, key=lambda one: order_of(seed, file.path, one.name))
    check = (
        python_checks.moved(file.text, moved.name)
        if file.language == "python"
        else leaf_checks.moved(file.language, file.text, moved.whole)
    )
    asked = f"Move the function `{moved.name}` to the end of the file."
    return Refactoring("move", file.text, asked, check)


def _stands_alone(function: Function, text: str) -> bool:
    """Whether something comes after it, and its name says which function is meant."""
    return bool(text[function.whole.end :].strip())


_BUILDERS: tuple[Builder, ...] = (_rename, _document, _constant, _move)
