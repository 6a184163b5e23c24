"""Each bad input gets its one line and exit code, and leaves the file as it was."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bad_inputs import TABLES, Row, page
from command import Redraft, make_redraft
from scenes import SOURCE, Scene, stdin_of
from scripted_engine import Script

ROWS = [row for rows in TABLES.values() for row in rows]
PAGE = Path(__file__).parents[2] / "docs" / "bad-inputs.md"


@pytest.fixture
def redraft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Redraft:
    return make_redraft(tmp_path, monkeypatch, capfd)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    scene = Scene(tmp_path / "home", monkeypatch)
    yield scene
    scene.end()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_a_bad_input_gets_one_line(row: Row, redraft: Redraft, scene: Scene) -> None:
    project = Path.cwd()
    (project / "a.py").write_text(SOURCE)
    scene.prepare(row.prepare)
    before = (project / "a.py").read_bytes()
    done = redraft(*row.command, answer=row.answer or Script.answer.decode(), stdin=stdin_of(scene))
    lines = [line for line in done.err.splitlines() if line.startswith("redraft: ")]
    assert len(lines) == 1, done.err
    assert re.fullmatch(pattern(row.message), lines[0]), lines[0]
    assert done.code == row.code
    assert "Traceback" not in done.err + done.out
    assert (project / "a.py").read_bytes() == before
    assert not [path for path in project.rglob("*") if "tmp" in path.name or path.name == "c.py"]


def pattern(message: str) -> str:
    """The regular expression of a row's message."""
    return "redraft: " + ".*".join(map(re.escape, message.split("…")))


def test_there_are_enough_of_them() -> None:
    assert len({row.what for row in ROWS}) == len(ROWS) >= 40


def test_the_page_shows_the_table() -> None:
    if os.environ.get("WRITE_DOCS"):
        PAGE.write_text(page())
    assert PAGE.read_text() == page(), "run 'make docs'"
