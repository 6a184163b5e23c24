"""Runs `redraft` inside the test's process, against the scripted engine and a home of its own."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from redraft import cli, engines
from scripted_engine import ENTRY, Script

FENCE = "```\n"


@dataclass(frozen=True, slots=True)
class Finished:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on stdout."""
        (line,) = self.out.splitlines()
        return json.loads(line)


Redraft = Callable[..., Finished]


def make_redraft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Redraft:
    """`redraft(*arguments, answer=…, stdin=…)`, run in an empty project below `tmp_path`."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setitem(engines.BUILT_IN, "fake", ENTRY)
    for name in ("REDRAFT_MODEL", "NO_COLOR", "FORCE_COLOR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("REDRAFT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REDRAFT_ENGINE", "fake")

    def redraft(
        *arguments: str, answer: str = "", stdin: bytes | io.TextIOWrapper | None = b""
    ) -> Finished:
        Script.answer = answer.encode()
        if isinstance(stdin, bytes):
            given = tmp_path / "stdin"
            given.write_bytes(stdin)
            stdin = given.open(encoding="utf-8")
        monkeypatch.setattr("sys.stdin", stdin)
        capfd.readouterr()
        code = cli.run(arguments)
        printed = capfd.readouterr()
        return Finished(code, printed.out, printed.err)

    return redraft
