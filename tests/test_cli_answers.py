"""`redraft complete` and `redraft generate` from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from command import FENCE, Redraft, make_redraft
from redraft.errors import UsageError
from redraft.terminal import outputs
from redraft.terminal.inputs import Place, parse_place, split_at

SOURCE = "def add(a, b):\n    return \n\n\nprint(add(1, 2))\n"


@pytest.fixture
def redraft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Redraft:
    return make_redraft(tmp_path, monkeypatch, capfd)


def test_complete_prints_what_fits(redraft: Redraft) -> None:
    Path("a.py").write_text(SOURCE)
    done = redraft("complete", "a.py:2:12", answer="a + b")
    assert (done.code, done.out) == (0, "a + b")


def test_complete_can_end_with_its_line(redraft: Redraft) -> None:
    Path("a.py").write_text(SOURCE)
    done = redraft("complete", "a.py:2:12", "--single-line", answer="a + b\n\nprint(")
    assert (done.code, done.out) == (0, "a + b")


def test_complete_reads_stdin_and_says_all_in_json(redraft: Redraft) -> None:
    done = redraft("complete", ":2:12", "--json", answer="a + b", stdin=SOURCE.encode())
    assert (done.json["text"], done.json["place"], done.json["kind"]) == (
        "a + b",
        ":2:12",
        "complete",
    )


def test_a_completion_at_its_limit_is_no_failure(redraft: Redraft) -> None:
    done = redraft("complete", ":1:1", "--max-tokens=3", answer="abcdef", stdin=b"x\n")
    assert (done.code, done.out) == (0, "abc")


def test_a_completion_of_nothing_is_told(redraft: Redraft) -> None:
    done = redraft("complete", ":1:1", answer="", stdin=b"x\n")
    assert (done.code, done.out.strip()) == (0, "")
    assert ":1:1: the model would insert nothing" in done.err


def test_generate_prints_code(redraft: Redraft) -> None:
    done = redraft("generate", "a constant", "--lang", "go", answer="const A = 1\n" + FENCE)
    assert (done.code, done.out) == (0, "const A = 1\n")


def test_generate_writes_a_file(redraft: Redraft) -> None:
    done = redraft("generate", "a constant", "-o", "a.go", answer="const A = 1\n" + FENCE)
    assert (done.code, done.out, Path("a.go").read_text()) == (0, "", "const A = 1\n")


def test_code_that_is_not_whole_is_shown_and_not_written(redraft: Redraft) -> None:
    answer = "const A = 1\n" + FENCE
    done = redraft("generate", "a constant", "--max-tokens", "5", answer=answer)
    assert (done.code, done.out) == (1, "const\n")
    assert "not whole" in done.err
    done = redraft("generate", "a constant", "-o", "a.go", "--max-tokens", "5", answer=answer)
    assert (done.code, Path("a.go").exists()) == (1, False)


def test_code_that_could_not_be_written_is_shown(
    redraft: Redraft, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path("a.go")
    path.write_text("package a\n")
    found = iter([b"package a\n", b"someone else's"])
    monkeypatch.setattr(outputs, "current", lambda path: next(found))
    done = redraft("generate", "a constant", "-o", "a.go", answer="const A = 1\n" + FENCE)
    assert (done.code, done.out, path.read_text()) == (2, "const A = 1\n", "package a\n")
    assert done.err.endswith(
        "redraft: a.go was changed meanwhile, so nothing was written; run it again\n"
    )


@given(text=some.text(alphabet="ab\ná", max_size=30), data=some.data())
def test_every_place_of_a_text_splits_it(text: str, data: some.DataObject) -> None:
    lines = text.split("\n")
    line = data.draw(some.integers(1, len(lines)))
    column = data.draw(some.integers(1, len(lines[line - 1]) + 1))
    before, after = split_at(text, Place("x", line, column))
    assert before + after == text
    assert (before.count("\n"), len(before.rpartition("\n")[2])) == (line - 1, column - 1)


@given(name=some.text(min_size=1), line=some.integers(1, 999), column=some.integers(1, 999))
def test_a_place_is_read_from_its_end(name: str, line: int, column: int) -> None:
    assert parse_place(f"{name}:{line}:{column}") == Place(name, line, column)
    assert parse_place(f":{line}:{column}") == Place("-", line, column)


@given(text=some.text())
def test_any_other_text_is_a_usage_error(text: str) -> None:
    try:
        place = parse_place(text)
    except UsageError as error:
        assert "FILE:LINE:COL" in str(error)
    else:
        assert place.line > 0 < place.column
