"""Gaps to fill in: the rest of a line, or the body of a function, cut out of a real file.

What stood there is kept as a reference, for its length; other texts may be as good.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from redraft.bench.workloads.scenarios.archives import SourceFile
from redraft.bench.workloads.scenarios.files import order_of, outline, rough_tokens
from redraft.bench.workloads.scenarios.outline import Function

LINE_TOKENS = (8, 33)
BODY_TOKENS = (125, 400)
"""By `rough_tokens`, chosen so that real ones are 5 to 30, and 100 to 400."""
BEFORE, AFTER = 5_000, 2_000
"""Most characters of the file shown on either side of a gap, cut at a line."""

_PLACE = re.compile(r"(?<=[\w\])}\"'])(?=[\s(.,=:])|(?<=[(=,.:] )(?=\S)|(?<=[(.])(?=\w)")
"""Where somebody who types might pause: after a word, before what follows a sign."""
_COMMENT = ("//", "#", "*", "/*", '"""')


@dataclass(frozen=True, slots=True)
class Gap:
    """A place in a file: what stands before it, what after, and what stood there."""

    where: str
    """Function and, for a line, its number; tells gaps of a file apart."""
    prefix: str
    suffix: str
    reference: str


def line_gaps(file: SourceFile, seed: int) -> Iterator[Gap]:
    """One line in each function that has one to offer, cut at a random place."""
    for function in outline(file.language, file.text).functions:
        places = list(_places(file, function))
        if not places:
            continue
        cut, end = min(places, key=lambda one: order_of(seed, file.path, str(one[0])))
        number = file.text.count("\n", 0, cut) + 1
        yield _gap(file, f"{function.name}:{number}", cut, end)


def body_gaps(file: SourceFile) -> Iterator[Gap]:
    """The body of each documented function of the right size."""
    for function in outline(file.language, file.text).functions:
        size = rough_tokens(function.body.of(file.text))
        if function.documentation and BODY_TOKENS[0] <= size <= BODY_TOKENS[1]:
            yield _gap(file, function.name, function.body.start, function.body.end)


def _places(file: SourceFile, function: Function) -> Iterator[tuple[int, int]]:
    """(cut, end of the line) for every fair place in the function's body."""
    start = function.body.start
    for line in function.body.of(file.text).splitlines(keepends=True):
        end = start + len(line.rstrip("\n"))
        whole_line = line.endswith("\n") and line.strip()
        if whole_line and not line.strip().startswith(_COMMENT):
            first = start + len(line) - len(line.lstrip())
            for match in _PLACE.finditer(file.text, first + 1, end):
                rest = file.text[match.start() : end]
                if LINE_TOKENS[0] <= rough_tokens(rest) <= LINE_TOKENS[1]:
                    yield match.start(), end
        start += len(line)


def _gap(file: SourceFile, where: str, start: int, end: int) -> Gap:
    prefix, suffix = file.text[:start], file.text[end:]
    if len(prefix) > BEFORE:
        prefix = prefix[-BEFORE:].partition("\n")[2]
    if len(suffix) > AFTER:
        suffix = suffix[:AFTER].rpartition("\n")[0] + "\n"
    return Gap(where, prefix, suffix, file.text[start:end])
