"""What a file holds, as far as cutting and checking need it: functions with bodies and comments.

One form for four languages; `python_outline` and `grammars` fill it in. Offsets are characters.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """Part of a text, from `start` up to `end`."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """The part."""
        return text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method that has a body."""

    name: str
    whole: Span
    """Without the comment before it, with decorators and attributes."""
    body: Span
    """What is to be written where the head is given: between the braces, or below the docstring."""
    documentation: Span | None
    """Its doc comment in whole lines, so that the text without it is well formed."""
    public: bool
    """Seen from outside the module, by the language's own rule or custom."""
    top_level: bool


@dataclass(frozen=True, slots=True)
class Outline:
    """A parsed file."""

    functions: tuple[Function, ...]
    sound: bool
    """Whether all of it could be parsed."""
