"""Functions and completions from files: sound, missing, damaged."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from redraft.bench.workloads import WorkloadMissing, completion_tasks, function_tasks
from redraft.errors import InputError

FUNCTION = {
    "task_id": "HumanEval/0",
    "prompt": 'def half(x):\n    """Half of x."""\n',
    "entry_point": "half",
    "canonical_solution": "    return x / 2\n",
    "test": "unused",
}
LINE = {
    "task_id": "SingleLineInfilling/HumanEval/0/L0",
    "prompt": "def half(x):\n",
    "suffix": "    return y\n",
    "canonical_solution": "    y = x / 2\n",
}
SPAN = LINE | {"task_id": "RandomSpanInfillingLight/HumanEval/0/1"}


def write(path: Path, *records: object) -> Path:
    text = "".join(json.dumps(record) + "\n" for record in records)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["tasks.jsonl.gz", "tasks.jsonl"])
def test_functions_are_read_with_their_length(tmp_path: Path, name: str) -> None:
    long = FUNCTION | {"task_id": "HumanEval/1", "canonical_solution": "    x\n\n" * 9}
    medium = FUNCTION | {"task_id": "HumanEval/2", "canonical_solution": "    x\n" * 4}
    tasks = function_tasks(write(tmp_path / name, FUNCTION, long, medium))
    assert [(task.name, task.kind) for task in tasks] == [
        ("HumanEval/0", "short"),
        ("HumanEval/1", "long"),
        ("HumanEval/2", "medium"),
    ]
    assert tasks[0].instruction == "Complete the function `half`. Repeat the given code."
    assert tasks[0].identity == ("HumanEval/0", tasks[0].instruction, FUNCTION["prompt"])


def test_completions_are_read_with_their_kind(tmp_path: Path) -> None:
    files = [write(tmp_path / "a.jsonl.gz", LINE), write(tmp_path / "b.jsonl.gz", SPAN)]
    tasks = completion_tasks(files)
    assert [task.kind for task in tasks] == ["single-line", "random-span"]
    assert (tasks[0].prefix, tasks[0].canonical, tasks[0].suffix) == (
        "def half(x):\n",
        "    y = x / 2\n",
        "    return y\n",
    )


def test_another_family_of_tasks_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", LINE | {"task_id": "MultiLineInfilling/HumanEval/0/L0_L1"})
    with pytest.raises(InputError, match="'MultiLineInfilling', not one of Single"):
        completion_tasks([path])


def test_a_missing_file_is_a_reason_to_skip(tmp_path: Path) -> None:
    with pytest.raises(WorkloadMissing, match=r"no file .*none\.jsonl\.gz"):
        function_tasks(tmp_path / "none.jsonl.gz")
    with pytest.raises(WorkloadMissing):
        completion_tasks([write(tmp_path / "a.jsonl", LINE), tmp_path / "none.jsonl"])


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.jsonl.gz", b"plain text", "is not a sound gzip file"),
        ("a.jsonl.gz", gzip.compress(b"{}" * 99)[:-12], "is not a sound gzip file"),
        ("a.jsonl.gz", gzip.compress(b"{}")[:5] + b"\xff" * 30, "is not a sound gzip file"),
        ("a.jsonl", json.dumps(FUNCTION).encode() + b"\n{oh", "line 2 is not JSON"),
        ("a.jsonl", b"[1]", "line 1 is not a JSON object"),
        ("a.jsonl", b'{"task_id": 3}', "line 1 has no text field 'task_id'"),
        ("a.jsonl", json.dumps(LINE).encode(), "line 1 has no text field 'entry_point'"),
        ("a.jsonl", b"\n\n", "holds no tasks"),
    ],
)
def test_a_damaged_file_is_one_clear_line(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=reason) as caught:
        function_tasks(path)
    assert not isinstance(caught.value, WorkloadMissing)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_folder_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        function_tasks(tmp_path)
