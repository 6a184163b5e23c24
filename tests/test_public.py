"""What `import redraft` offers, and what it costs."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version

import pytest

import redraft
from amount import thorough

IMPORT_SECONDS = 0.150
HELP_SECONDS = 0.400
LIBRARIES = "import typer.main, typer.rich_utils, rich.markdown, rich.console, rich.columns"
COUNTED = "before = len(sys.modules); {what}; print(len(sys.modules) - before)"
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


def test_importing_and_help_load_few_modules() -> None:
    """What their time comes from, counted: that does not depend on what else the machine does."""
    assert int(python("-c", f"import sys; {COUNTED.format(what='import redraft')}").stdout) < 140
    help_loads = COUNTED.format(what="from redraft.cli import run; run(['--help'])")
    told = python("-c", f"import sys; {LIBRARIES}; {help_loads}")
    assert int(told.stdout.splitlines()[-1]) < 90


@thorough
def test_importing_and_help_are_quick() -> None:
    empty = processor_seconds("-c", "pass")
    assert any(processor_seconds("-c", "import redraft") < empty + IMPORT_SECONDS for _ in range(9))
    assert any(processor_seconds("-m", "redraft", "--help") < help_seconds() for _ in range(9))


def test_help_with_the_names_of_drafters_and_engines_loads_nothing_heavy() -> None:
    code = "from redraft.cli import run; import sys; run(['edit', '--help']);"
    told = python(
        "-c",
        code + "print([n for n in ('numpy', 'ctypes', 'redraft.protocols') if n in sys.modules])",
    )
    assert told.stdout.splitlines()[-1] == "[]"
    assert "llamacpp" in told.stdout


def help_seconds() -> float:
    """What a help may take. Programs beside this one slow the processor down by half and more, and
    wall time would measure nothing but them: so on such a machine the libraries' time counts, which
    is most of it."""
    return max(HELP_SECONDS, 1.5 * processor_seconds("-c", LIBRARIES))


def processor_seconds(*arguments: str) -> float:
    """Processor time of a run, user and system."""
    before = os.times()
    python(*arguments)
    after = os.times()
    spent = after.children_user + after.children_system
    return spent - before.children_user - before.children_system


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
