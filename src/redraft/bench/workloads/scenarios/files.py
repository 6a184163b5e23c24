"""Outlines of source files in any of the languages, and sizes by a rule that needs no weights."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from redraft.bench.workloads.scenarios import grammars
from redraft.bench.workloads.scenarios.archives import SourceFile
from redraft.bench.workloads.scenarios.outline import Outline
from redraft.bench.workloads.scenarios.pins import Language
from redraft.bench.workloads.scenarios.python_outline import python_outline

_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d|[^\w\s]{1,2}|\n\s*| (?= )")


def outline(language: Language, text: str) -> Outline:
    """What the file holds. Raises WorkloadMissing without the language's grammar."""
    return python_outline(text) if language == "python" else grammars.outline(language, text)


def rough_tokens(text: str) -> int:
    """About how many tokens a code model's vocabulary takes for a text.

    Words in camel case and snake case are counted by part, signs in pairs, an indentation once.
    """
    return len(_PIECE.findall(text))


def in_turn(files: Iterable[SourceFile], seed: int) -> list[SourceFile]:
    """The files in a fixed random order in which packages take turns."""
    by_package: dict[str, list[SourceFile]] = {}
    for file in sorted(files, key=lambda one: order_of(seed, one.package, one.path)):
        by_package.setdefault(file.package, []).append(file)
    turns = [
        (place, package, file)
        for package, own in by_package.items()
        for place, file in enumerate(own)
    ]
    return [file for _, _, file in sorted(turns, key=lambda turn: turn[:2])]


def order_of(seed: int, *names: str) -> str:
    """A random place in an order, the same on every machine."""
    return hashlib.sha256("\0".join((str(seed), *names)).encode()).hexdigest()
