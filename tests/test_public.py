"""What `import redraft` offers, and what it costs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from importlib.metadata import version

import pytest

import redraft

IMPORT_SECONDS = 0.150
HELP_SECONDS = 0.400
LISTING_SECONDS = 0.100
"""What looking for installed drafters and engines may add."""
WORK_SECONDS = 0.035
HEAVY = ("numpy", "pydantic", "rich", "typer", "jinja2", "huggingface_hub", "ctypes")


def test_every_public_name_is_there() -> None:
    for name in redraft.__all__:
        assert getattr(redraft, name) is not None
    assert redraft.__version__ == version("redraft")
    assert dir(redraft) == sorted(redraft.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = redraft.nonsense


def test_importing_loads_nothing_heavy() -> None:
    code = f"import redraft, sys; print([name for name in {HEAVY} if name in sys.modules])"
    assert python("-c", code).stdout.strip() == "[]"


def test_importing_and_help_are_quick() -> None:
    empty = processor_seconds("-c", "pass")
    assert within(empty + IMPORT_SECONDS, "-c", "import redraft")
    assert within(HELP_SECONDS, "-m", "redraft", "--help")
    assert within(HELP_SECONDS + LISTING_SECONDS, "-m", "redraft", "edit", "--help")


def test_help_with_the_names_of_drafters_and_engines_loads_nothing_heavy() -> None:
    code = "from redraft.cli import run; import sys; run(['edit', '--help']);"
    told = python(
        "-c",
        code + "print([n for n in ('numpy', 'ctypes', 'redraft.protocols') if n in sys.modules])",
    )
    assert told.stdout.splitlines()[-1] == "[]"
    assert "llamacpp" in told.stdout


def within(limit: float, *arguments: str) -> bool:
    """Whether one of a few runs takes no more processor time, on a machine as quick as those that
    the limits were set on: programs beside this one slow the processor itself down."""
    return any(processor_seconds(*arguments) < limit * slowness() for _ in range(6))


def slowness() -> float:
    """Processor time of a fixed piece of work, in units of what it takes on an idle machine."""
    before = time.process_time()
    assert sum(number * number for number in range(500_000)) > 0
    return max(1.0, (time.process_time() - before) / WORK_SECONDS)


def processor_seconds(*arguments: str) -> float:
    """Processor time of a run, user and system."""
    before = os.times()
    python(*arguments)
    after = os.times()
    spent = after.children_user + after.children_system
    return spent - before.children_user - before.children_system


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
