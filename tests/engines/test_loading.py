"""Opening engines: the registry, and what a library says and calls while it loads."""

from __future__ import annotations

import ctypes
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from time import sleep

import pytest

from redraft import engines
from redraft.engines import Opening, ik_library, llamacpp
from redraft.engines.messages import LibraryMessages
from redraft.engines.progress import LoadProgress
from redraft.engines.watch import AbortFlag, Watch
from redraft.errors import EngineUnavailable


def test_known_names() -> None:
    assert engines.names()[:3] == ["ik", "llamacpp", "fake"]
    assert engines.default_name() in engines.names()


@pytest.mark.parametrize(
    ("system", "machine", "installed", "name"),
    [
        ("linux", "x86_64", {"ik-llama-cpp-python"}, "ik"),
        ("linux", "x86_64", {"ik-llama-cpp-python", "llama-cpp-python"}, "ik"),
        ("linux", "x86_64", {"llama-cpp-python"}, "llamacpp"),
        ("linux", "x86_64", set(), "ik"),
        ("linux", "aarch64", set(), "llamacpp"),
        ("darwin", "arm64", {"llama-cpp-python"}, "llamacpp"),
        ("darwin", "x86_64", {"ik-llama-cpp-python"}, "llamacpp"),
    ],
)
def test_the_default_is_what_the_machine_can_run(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str, installed: set[str], name: str
) -> None:
    def version(distribution: str) -> str:
        if distribution in installed:
            return "1.2"
        raise PackageNotFoundError(distribution)

    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr(engines, "version", version)
    assert engines.default_name() == name
    there = "ik-llama-cpp-python" in installed
    assert engines.identity("ik") == ("ik 1.2" if there else "ik (not installed)")
    assert engines.identity("fake") == "fake"
    assert engines.identity("of another package") == "of another package"


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(EngineUnavailable, match="'nope'; known are ik, llamacpp, fake"):
        engines.open_engine("nope", Opening(Path()))


def test_what_is_not_installed_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    for module in (ik_library, llamacpp):
        monkeypatch.setattr(module, "version", missing)
        with pytest.raises(EngineUnavailable, match="not installed; install it with: pip install"):
            module.load.__wrapped__()
        monkeypatch.setattr(module, "version", lambda name: "9.9")
        with pytest.raises(EngineUnavailable, match=r"9\.9.*pip install"):
            module.load.__wrapped__()


def test_messages_keep_the_telling_error() -> None:
    messages = LibraryMessages()
    assert messages.reason() == "the library gave no reason"
    for level, text in (
        (2, b"loading tensors\n"),
        (4, b"llama_model_load: error loading model: tensor 'a'\n is \xff broken\n"),
        (4, b"failed to load model\n"),
    ):
        messages.callback(level, text, None)
    assert messages.reason() == "tensor 'a' is \ufffd broken"
    messages.clear()
    messages.callback(4, b"x" * 1000, None)
    assert messages.reason() == "x" * 200


def test_progress_passes_shares_on() -> None:
    shares: list[float] = []
    progress = LoadProgress(shares.append)
    assert progress.callback(0.5, None) is True
    assert LoadProgress(None).callback(0.5, None) is True
    progress.raise_error()
    assert shares == [0.5]


def test_an_interrupt_while_loading_stops_the_library_and_arrives() -> None:
    def interrupt(share: float) -> None:
        raise KeyboardInterrupt

    progress = LoadProgress(interrupt)
    assert progress.callback(0.5, None) is False
    with pytest.raises(KeyboardInterrupt):
        progress.raise_error()


def test_the_abort_flag_reads_as_a_c_boolean() -> None:
    flag = AbortFlag()
    callback = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)(flag.function)
    for _ in range(2):
        assert not flag.is_set and callback(flag.data) is False
        flag.set()
        assert flag.is_set and callback(flag.data) is True
        flag.clear()


def test_a_watch_sets_the_flag_when_told() -> None:
    for answers, expected in (([False], False), ([True], True), ([False, False, True], True)):
        flag, left = AbortFlag(), list(answers)

        def cancelled(left: list[bool] = left) -> bool:
            return left.pop(0) if len(left) > 1 else left[0]

        with Watch(cancelled, flag):
            patience = 20 if not expected else 2000
            while not flag.is_set and patience:
                sleep(0.001)
                patience -= 1
        assert flag.is_set is expected
