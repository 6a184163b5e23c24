"""Fetching a pinned package with the real pip, from a folder instead of an index."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from amount import thorough
from redraft.bench.workloads import EDIT_PACKAGE, PackagePin, WorkloadMissing, package_sources
from redraft.bench.workloads.package import bench_cache

BACKEND = """
import pathlib

def prepare_metadata_for_build_wheel(directory, config_settings=None):
    info = pathlib.Path(directory, "sampler-1.0.dist-info")
    info.mkdir()
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\\nName: sampler\\nVersion: 1.0\\n")
    return info.name

def build_wheel(directory, config_settings=None, metadata_directory=None):
    raise AssertionError("nobody needs a wheel")
"""
FILES = {
    "sampler-1.0/PKG-INFO": "Metadata-Version: 2.1\nName: sampler\nVersion: 1.0\n",
    "sampler-1.0/pyproject.toml": (
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    ),
    "sampler-1.0/backend.py": BACKEND,
    "sampler-1.0/sampler/__init__.py": "",
    "sampler-1.0/sampler/words.py": "WORD = 'wörd'\n",
    "sampler-1.0/sampler/data.txt": "no code",
    "sampler-1.0/tests/test_words.py": "assert True\n",
}
SOURCES = {"sampler/__init__.py": "", "sampler/words.py": "WORD = 'wörd'\n"}


def archive_of(files: dict[str, str], link: tuple[str, str] | None = None) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
        if link:
            member = tarfile.TarInfo(link[0])
            member.type, member.linkname = tarfile.SYMTYPE, link[1]
            archive.addfile(member)
    return buffer.getvalue()


def pin_of(content: bytes) -> PackagePin:
    return PackagePin("sampler", "1.0", hashlib.sha256(content).hexdigest())


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for the package index; nothing else is reachable."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


def test_a_package_is_fetched_once_verified_and_read(index: Path, tmp_path: Path) -> None:
    content = archive_of(FILES)
    (index / "sampler-1.0.tar.gz").write_bytes(content)
    cache = tmp_path / "cache"
    assert dict(package_sources(pin_of(content), cache)) == SOURCES
    assert [path.name for path in cache.iterdir()] == ["sampler-1.0.tar.gz"]
    (index / "sampler-1.0.tar.gz").unlink()
    assert dict(package_sources(pin_of(content), cache)) == SOURCES


@thorough
def test_a_damaged_copy_in_the_cache_is_fetched_again(index: Path, tmp_path: Path) -> None:
    content = archive_of(FILES)
    (index / "sampler-1.0.tar.gz").write_bytes(content)
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "sampler-1.0.tar.gz").write_bytes(content[:-9])
    assert dict(package_sources(pin_of(content), cache)) == SOURCES
    assert (cache / "sampler-1.0.tar.gz").read_bytes() == content


@thorough
def test_other_bytes_than_the_pinned_are_refused(index: Path, tmp_path: Path) -> None:
    (index / "sampler-1.0.tar.gz").write_bytes(archive_of(FILES | {"sampler-1.0/extra": "x"}))
    cache = tmp_path / "cache"
    with pytest.raises(WorkloadMissing, match="other bytes than those pinned"):
        package_sources(pin_of(archive_of(FILES)), cache)
    assert list(cache.iterdir()) == []


def test_an_unknown_package_is_one_line(index: Path, tmp_path: Path) -> None:
    with pytest.raises(WorkloadMissing, match="pip cannot fetch") as caught:
        package_sources(pin_of(b""), tmp_path / "cache")
    assert "\n" not in str(caught.value)
    assert "sampler" in str(caught.value).split(": ", 1)[1]


def test_only_files_of_the_package_itself_are_read(tmp_path: Path) -> None:
    hostile = {
        "../sampler/up.py": "UP = 1\n",
        "/sampler/root.py": "ROOT = 1\n",
        "sampler-1.0/sampler/../../away.py": "AWAY = 1\n",
    }
    content = archive_of(FILES | hostile, link=("sampler-1.0/sampler/link.py", "/etc/passwd"))
    (tmp_path / "sampler-1.0.tar.gz").write_bytes(content)
    found = dict(package_sources(pin_of(content), tmp_path))
    assert {name for name in found if "passwd" in found[name] or "link" in name} == set()
    assert found.items() >= SOURCES.items()
    assert [path.name for path in tmp_path.iterdir()] == ["sampler-1.0.tar.gz"]


def test_an_archive_that_is_none_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "sampler-1.0.tar.gz").write_bytes(b"not a tar")
    with pytest.raises(WorkloadMissing, match=r"cannot be read as a tar\.gz"):
        package_sources(pin_of(b"not a tar"), tmp_path)


def test_a_cache_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WorkloadMissing, match="cannot read"):
        package_sources(pin_of(b""), tmp_path / "file")


def test_the_cache_follows_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("REDRAFT_HOME", raising=False)
    assert bench_cache() == tmp_path / "xdg" / "redraft" / "bench"
    monkeypatch.setenv("REDRAFT_HOME", str(tmp_path / "home"))
    assert bench_cache() == tmp_path / "home" / "bench"


def test_the_pin_names_a_full_hash() -> None:
    assert len(EDIT_PACKAGE.sha256) == 64
    assert EDIT_PACKAGE.archive == "boltons-25.0.0.tar.gz"
