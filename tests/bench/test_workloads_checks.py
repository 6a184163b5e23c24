"""Every kind of check accepts a good edit, and refuses the unchanged file and a broken one."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from redraft.bench.workloads.checks import (
    Predicate,
    build_check,
    contains,
    defines,
    imports,
    keeps_rest,
    ordered,
    same_code,
    without,
)
from redraft.bench.workloads.code_checks import (
    calling,
    extracts,
    f_string,
    fixes,
    grouped,
    has_parameter,
    lacks_parameter,
    passes,
    percent_format,
    raising,
    renames,
)
from redraft.bench.workloads.text_checks import (
    documented,
    has_tests,
    typed,
)

SOURCE = '''import os

LIMIT = 3


def shorten(text, size=LIMIT):
    """Cut a text.

    Args:
        text: any.
    """
    if len(text) > size:
        text = text[:size] + "..."
    return text


def describe(path, loud=False):
    name = shorten(os.path.basename(path))
    if loud:
        name = name.upper()
    return "file %s" % name


class Pair:
    def __init__(self, left, right=0):
        self.left = left
        self.right = right

    def total(self):
        return self.left + self.right
'''
TYPED = (
    SOURCE.replace("(text, size=LIMIT)", "(text: str, size: int = LIMIT) -> str")
    .replace("(path, loud=False)", "(path: str, loud: bool = False) -> str")
    .replace("(self, left, right=0)", "(self, left: int, right: int = 0) -> None")
    .replace("def total(self)", "def total(self) -> int")
)
DOCUMENTED = (
    SOURCE.replace(
        "loud=False):\n", 'loud=False):\n    """Name.\n\n    Args:\n        path: x.\n    """\n'
    )
    .replace(
        "right=0):\n",
        'right=0):\n        """Make.\n\n        Args:\n            left: x.\n        """\n',
    )
    .replace("class Pair:\n", 'class Pair:\n    """Two."""\n\n')
    .replace("total(self):\n", 'total(self):\n        """Sum."""\n')
)
GROUPED = """import os

LIMIT = 3


class Names:
    @staticmethod
    def shorten(text, size=LIMIT):
        if len(text) > size:
            text = text[:size] + "..."
        return text

    @staticmethod
    def describe(path, loud=False):
        name = Names.shorten(os.path.basename(path))
        if loud:
            name = name.upper()
        return "file %s" % name

""" + SOURCE[SOURCE.index("class Pair") :]
TESTS = """

class NamesTest(unittest.TestCase):
    def test_shorten(self):
        self.assertEqual(shorten("abcd"), "abc...")
        self.assertEqual(shorten("ab"), "ab")

    def test_describe(self):
        self.assertEqual(describe("a/b"), "file b")
        self.assertEqual(describe("a/b", True), "file B")
"""
SUFFIX = """def _suffix(text, size):
    return "..." if len(text) > size else ""


"""
EXTRACTED = SOURCE.replace(
    '    if len(text) > size:\n        text = text[:size] + "..."\n    return text\n',
    "    return text[:size] + _suffix(text, size)\n",
).replace("def shorten", SUFFIX + "def shorten", 1)


@dataclass(frozen=True)
class Case:
    """A check's predicates, an edit that satisfies them and one that breaks something."""

    predicates: tuple[Predicate, ...]
    good: str
    bad: str
    source: str = SOURCE


CASES = {
    "rename": Case(
        (renames(("shorten", "cut_text")),),
        SOURCE.replace("shorten", "cut_text"),
        SOURCE.replace("def shorten", "def cut_text"),
    ),
    "rename parameter": Case(
        (renames(("loud", "upper_case")),),
        SOURCE.replace("loud", "upper_case"),
        SOURCE.replace("loud", "upper_case").replace("LIMIT = 3", "LIMIT = 4"),
    ),
    "types": Case((same_code, typed()), TYPED, TYPED.replace("-> int", "")),
    "types, code changed": Case(
        (same_code, typed()), TYPED, TYPED.replace("name.upper()", "name.lower()")
    ),
    "docstrings": Case(
        (same_code, documented(("Args:",), classes=True)),
        DOCUMENTED,
        DOCUMENTED.replace('"""Two."""', "size = 2"),
    ),
    "parameter": Case(
        (
            keeps_rest(touched=("shorten", "describe")),
            has_parameter("shorten", "mark", "'...'"),
            has_parameter("describe", "mark", "'...'"),
            passes("describe", "shorten", "mark"),
        ),
        SOURCE.replace('+ "..."', "+ mark")
        .replace("size=LIMIT)", 'size=LIMIT, mark="...")')
        .replace("loud=False)", 'loud=False, mark="...")')
        .replace("basename(path))", "basename(path), mark=mark)"),
        SOURCE.replace("size=LIMIT)", 'size=LIMIT, mark="...")').replace(
            "loud=False)", 'loud=False, mark="...")'
        ),
    ),
    "remove parameter": Case(
        (keeps_rest(touched=("describe",)), lacks_parameter("describe", "loud")),
        SOURCE.replace(", loud=False", "").replace(
            "    if loud:\n        name = name.upper()\n", ""
        ),
        SOURCE.replace(", loud=False", ""),
    ),
    "extract": Case(
        (
            keeps_rest(touched=("shorten",), added=("_suffix",)),
            extracts("shorten", "_suffix", ("len",)),
        ),
        EXTRACTED,
        SOURCE.replace("def shorten", SUFFIX + "def shorten", 1),
    ),
    "replace construct": Case(
        (
            keeps_rest(touched=("describe",)),
            without("% formatting", percent_format),
            contains("f-strings", f_string, "describe"),
        ),
        SOURCE.replace('"file %s" % name', 'f"file {name}"'),
        SOURCE.replace('"file %s" % name', '"file " + name'),
    ),
    "bug fix": Case(
        (
            keeps_rest(touched=("shorten",)),
            fixes("shorten", [SOURCE, SOURCE.replace("len(text) > size", "size < len(text)")]),
        ),
        SOURCE.replace("len(text) > size", "size < len(text)"),
        SOURCE.replace("len(text) > size", "len(text) == size"),
        SOURCE.replace("len(text) > size", "len(text) < size"),
    ),
    "reorder": Case(
        (keeps_rest(), ordered(("describe", "shorten", "Pair"))),
        "import os\n\nLIMIT = 3\n\n\n"
        + SOURCE[SOURCE.index("def describe") : SOURCE.index("class Pair")]
        + SOURCE[SOURCE.index("def shorten") : SOURCE.index("def describe")]
        + SOURCE[SOURCE.index("class Pair") :],
        SOURCE.replace("class Pair", "def describe(path):\n    return path\n\n\nclass Pair"),
    ),
    "errors": Case(
        (
            keeps_rest(touched=("shorten",)),
            contains("ValueError", raising("ValueError"), "shorten"),
        ),
        SOURCE.replace(
            "    if len", "    if size < 0:\n        raise ValueError(size)\n    if len"
        ),
        SOURCE.replace("    if len", "    if size < 0:\n        ValueError(size)\n    if len"),
    ),
    "logging": Case(
        (
            keeps_rest(touched=("describe",)),
            imports("logging"),
            contains("debug calls", calling("debug"), "describe"),
        ),
        SOURCE.replace("import os", "import logging\nimport os").replace(
            "    if loud", "    logging.debug(name)\n    if loud"
        ),
        SOURCE.replace("import os", "import logging\nimport os"),
    ),
    "method": Case(
        (keeps_rest(added=("Pair.__repr__",)), defines("Pair.__repr__")),
        SOURCE + "\n    def __repr__(self):\n        return repr(self.left)\n",
        SOURCE + "\n    def __str__(self):\n        return repr(self.left)\n",
    ),
    "tests": Case(
        (keeps_rest(added=("*",)), has_tests(("shorten", "describe"), 2)),
        "import unittest\n" + SOURCE + TESTS,
        "import unittest\n" + SOURCE + TESTS.replace("describe(", "shorten("),
    ),
    "group": Case(
        (
            keeps_rest(touched=("shorten", "describe"), added=("Names",)),
            grouped("Names", ("shorten", "describe")),
        ),
        GROUPED,
        GROUPED.replace("Names.shorten(", "shorten("),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_check_accepts_the_edit_and_nothing_less(name: str) -> None:
    case = CASES[name]
    check = build_check(case.source, case.predicates)
    assert case.good != case.source
    assert case.bad not in (case.good, case.source)
    assert check(case.good) is None
    assert check(case.source)
    assert check(case.bad)
    assert check(case.good[: len(case.good) // 2] + "\n    (")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (SOURCE.replace("self.left + self.right", "self.left"), "Pair.total was changed"),
        (SOURCE.replace("def total", "def sum_up"), "Pair.total is gone"),
        (SOURCE.replace("LIMIT = 3", "LIMIT = 4"), "a top-level statement was changed"),
        (SOURCE + "\n\ndef extra():\n    return 1\n", "extra was added"),
        (SOURCE.replace("right=0", "right=1"), "Pair.__init__ was changed"),
        (SOURCE.replace("class Pair", "class Pair(tuple)"), "Pair was changed"),
    ],
)
def test_what_was_not_asked_for_is_seen(changed: str, reason: str) -> None:
    assert changed != SOURCE
    assert build_check(SOURCE, (keeps_rest(touched=("shorten",)),))(changed) == reason


def test_docstrings_comments_and_types_are_no_change_of_code() -> None:
    for text in (SOURCE, TYPED, DOCUMENTED):
        assert build_check(SOURCE, (same_code,))(text) is None
        assert build_check(SOURCE, (same_code,))("# note\n" + text) is None


def test_another_order_or_an_added_statement_is_a_change_of_code() -> None:
    check = build_check(SOURCE, (same_code,))
    assert check(CASES["reorder"].good) == "the definitions are in another order"
    assert check(SOURCE + "\nprint(LIMIT)\n") == "a top-level statement was added"


def test_null_bytes_and_empty_output_are_refused() -> None:
    check = build_check(SOURCE, (same_code,))
    assert "does not parse" in str(check("x = '\0'\n"))
    assert check("") == "shorten is gone"
