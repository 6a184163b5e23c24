"""Commands whose stdout or stderr cannot be written to, in this process and in one of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from amount import thorough
from broken_streams import broken_stdout
from command import FENCE, Redraft, make_redraft

EDIT = ("edit", "a.py", "-i", "rename value")
GENERATE = ("generate", "a constant")
COMMANDS = [
    EDIT,
    (*EDIT, "--json"),
    GENERATE,
    (*GENERATE, "--json"),
    ("config",),
    ("config", "--json"),
    ("models", "list"),
    ("explain-run", "--help"),
    ("--help",),
    ("--version",),
]


@pytest.fixture
def redraft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Redraft:
    return make_redraft(tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("full", 2, ["redraft: standard output cannot be written: No space left on device"]),
        ("closed", 2, ["redraft: standard output cannot be written: it is closed"]),
        ("reader gone", 141, []),
    ],
)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_stdout_that_takes_nothing_is_told_in_one_line(
    redraft: Redraft,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    name: str,
    code: int,
    said: list[str],
) -> None:
    Path("a.py").write_text("value = 1\n")
    with broken_stdout(name) as stdout:
        monkeypatch.setattr("sys.stdout", stdout)
        done = redraft(*command, answer="number = 1\n" + FENCE)
    lines = [line for line in done.err.splitlines() if line.startswith("redraft: ")]
    assert (done.code, lines) == (code, said)
    assert "Traceback" not in done.err


def in_shell(
    command: str, folder: Path, stdout: int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    """A line of bash in which `$redraft` is the program."""
    variables = {
        **os.environ,
        "redraft": f"{sys.executable} -m redraft",
        "REDRAFT_HOME": str(folder),
        "REDRAFT_ENGINE": "fake",
    }
    return subprocess.run(
        ["bash", "-c", command],
        env=variables,
        cwd=folder,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("$redraft config >/dev/full", 2, "standard output cannot be written: No space left"),
        ("$redraft --version >&-", 2, "standard output cannot be written: it is closed"),
        ("$redraft --version >/dev/null 2>&-", 0, ""),
        pytest.param("$redraft edit no.py -i x 2>&-", 2, "", marks=thorough),
        ("$redraft edit no.py -i x 2>/dev/full", 2, ""),
        pytest.param("$redraft --version <&- >&- 2>&-", 2, "", marks=thorough),
    ],
)
def test_a_process_whose_streams_are_broken(
    tmp_path: Path, command: str, code: int, said: str
) -> None:
    done = in_shell(command, tmp_path)
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == bool(said)
    assert said in done.stderr


def test_a_process_whose_reader_has_gone(tmp_path: Path) -> None:
    reading, stdout = os.pipe()
    os.close(reading)
    done = in_shell("$redraft config", tmp_path, stdout)
    os.close(stdout)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("width", ["0", "1", "19", "²", "x", "99999"])
def test_a_width_that_is_of_no_use_is_ignored(
    redraft: Redraft, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    usual = redraft("config").out
    monkeypatch.setenv("COLUMNS", width)
    assert redraft("config").out == usual
    assert usual
