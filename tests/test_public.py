"""What `import redraft` offers, and what it costs."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version

import pytest

import redraft

IMPORT_SECONDS = 0.150
HELP_SECONDS = 0.400
HEAVY = ("numpy", "pydantic", "rich", "typer", "jinja2", "huggingface_hub", "ctypes", "tree_sitter")


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
    assert processor_seconds("-c", "import redraft") - empty < IMPORT_SECONDS
    assert processor_seconds("-m", "redraft", "--help") < HELP_SECONDS


def processor_seconds(*arguments: str) -> float:
    """Least processor time of a few runs: wall time would measure what else the machine does."""
    best = float("inf")
    for _ in range(3):
        before = os.times()
        python(*arguments)
        after = os.times()
        spent = after.children_user + after.children_system
        best = min(best, spent - before.children_user - before.children_system)
    return best


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
