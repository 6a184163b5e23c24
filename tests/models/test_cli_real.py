"""The command line on real weights: the demo's edit, a completion, doctor, Ctrl-C in a prompt."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from availability import unavailable
from redraft.errors import ModelMissing
from redraft.models import CATALOGUE, find

pytestmark = pytest.mark.models

EXAMPLE = Path(__file__).parents[2] / "examples" / "inventory.py"
TARGET, SMALL = (model.id for model in CATALOGUE)
ENVIRONMENT = {**os.environ, "REDRAFT_CORPUS_UPDATE": "false", "REDRAFT_RECORD": "false"}
LONGEST_STOP = 20
"""Seconds that Ctrl-C may take on a busy machine; one forward of a piece of the prompt."""


def redraft(*arguments: str, model: str) -> subprocess.CompletedProcess[str]:
    """Runs the program with a model that is here."""
    require(model)
    command = [sys.executable, "-m", "redraft", *arguments, "--model", model]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)


def require(model: str) -> None:
    try:
        find(model)
    except ModelMissing as error:
        unavailable(str(error))


def test_the_demos_edit_is_exact_and_does_what_it_says(tmp_path: Path) -> None:
    makefile = (EXAMPLE.parents[1] / "Makefile").read_text()
    (ask,) = re.findall(r"^DEMO := (.*)$", makefile, re.MULTILINE)
    assert ask == "Rename the class Inventory to Stock everywhere."
    done = redraft("edit", str(EXAMPLE), "-i", ask, "--json", model=TARGET)
    found = json.loads(done.stdout)
    assert (found["complete"], found["exact"], found["changed"]) == (True, True, True)
    assert found["statistics"]["tokens_per_forward"] > 3
    assert "Inventory" not in found["text"]
    edited = tmp_path / "inventory.py"
    edited.write_text(found["text"])
    (before, told_before), (after, told) = (report(path, tmp_path) for path in (EXAMPLE, edited))
    assert (before, after) == ("Inventory", "Stock")
    assert told == told_before


def report(program: Path, folder: Path) -> tuple[str, str]:
    """The class that the example's `load` makes, and what its `report` says of a small list."""
    content = (
        "sku,name,quantity,price_cents,tags\nA,nut,3,10,metal;small\nB,bolt,90,25,\nA,nut,1,10,\n"
    )
    (folder / "list.csv").write_text(content)
    found = runpy.run_path(str(program))
    loaded = found["load"](folder / "list.csv")
    return type(loaded).__name__, found["report"](loaded)


def test_a_completion_fits_its_place(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("def add(first, second):\n    return first + \n\n\nprint(add(1, 2))\n")
    done = redraft("complete", f"{file}:2:20", "--single-line", model=SMALL)
    assert done.stdout.startswith("second")


def test_doctor_finds_the_weights_sound_and_the_numerics_invariant() -> None:
    found = json.loads(redraft("doctor", "--json", model=SMALL).stdout)
    assert found["problem"] is None
    assert found["weights"]["sha256"] == CATALOGUE[1].sha256
    assert (found["measured"]["invariant_from"], found["measured"]["holds_now"]) == (2, True)


def test_ctrl_c_in_a_long_prompt_ends_soon_and_leaves_the_file(tmp_path: Path) -> None:
    require(TARGET)
    file = tmp_path / "long.py"
    text = EXAMPLE.read_text() * 5
    file.write_text(text)
    command = ["-m", "redraft", "edit", str(file), "-i", "rename", "--apply", "--model", TARGET]
    child = pexpect.spawn(
        sys.executable,
        command,
        env=ENVIRONMENT,  # type: ignore[arg-type]  # stubs: os._Environ
        encoding="utf-8",
        timeout=120,
    )
    child.expect("evaluating the prompt")
    child.sendintr()
    child.expect("redraft: interrupted; no file was changed", timeout=LONGEST_STOP)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert file.read_text() == text
