"""What is done before a bad input is given: files, settings, weights, signals."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from availability import unavailable
from gguf_writer import gguf_bytes, sample_values, write_sample
from redraft.engines import llamacpp
from redraft.models import CATALOGUE
from redraft.terminal import outputs
from scripted_engine import Script

SOURCE = "def find(a):\n    return a\n"


class Scene:
    """Prepares one bad input in the working directory; undoes what outlives the test."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._home = home
        self._monkeypatch = monkeypatch
        self._after: list[Callable[[], object]] = []
        self.stdin = b""
        self.stdin_is_closed = False

    def prepare(self, what: str) -> None:
        """Do what a row's `prepare` says."""
        if what.startswith("toml: "):
            Path("redraft.toml").write_text(what.removeprefix("toml: "))
        elif what.startswith("gguf: "):
            self._weights(what.removeprefix("gguf: "))
        elif what.startswith("REDRAFT_"):
            self._monkeypatch.setenv(*what.split("=", 1))
        elif what:
            getattr(self, "_" + what.replace(" ", "_").replace("-", "_"))()

    def end(self) -> None:
        """Undo."""
        for action in reversed(self._after):
            action()

    def _folder(self) -> None:
        Path("folder").mkdir()

    def _pipe(self) -> None:
        os.mkfifo("pipe")

    def _toml_is_a_folder(self) -> None:
        Path("redraft.toml").mkdir()

    def _toml_is_a_pipe(self) -> None:
        os.mkfifo("redraft.toml")

    def _dangling_link(self) -> None:
        Path("link").symlink_to("nowhere")

    def _link_loop(self) -> None:
        Path("link").symlink_to("link")

    def _binary(self) -> None:
        Path("a.py").write_bytes(b"a\0b")

    def _large(self) -> None:
        Path("a.py").write_bytes(b"x = 1\n" * 900_000)

    def _long(self) -> None:
        Path("a.py").write_text("x = 1\n" * 200)

    def _cp1252(self) -> None:
        Path("a.py").write_bytes(b"# \x80\xe4\n")

    def _changed_meanwhile(self) -> None:
        self._monkeypatch.setattr(outputs, "current", lambda path: b"someone else's")

    def _binary_stdin(self) -> None:
        self.stdin = b"\0\1"

    def _closed_stdin(self) -> None:
        self.stdin_is_closed = True

    def _removed_folder(self) -> None:
        Path("gone").mkdir()
        self._monkeypatch.chdir("gone")
        Path.cwd().rmdir()

    def _full_disk(self) -> None:
        self._mount("small", "size=16k")
        Path("small/a.py").write_text(SOURCE)
        with contextlib.suppress(OSError), Path("small/rest").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))

    def _read_only(self) -> None:
        if os.geteuid():
            Path("fixed").mkdir()
            Path("fixed/a.py").write_text(SOURCE)
            Path("fixed/a.py").chmod(0o444)
            return
        self._mount("fixed", "size=64k")  # root may write whatever its mode says
        Path("fixed/a.py").write_text(SOURCE)
        subprocess.run(["mount", "-o", "remount,ro", "fixed"], check=True)

    def _mount(self, name: str, options: str) -> None:
        folder = Path(name).absolute()
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        try:
            done = subprocess.run(command, capture_output=True, check=False)
        except FileNotFoundError:
            unavailable("the program mount is missing")
        if done.returncode:
            pytest.skip("mounting a small tmpfs needs root")
        self._after.append(lambda: subprocess.run(["umount", str(folder)], check=True))

    def _interrupt(self) -> None:
        self._signal_soon(signal.SIGINT)

    def _terminate(self) -> None:
        self._signal_soon(signal.SIGTERM)

    def _hang_up(self) -> None:
        self._signal_soon(signal.SIGHUP)

    def _signal_soon(self, number: signal.Signals) -> None:
        """While the run goes on, which is slow enough for that."""
        self._monkeypatch.setattr(Script, "slow", 0.01)
        self._monkeypatch.setattr(Script, "answer", b"x" * 1000)

        def send() -> None:
            runs = self._home / "runs"
            while not (runs.is_dir() and any(runs.iterdir())):
                time.sleep(0.01)
            os.kill(os.getpid(), number)

        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        self._after.append(thread.join)

    def _toml_in_latin_1(self) -> None:
        Path("redraft.toml").write_bytes(b"# \xe4\n")

    def _home_is_a_file(self) -> None:
        self._home.write_text("in the way")

    def _truncated_weights(self) -> None:
        path = self._home / "models" / CATALOGUE[0].file
        path.parent.mkdir(parents=True)
        path.write_bytes(b"GGUF\3\0\0\0")

    def _other_weights(self) -> None:
        path = self._home / "models" / CATALOGUE[1].file
        path.parent.mkdir(parents=True)
        path.write_bytes(b"GGUF\3\0\0\0")

    def _weights(self, what: str) -> None:
        path = Path("m.gguf")
        if what == "empty":
            path.write_bytes(b"")
        elif what == "text":
            path.write_text("these are no weights\n")
        elif what == "cut":
            path.write_bytes(gguf_bytes(sample_values())[:200])
        else:
            values = {
                str(key).replace("qwen2.", f"{what}."): value
                for key, value in sample_values().items()
            }
            path.write_bytes(gguf_bytes({**values, "general.architecture": what}))

    def _no_llamacpp(self) -> None:
        write_sample(Path("m.gguf"))

        def missing(name: str) -> str:
            raise importlib.metadata.PackageNotFoundError(name)

        self._monkeypatch.setattr(llamacpp, "version", missing)
        llamacpp.load.cache_clear()

    def _new_record(self) -> None:
        Path("new.jsonl").write_bytes(b'{"version":99}\n')


def stdin_of(scene: Scene) -> bytes | None:
    """What the command reads."""
    return None if scene.stdin_is_closed else scene.stdin
