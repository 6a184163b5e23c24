"""The table of edit tasks and what is built from it."""

from __future__ import annotations

from collections import Counter

import pytest

from redraft.bench.workloads import (
    EDIT_PACKAGE,
    edit_tasks,
    package_sources,
    tasks_sha256,
)
from redraft.bench.workloads.code_checks import renames
from redraft.bench.workloads.edit_spec import EditSpec, Fault
from redraft.bench.workloads.edit_table import EDITS

MODULE = """import os


def name_of(path):
    part = os.path.basename(path)
    return part[:-1]
"""
RENAME = EditSpec(
    "rename-it",
    "rename",
    "paths",
    ("name_of",),
    "Rename `name_of` to `base`.",
    (renames(("name_of", "base")),),
)
FIX = EditSpec(
    "fix-it",
    "bugfix",
    "paths",
    ("name_of",),
    "The last character is missing.",
    fault=Fault("name_of", "[:-1]", "[:-2]", ("[0:-1]",)),
)
SOURCES = {"boltons/paths.py": MODULE}


def test_a_task_is_the_cut_file_with_its_check() -> None:
    (task,) = edit_tasks(SOURCES, [RENAME])
    assert (task.name, task.kind) == ("rename-it", "rename")
    assert task.path_in_package == "boltons/paths.py"
    assert task.source == MODULE
    assert task.identity == ("rename-it", "Rename `name_of` to `base`.", MODULE)
    assert task.check(MODULE.replace("name_of", "base")) is None
    assert task.check(MODULE)


def test_a_fault_is_put_in_and_only_its_mending_is_accepted() -> None:
    (task,) = edit_tasks(SOURCES, [FIX])
    assert task.source == MODULE.replace("[:-1]", "[:-2]")
    assert task.check(task.source) == "name_of is not mended"
    assert task.check(MODULE) is None
    assert task.check(MODULE.replace("[:-1]", "[0:-1]")) is None
    assert task.check(MODULE.replace("[:-1]", "")) == "name_of is not mended"
    assert task.check("import os\n") == "name_of is gone"


def test_sources_of_another_version_are_refused() -> None:
    with pytest.raises(ValueError, match="fix-it: not exactly one"):
        edit_tasks({"boltons/paths.py": MODULE.replace("-1", "-3")}, [FIX])
    with pytest.raises(ValueError, match="does not define name_of"):
        edit_tasks({"boltons/paths.py": "import os\n"}, [RENAME])


def test_the_table_is_wide() -> None:
    assert len(EDITS) >= 24
    assert len({spec.name for spec in EDITS}) == len(EDITS)
    kinds = Counter(spec.kind for spec in EDITS)
    assert set(kinds) >= {
        "rename", "types", "docstrings", "parameter", "extract", "replace", "bugfix", "reorder",
    }  # fmt: skip
    for spec in EDITS:
        assert spec.instruction[0].isupper() or spec.instruction[0] == "`", spec.name
        assert spec.instruction.endswith((".", ")")), spec.name
        assert bool(spec.predicates) != bool(spec.fault), spec.name


@pytest.mark.models
def test_every_task_is_a_file_of_its_size_that_its_check_refuses_unedited() -> None:
    """Needs the package (fetched by pip), like the bench itself."""
    tasks = edit_tasks(package_sources(EDIT_PACKAGE))
    for task in tasks:
        assert 40 <= task.source.count("\n") <= 200, task.name
        assert task.check(task.source), task.name
        assert task.check(task.source + "\n)"), task.name
        assert task.check("pass\n"), task.name
    assert tasks_sha256(tasks) == tasks_sha256(edit_tasks(package_sources(EDIT_PACKAGE)))
