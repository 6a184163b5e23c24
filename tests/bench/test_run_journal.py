"""The journal of finished rows: resumption, refusals, torn lines, two benches at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.bench.journal import Journal
from redraft.errors import InputError, UsageError

HOLDS_FOR = {"commit": "abc", "settings": {"policy": "cost", "seed": 0}}


def rows_of(
    folder: Path, holds_for: dict[str, object] = HOLDS_FOR, fresh: bool = False
) -> list[dict[str, object]]:
    with Journal(folder, "edits", holds_for, fresh) as journal:
        return list(journal.rows)


def test_rows_are_there_again(tmp_path: Path) -> None:
    with Journal(tmp_path / "new", "edits", HOLDS_FOR) as journal:
        journal.append({"name": "one"})
        journal.append({"name": "two"})
    assert rows_of(tmp_path / "new") == [{"name": "one"}, {"name": "two"}]
    with Journal(tmp_path / "new", "edits", HOLDS_FOR) as journal:
        journal.append({"name": "three"})
        assert [row["name"] for row in journal.rows] == ["one", "two", "three"]
        journal.discard()
    assert rows_of(tmp_path / "new") == []


@given(cut=st.integers(1, 12))
def test_a_torn_last_line_is_dropped(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    folder = tmp_path_factory.mktemp("journal")
    with Journal(folder, "edits", HOLDS_FOR) as journal:
        journal.append({"name": "one"})
        journal.append({"name": "two"})
    content = journal.path.read_bytes()
    journal.path.write_bytes(content[: -1 - cut])
    with Journal(folder, "edits", HOLDS_FOR) as journal:
        assert journal.rows == [{"name": "one"}]
        journal.append({"name": "again"})
    assert rows_of(folder) == [{"name": "one"}, {"name": "again"}]


@pytest.mark.parametrize(
    ("other", "word"),
    [
        ({"commit": "def", "settings": HOLDS_FOR["settings"]}, "commit abc"),
        ({"commit": "abc", "settings": {"policy": "none", "seed": 0}}, "settings"),
        ({**HOLDS_FOR, "corpus": "x"}, "corpus null"),
        ({"commit": "abc"}, "settings"),
    ],
)
def test_rows_of_something_else_are_refused(
    tmp_path: Path, other: dict[str, object], word: str
) -> None:
    with Journal(tmp_path, "edits", HOLDS_FOR) as journal:
        journal.append({"name": "one"})
    with pytest.raises(UsageError, match=word):
        rows_of(tmp_path, other)
    assert rows_of(tmp_path) == [{"name": "one"}]
    assert rows_of(tmp_path, other, fresh=True) == []
    assert rows_of(tmp_path, other) == []


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    with Journal(tmp_path, "edits", HOLDS_FOR):
        with pytest.raises(UsageError, match="another bench"):
            rows_of(tmp_path)
        with Journal(tmp_path, "functions", HOLDS_FOR):
            pass
    assert rows_of(tmp_path) == []


@pytest.mark.parametrize("content", [b"", b"\n", b"no json\n", b"[]\n", b'{"commit":"abc"'])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "edits.unfinished.jsonl").write_bytes(content)
    with pytest.raises(InputError, match="--fresh"):
        rows_of(tmp_path)
    assert rows_of(tmp_path, fresh=True) == []


def test_damage_in_the_middle_is_refused(tmp_path: Path) -> None:
    with Journal(tmp_path, "edits", HOLDS_FOR) as journal:
        journal.append({"name": "one"})
    lines = journal.path.read_bytes() + b'{"name\n{"name":"two"}\n'
    journal.path.write_bytes(lines)
    with pytest.raises(InputError, match="damaged"):
        rows_of(tmp_path)
