"""What one HTTP request asks of the engine, in no dialect. Frozen values."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from redraft.context import OtherFile
from redraft.requests import CompleteRequest, Options, Request

WINDOWS = "\r\n"


@dataclass(frozen=True, slots=True)
class Call:
    """One request: its choices, one run each, and how it wants to be answered."""

    runs: tuple[tuple[Request, Options], ...]
    """One per choice, in order. Equal ones are computed once."""
    urgent: bool = False
    """Whether somebody waits at a cursor."""
    stream: bool = False
    document: Hashable | None = None
    """Names the client and place it is for, where that is sure: a newer call takes its place."""
    line_end: str = "\n"
    """Of the text that was given, and so of the text that is answered; models write `\\n`."""


def completion(
    prefix: str, suffix: str, others: tuple[OtherFile, ...] = ()
) -> tuple[CompleteRequest, str]:
    """A request whose lines end as models know it, and the line end that the text had."""
    line_end = WINDOWS if WINDOWS in prefix or WINDOWS in suffix else "\n"
    before, after = (text.replace(line_end, "\n") for text in (prefix, suffix))
    return CompleteRequest(before, after, others=others), line_end
