"""Hypothesis profiles, engines, and what a skip means on a build machine."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from amount import FAST_EXAMPLES, THOROUGH_EXAMPLES
from availability import ON_CI, small_disk_at, unavailable
from memory_weights import open_memory
from redraft.engines import Opened, Opening, open_engine
from redraft.errors import EngineUnavailable, ModelMissing
from redraft.models import find

if TYPE_CHECKING:
    from serving import Served

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # a build machine may start this in the background, where Ctrl-C is ignored, and programs under
    # test would inherit that; a handler of ours is not inherited
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("fast", max_examples=FAST_EXAMPLES, deadline=None)
settings.register_profile("thorough", max_examples=THOROUGH_EXAMPLES, deadline=None)
settings.register_profile("ci", settings.get_profile("thorough"), derandomize=True, print_blob=True)
settings.load_profile("ci" if ON_CI else "fast")

SMALL, LARGE = "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"
WEIGHTLESS = ("fake", "memory")
ENGINES = (
    pytest.param("fake", id="fake"),
    pytest.param("memory", id="memory"),
    pytest.param("ik", id="ik", marks=pytest.mark.models),
    pytest.param("llamacpp", id="llamacpp", marks=pytest.mark.llamacpp),
)


def pytest_configure() -> None:
    """What tests start hears SIGHUP, also where the tests themselves were started by nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Iterator[pytest.TestReport]:
    """On a build machine a skipped test has failed, however it was skipped."""
    report = yield
    if ON_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped on a build machine: {report.longrepr}"
    return report


def weights(model: str) -> Path:
    """The file of default weights; ends the test where it is not on this machine."""
    try:
        return find(model)
    except ModelMissing as error:
        unavailable(str(error))


def opened_engine(name: str, opening: Opening) -> Opened:
    """An engine; ends the test where it is not installed."""
    if name == "memory":
        return open_memory(opening)
    try:
        return open_engine(name, opening)
    except EngineUnavailable as error:
        unavailable(str(error))


@pytest.fixture(scope="session", params=ENGINES)
def engine_name(request: pytest.FixtureRequest) -> str:
    """Each built-in engine, and what ik and llamacpp share over a library in memory."""
    return str(request.param)


@pytest.fixture(scope="session")
def opened(engine_name: str) -> Iterator[Opened]:
    """An open engine with the small weights, room for 2,048 tokens and 3 live sequences."""
    path = Path() if engine_name in WEIGHTLESS else weights(SMALL)
    opened = opened_engine(engine_name, Opening(path, context_length=2048, live_sequences=3))
    yield opened
    opened.engine.close()


@pytest.fixture
def reopen(engine_name: str) -> Iterator[Callable[..., Opened]]:
    """Opens the engine once more: `reopen(context_length, live_sequences)`."""
    path = Path() if engine_name in WEIGHTLESS else weights(SMALL)
    all_opened = []

    def open_again(context_length: int, live_sequences: int = 2) -> Opened:
        opening = Opening(path, context_length=context_length, live_sequences=live_sequences)
        all_opened.append(opened_engine(engine_name, opening))
        return all_opened[-1]

    yield open_again
    for opened in all_opened:
        opened.engine.close()


@pytest.fixture(scope="session")
def small_ik() -> Iterator[Opened]:
    """The ik engine with the small weights and room for 4,096 tokens."""
    opened = opened_engine("ik", Opening(weights(SMALL), context_length=4096))
    yield opened
    opened.engine.close()


@pytest.fixture(scope="session")
def large_ik() -> Iterator[Opened]:
    """The ik engine with the default weights and room for 4,096 tokens."""
    opened = opened_engine("ik", Opening(weights(LARGE), context_length=4096))
    yield opened
    opened.engine.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for the tests that leave it as they found it."""
    from serving import served  # lies beside those tests

    with served(tmp_path_factory.mktemp("server"), context=2048, max_tokens=24) as running:
        yield running


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 128 KB."""
    with small_disk_at(tmp_path / "disk", 128) as folder:
        yield folder
