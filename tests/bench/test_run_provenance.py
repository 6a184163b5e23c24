"""Where figures come from: commit, checksums, what may not be named."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

import redraft
from redraft.bench import plans, provenance
from redraft.config import Settings


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a package where redraft's is, and the process taken to be of it."""
    package = tmp_path / "clone" / "src" / "redraft"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("x = 1\n")
    root = tmp_path / "clone"
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, *words], cwd=root, check=True)
    monkeypatch.setattr(redraft, "__file__", str(package / "__init__.py"))
    return root


def test_a_changed_tree_is_marked(clone: Path) -> None:
    clean = provenance.code()
    assert len(clean.commit) == 40
    (clone / "src" / "redraft" / "__init__.py").write_text("x = 2\n")
    dirty = provenance.code()
    assert dirty.commit == f"{clean.commit}-dirty"
    assert dirty.source_sha256 != clean.source_sha256


def test_the_repository_around_an_installed_package_is_not_ours(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = clone / "lib" / "site-packages" / "redraft"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("x = 1\n")
    monkeypatch.setattr(redraft, "__file__", str(installed / "__init__.py"))
    assert provenance.code().commit == f"redraft {redraft.__version__}"


def test_no_place_on_this_machine_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = tmp_path / "some.gguf"
    settings = Settings(model=str(weights), small_model=str(weights), home=tmp_path)
    record = provenance.settings_record(settings)
    assert record["model"] == "some.gguf" and str(tmp_path) not in str(record)
    words = ["redraft", "bench", "functions", f"--path={weights}", "-o", str(tmp_path), "a b"]
    monkeypatch.setattr("sys.argv", words)
    assert (
        plans.command_line() == f"redraft bench functions --path=some.gguf -o {tmp_path.name} 'a b'"
    )


def test_weights_outside_the_catalogue_are_read(tmp_path: Path) -> None:
    from dataclasses import replace

    from redraft.session import Session

    path = tmp_path / "weights.gguf"
    path.write_bytes(b"abc" * 1000)
    with Session(Settings(engine="fake", home=tmp_path, drafters=())) as session:
        assert provenance.weights_sha256(session.loaded) is None
        loaded = replace(session.loaded, path=path)
        assert provenance.weights_sha256(loaded) == hashlib.sha256(b"abc" * 1000).hexdigest()
        assert provenance.weights_sha256(replace(loaded, sha256="known")) == "known"


def test_the_machine_is_described() -> None:
    machine = provenance.machine(2)
    assert machine["threads"] == 2 and machine["processor"]
    assert provenance.moment()["time"]
