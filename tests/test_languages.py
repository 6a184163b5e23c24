"""Languages by a file's name and by what a user calls them."""

from __future__ import annotations

import pytest

from redraft.errors import UsageError
from redraft.terminal.languages import chosen_language, known_languages, language_of


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("a.py", "python"),
        ("A.PY", "python"),
        ("x/Makefile", "makefile"),
        ("CMakeLists.txt", "cmake"),
        ("a.yml", "yaml"),
        ("a.nothing", ""),
        ("", ""),
    ],
)
def test_a_name_tells_its_language(name: str, language: str) -> None:
    assert language_of(name) == language


@pytest.mark.parametrize(
    ("given", "language"),
    [("Go", "go"), ("ts", "typescript"), (".rs", "rust"), ("C++", "cpp"), ("bash", "shell")],
)
def test_a_language_is_known_by_name_and_by_ending(given: str, language: str) -> None:
    assert chosen_language(given, "a.py") == language


def test_each_known_language_may_be_given() -> None:
    assert all(chosen_language(name, "") == name for name in known_languages())


@pytest.mark.parametrize("given", ["klingon", "pyhton", ".", "..", "a/b"])
def test_others_are_refused(given: str) -> None:
    with pytest.raises(UsageError, match=r"no known language|one word"):
        chosen_language(given, "a.py")


def test_close_ones_are_named() -> None:
    with pytest.raises(UsageError, match="did you mean python"):
        chosen_language("pyhton", "")
