"""The syntax bench on small files, with bytes as tokens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from code_samples import SAMPLES
from redraft.bench.cli import app
from redraft.errors import InputError


def write(folder: Path) -> None:
    for name, suffix in (("python", "py"), ("go", "go"), ("tsx", "tsx")):
        (folder / f"sample.{suffix}").write_text(SAMPLES[name])


def run(*arguments: str) -> list[str]:
    result = CliRunner().invoke(app, ["syntax", *arguments, "--engine", "fake"])
    if result.exception is not None:
        raise result.exception
    return result.stdout.splitlines()


def test_agreement_times_and_proposals(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "out").mkdir()
    lines = run(str(tmp_path), "--offsets", "40", "-o", str(tmp_path / "out"), "--json")
    document = json.loads(Path(lines[-1]).read_text())
    assert json.loads(lines[0]) == document
    assert set(document["by_language"]) == {"python", "go", "tsx"}
    for one in document["by_language"].values():
        assert one["offsets"] == 40 and one["files"] == 1 and one["broken_files"] == 0
        assert one["agreement"]["depth"] == 1.0 and one["agreement"]["kind"] > 0.9
        assert 0 < one["median_ms"] <= one["p95_ms"] <= one["max_ms"]
    assert document["by_language"]["python"]["forced"]["block_indent"]["first_right"] > 0.5


def test_the_table_has_a_row_for_each_language(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "out").mkdir()
    table = "\n".join(run(str(tmp_path), "-o", str(tmp_path / "out")))
    assert all(name in table for name in ("python", "go", "tsx", "region"))


def test_no_source_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(InputError, match="no source file"):
        run(str(tmp_path))
    with pytest.raises(InputError, match="there is no file"):
        run(str(tmp_path / "nope"))
