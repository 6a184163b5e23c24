"""Ctrl-C and SIGTERM in a real terminal and process: the file stays, the exit code is 130."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pytest

import scripted_engine

SOURCE = "x = 1\n" * 20
EDIT = ("edit", "a.py", "-i", "change", "--apply")
INTERRUPTED = 130


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A slow engine, which answers with the file changed."""
    return {
        **os.environ,
        "HOME": str(tmp_path),
        "REDRAFT_HOME": str(tmp_path / "home"),
        "REDRAFT_ENGINE": "fake",
        "SCRIPT_ANSWER": SOURCE.replace("1", "2") + "```\n",
        "SCRIPT_SLOW": "0.01",
        "TERM": "xterm",
    }


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text(SOURCE)
    return path


Terminal = Callable[..., "pexpect.spawn[str]"]


@pytest.fixture
def terminal(file: Path, environment: dict[str, str]) -> Iterator[Terminal]:
    """Starts the program in a terminal: `terminal(*arguments, **variables)`."""
    children = []

    def start(*arguments: str, **variables: str) -> pexpect.spawn[str]:
        child = pexpect.spawn(
            sys.executable,
            [scripted_engine.__file__, *arguments],
            cwd=str(file.parent),
            env={**environment, **variables},  # type: ignore[arg-type]  # stubs: os._Environ
            encoding="utf-8",
            timeout=30,
        )
        children.append(child)
        return child

    yield start
    for child in children:
        child.close(force=True)


def ended(child: pexpect.spawn[str]) -> int | None:
    """The exit code, once the program has ended."""
    child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus


@pytest.mark.parametrize("moment", ["evaluating the prompt", "tokens/s"])
def test_ctrl_c_leaves_the_file(terminal: Terminal, file: Path, moment: str) -> None:
    child = terminal(*EDIT, SCRIPT_SLOW_PROMPT="0.01" if moment.startswith("evaluating") else "0")
    child.expect(moment)
    child.sendintr()
    child.expect("redraft: interrupted; no file was changed")
    assert ended(child) == INTERRUPTED
    assert [path.name for path in file.parent.iterdir() if path.is_file()] == ["a.py"]
    assert file.read_text() == SOURCE
    if moment == "tokens/s":
        told = terminal("explain-run")
        told.expect("edit: a.py: change")
        told.expect("interrupted|cancelled")


def test_the_panel_shows_progress_and_goes_away(terminal: Terminal, file: Path) -> None:
    child = terminal(*EDIT, SCRIPT_SLOW_PROMPT="0.003")
    for shown in ("evaluating the prompt", "%", "tokens/s", "of drafts accepted", "written"):
        child.expect(shown)
    assert ended(child) == 0
    assert file.read_text() == SOURCE.replace("1", "2")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_without_a_terminal_does_the_same(
    file: Path, environment: dict[str, str], number: signal.Signals
) -> None:
    process = subprocess.Popen(
        [sys.executable, scripted_engine.__file__, *EDIT],
        cwd=file.parent,
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stderr is not None
    assert b"editing a.py" in process.stderr.readline()
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (INTERRUPTED, b"")
    assert err.decode().splitlines()[-1] == "redraft: interrupted; no file was changed"
    assert file.read_text() == SOURCE


def wait_until_idle(process_id: int) -> None:
    """Until the process has done something and then nothing for half a second."""
    before = -1
    while (spent := processor_time(process_id)) == 0 or spent != before:
        before = spent
        time.sleep(0.5)


def processor_time(process_id: int) -> int:
    """Clock ticks in user and system mode."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_ctrl_c_while_stdin_is_read(terminal: Terminal) -> None:
    child = terminal("edit", "-", "-i", "change")
    wait_until_idle(child.pid)
    child.sendline("x = 1")
    child.sendintr()
    child.expect("redraft: interrupted")
    assert ended(child) == INTERRUPTED


def test_a_reader_that_goes_away_is_no_failure_worth_a_word(
    file: Path, environment: dict[str, str]
) -> None:
    command = f"{sys.executable} -m redraft config --json | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], env=environment, capture_output=True, cwd=file.parent, check=True
    )
    assert done.stderr == b""
    assert done.stdout.split()[-1] in (b"0", b"141")  # it may have finished before
    command = f"{sys.executable} -m redraft config --json >&-"
    done = subprocess.run(
        ["bash", "-c", command], env=environment, capture_output=True, cwd=file.parent, check=False
    )
    assert b"Traceback" not in done.stderr
