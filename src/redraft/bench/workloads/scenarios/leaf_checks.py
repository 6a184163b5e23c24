"""Checks of refactorings in Go, Rust and TypeScript, by the leaves of two syntax trees.

Two files say the same when their leaves (everything but comments and space) are equal. So what an
instruction asked for is undone in the output's leaves, and they must then be the source's. A check
that is too strict costs a task; one too lenient would count an edit that broke the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from redraft.bench.workloads.checks import Check
from redraft.bench.workloads.scenarios.grammars import leaves, outline, strings
from redraft.bench.workloads.scenarios.outline import Span
from redraft.bench.workloads.scenarios.pins import Language

MOST_DECLARING = 10
"""Leaves of the declaration of one constant, with modifiers and a type."""


def renamed(language: Language, source: str, old: str, new: str) -> Check:
    """`old` is `new` wherever it stands in code, and nothing else changed."""
    expected = [new if leaf == old else leaf for leaf in _texts(language, source)]

    def compare(output: Sequence[str]) -> str | None:
        if list(output) == expected:
            return None
        return f"{old} is still used" if old in output else "the code is not the source renamed"

    return _checked(language, compare)


def documented(language: Language, source: str) -> Check:
    """Every public function has a doc comment, and the code is as it was."""
    expected = _texts(language, source)

    def check(output: str) -> str | None:
        found = outline(language, output)
        if not found.sound:
            return "the output does not parse"
        if _texts(language, output) != expected:
            return "the code was changed"
        bare = [one.name for one in found.functions if one.public and one.documentation is None]
        return f"{bare[0]} has no doc comment" if bare else None

    return check


def repeated_strings(language: Language, source: str) -> list[str]:
    """String literals that stand more than once in the code, as written, and could be a constant
    in all places."""
    counts = Counter(strings(language, source))
    every = Counter(_texts(language, source))
    return sorted(
        literal
        for literal, count in counts.items()
        if every[literal] == count > 1 and len(literal) > 4 and "\\" not in literal
    )


def extracted(language: Language, source: str, literal: str, name: str) -> Check:
    """The literal stands once, at the constant; with the constant undone the source is there."""
    expected = _texts(language, source)

    def compare(output: Sequence[str]) -> str | None:
        if output.count(literal) != 1:
            return f"{literal} stands {output.count(literal)} times"
        undone = [literal if leaf == name else leaf for leaf in output]
        if undone.count(literal) != expected.count(literal) + 2:
            return f"{name} is not used in every place"
        if len(undone) - len(expected) > MOST_DECLARING or not _is_within(expected, undone):
            return "other code was changed"
        return None

    return _checked(language, compare)


def moved(language: Language, source: str, function: Span) -> Check:
    """The function's leaves come last; the others are as they were."""
    found = leaves(language, source)
    inside = [text for text, place in found if function.start <= place < function.end]
    outside = [text for text, place in found if not function.start <= place < function.end]

    def compare(output: Sequence[str]) -> str | None:
        return None if list(output) == outside + inside else "the function is not what was moved"

    return _checked(language, compare)


def _checked(language: Language, compare: Callable[[Sequence[str]], str | None]) -> Check:
    def check(output: str) -> str | None:
        if not outline(language, output).sound:
            return "the output does not parse"
        return compare(_texts(language, output))

    return check


def _texts(language: Language, text: str) -> list[str]:
    return [leaf for leaf, _ in leaves(language, text)]


def _is_within(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether all of `part` stands in `whole` in its order, with more between."""
    rest = iter(whole)
    return all(leaf in rest for leaf in part)
