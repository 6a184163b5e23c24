"""Cutting a stand-alone file out of a module."""

from __future__ import annotations

import ast

import pytest

from redraft.bench.workloads.cut import cut

MODULE = '''"""Of no use."""
import os
import sys, re
from math import ceil
try:
    from fast import quick
except ImportError:
    quick = None

SIZE = 4
DOUBLE = SIZE * 2  # twice
OTHER = 1


@staticmethod
def first(a, item=None):
    """Say it.

    At length.
    """

    # kept
    return re.sub('x', "y", a) + str(DOUBLE)


def second(OTHER):
    """Only this."""


class Third:
    """Words."""

    def go(self):
        """More."""
        return quick or ceil(1)
'''


def test_definitions_come_with_what_they_use_and_nothing_else() -> None:
    assert (
        cut(MODULE, ("first",))
        == '''import sys, re

SIZE = 4
DOUBLE = SIZE * 2  # twice


@staticmethod
def first(a, item=None):
    """Say it.

    At length.
    """

    # kept
    return re.sub('x', "y", a) + str(DOUBLE)
'''
    )


def test_guarded_imports_come_whole_and_docstrings_can_go() -> None:
    assert (
        cut(MODULE, ("Third", "first"), docstrings=False)
        == """import sys, re
from math import ceil
try:
    from fast import quick
except ImportError:
    quick = None

SIZE = 4
DOUBLE = SIZE * 2  # twice


@staticmethod
def first(a, item=None):
    # kept
    return re.sub('x', "y", a) + str(DOUBLE)


class Third:
    def go(self):
        return quick or ceil(1)
"""
    )


def test_a_docstring_that_is_the_whole_body_stays() -> None:
    text = cut(MODULE, ("second",), docstrings=False)
    assert text == 'def second(OTHER):\n    """Only this."""\n'
    ast.parse(text)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="does not define fourth"):
        cut(MODULE, ("first", "fourth"))
