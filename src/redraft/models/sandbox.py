"""Runs a Jinja template from a weights file without letting it reach anything.

Attribute access and calls are limited by Jinja's own sandbox. On top of that the length of the
output, of sequences made by `range` and of products is bounded. That stops accidents and simple
bombs; the time and memory of a template that is determined to waste them are not bounded. This
module does not know what a template is for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, NoReturn

import jinja2
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.nodes import Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

_MOST_ROUNDS = 100_000
_LARGEST_PRODUCT = 1 << 20


class TemplateFailed(Exception):
    """The template is wrong or did what it must not; the text says what."""


class TemplateRefused(TemplateFailed):
    """The template itself rejects what it was given, by `raise_exception`."""


def run_template(source: str, variables: Mapping[str, object], room: int) -> str:
    """The template's output, of at most `room` characters.

    Raises TemplateRefused and TemplateFailed. What templates expect is there: `raise_exception`,
    `strftime_now`, `tojson` without HTML escapes, `break` and `continue`, `generation` blocks.
    """
    try:
        template = _compiled(source)
        pieces = []
        for piece in template.generate(**variables, range=_bounded_range()):
            room -= len(piece)
            if room < 0:
                raise TemplateFailed("its output has no end")
            pieces.append(piece)
        return "".join(pieces)
    except TemplateFailed:
        raise
    except (TemplateError, RecursionError) as error:
        raise TemplateFailed(_one_line(error)) from error
    except Exception as error:
        # A template can do anything that Python expressions can, and so fail in any way.
        raise TemplateFailed(f"{type(error).__name__}: {_one_line(error)}") from error


class _Generation(Extension):
    """`{% generation %}…{% endgeneration %}` marks the assistant's part for training; here it
    stands for its content."""

    tags = {"generation"}  # noqa: RUF012  # as the base class has it

    def parse(self, parser: Parser) -> list[Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox, with products that could fill the memory refused."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """See Jinja: called instead of the operators named above."""
        if operator == "**" and not (abs(left) < 1 << 16 and abs(right) < 64):
            raise SecurityError("it computes a huge power")
        if operator == "*":
            for one, other in ((left, right), (right, left)):
                size = len(one) if hasattr(one, "__len__") else 1
                if isinstance(other, int) and size * abs(other) > _LARGEST_PRODUCT:
                    raise SecurityError("it multiplies text beyond measure")
        return super().call_binop(context, operator, left, right)


@lru_cache(maxsize=8)
def _compiled(source: str) -> jinja2.Template:
    environment = _Environment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _Generation]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    return environment.from_string(source)


def _bounded_range() -> Callable[..., range]:
    """`range`, of so many numbers in all its uses together."""
    left = _MOST_ROUNDS

    def bounded(*arguments: int) -> range:
        nonlocal left
        numbers = range(*arguments)
        left -= len(numbers)
        if left < 0:
            raise SecurityError("it counts without end")
        return numbers

    return bounded


def _raise_exception(message: object = "") -> NoReturn:
    raise TemplateRefused(f"it rejects the messages: {_one_line(message)}")


def _strftime_now(form: str) -> str:
    return datetime.now().strftime(form)


def _to_json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=min(indent, 16) if indent else indent)


def _one_line(said: object) -> str:
    return " ".join(str(said).split())[:160].rstrip(".")
