"""A sample of the exactness bench on the default weights; `redraft bench exact` is all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from availability import unavailable
from redraft.bench import exact_tasks
from redraft.bench.cli import app
from redraft.bench.report import read_document
from redraft.bench.tasks import load_tasks
from redraft.bench.workloads import WorkloadMissing
from redraft.errors import ModelMissing
from redraft.models import CATALOGUE, find

pytestmark = pytest.mark.models


@pytest.fixture(autouse=True)
def _built_in_tasks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No package index is asked here, and results go nowhere."""

    def without_package(workload: Any, paths: Any) -> Any:
        if workload == "edits":
            raise WorkloadMissing("the test takes built-in edits")
        return load_tasks(workload, paths)

    monkeypatch.setattr(exact_tasks, "load_tasks", without_package)
    monkeypatch.chdir(tmp_path)


def test_output_with_every_drafter_is_plain_output(capsys: pytest.CaptureFixture[str]) -> None:
    for model in CATALOGUE:
        try:
            find(model.id)
        except ModelMissing as error:
            unavailable(str(error))
    app(["exact", "--sample=6", "--max-tokens=48"], standalone_mode=False)
    one = read_document(Path(capsys.readouterr().out.splitlines()[-1]))
    assert one["equal"] is True and one["exact"] is True
    assert one["compared"] == 6 * 6 and len(one["by_workload"]) == 6
    assert all(found["accepted"] > 0 for found in one["by_set"].values())
