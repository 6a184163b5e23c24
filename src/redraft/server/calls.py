"""What one HTTP request asks of the engine, in no dialect. Frozen values."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from redraft.requests import Options, Request


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
