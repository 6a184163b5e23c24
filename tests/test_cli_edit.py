"""`redraft edit`, from the command line to the file, with an engine that says what it is told."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from availability import unavailable
from command import FENCE, Redraft, make_redraft
from redraft.terminal import edit as edit_module

SOURCE = "def find(a):\n    return a\n\n\nprint(find(1))\n"
RENAMED = SOURCE.replace("find", "lookup")
ASK = ("-i", "Rename find to lookup")


@pytest.fixture
def redraft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Redraft:
    return make_redraft(tmp_path, monkeypatch, capfd)


@pytest.fixture
def file(redraft: Redraft) -> Path:
    path = Path("a.py")
    path.write_text(SOURCE)
    return path


def test_shows_a_diff_that_patch_takes_and_leaves_the_file(redraft: Redraft, file: Path) -> None:
    done = redraft("edit", "a.py", *ASK, answer=RENAMED + FENCE)
    assert (done.code, file.read_text()) == (0, SOURCE)
    assert done.out.startswith("--- a.py\n+++ a.py\n@@ ")
    assert "exact" in done.err
    if shutil.which("git") is None:
        unavailable("the program git is missing")
    applied = subprocess.run(["git", "apply", "-p0"], input=done.out.encode(), check=False)
    assert (applied.returncode, file.read_text()) == (0, RENAMED)


def test_apply_writes_the_file(redraft: Redraft, file: Path) -> None:
    file.chmod(0o640)
    done = redraft("edit", "a.py", *ASK, "--apply", answer=RENAMED + FENCE)
    assert (done.code, file.read_text()) == (0, RENAMED)
    assert "a.py: written" in done.err
    assert file.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SOURCE.replace("\n", "\r\n").encode(), RENAMED.replace("\n", "\r\n").encode()),
        (b"\xef\xbb\xbf" + SOURCE.encode(), b"\xef\xbb\xbf" + RENAMED.encode()),
        (SOURCE[:-1].encode(), RENAMED[:-1].encode()),
        (SOURCE.encode("utf-16"), RENAMED.encode("utf-16")),
        (SOURCE.encode() + b"# \xe4\n", RENAMED.encode() + b"# \xe4\n"),
        (SOURCE.replace("    ", "\t").encode(), RENAMED.replace("    ", "\t").encode()),
    ],
    ids=["crlf", "bom", "no final newline", "utf-16", "latin-1", "tabs"],
)
def test_apply_keeps_the_files_form(
    redraft: Redraft, file: Path, before: bytes, after: bytes
) -> None:
    file.write_bytes(before)
    text = RENAMED + ("# ä\n" if before.endswith(b"\xe4\n") else "")
    text = text.replace("    ", "\t") if b"\t" in before else text
    done = redraft("edit", "a.py", *ASK, "--apply", answer=text + FENCE)
    assert (done.code, file.read_bytes()) == (0, after)


def test_output_goes_elsewhere(redraft: Redraft, file: Path) -> None:
    done = redraft("edit", "a.py", *ASK, "--output", "b.py", answer=RENAMED + FENCE)
    assert (done.code, file.read_text(), Path("b.py").read_text()) == (0, SOURCE, RENAMED)


def test_stdin_goes_to_stdout_whole(redraft: Redraft) -> None:
    done = redraft("edit", "-", *ASK, answer=RENAMED + FENCE, stdin=SOURCE.encode())
    assert (done.code, done.out) == (0, RENAMED)


def test_json_has_all_of_it(redraft: Redraft, file: Path) -> None:
    done = redraft("edit", "a.py", *ASK, "--json", answer=RENAMED + FENCE)
    found = done.json
    assert found["text"] == RENAMED
    assert found["diff"].startswith("--- a.py\n")
    assert (found["exact"], found["finish_reason"], found["complete"]) == (True, "stop", True)
    assert (found["changed"], found["written_to"], found["file"]) == (True, None, "a.py")
    counts = found["statistics"]
    assert counts["output_tokens"] >= len(RENAMED)
    assert counts["accepted"] <= counts["proposed"]


def test_several_files_are_each_edited_and_then_written(redraft: Redraft, file: Path) -> None:
    Path("b.py").write_text(SOURCE)
    done = redraft("edit", "a.py", "b.py", *ASK, "--apply", "--json", answer=RENAMED + FENCE)
    assert done.code == 0
    assert [line[:14] for line in done.out.splitlines()] == ['{"file":"a.py"', '{"file":"b.py"']
    assert file.read_text() == Path("b.py").read_text() == RENAMED


def test_nothing_to_change_is_said(redraft: Redraft, file: Path) -> None:
    done = redraft("edit", "a.py", *ASK, "--apply", answer=SOURCE + FENCE)
    assert (done.code, done.out) == (0, "")
    assert "a.py: nothing to change" in done.err


def test_an_output_that_is_not_whole_is_never_applied(redraft: Redraft, file: Path) -> None:
    done = redraft("edit", "a.py", *ASK, "--apply", "--max-tokens", "9", answer=RENAMED + FENCE)
    assert (done.code, file.read_text(), done.out) == (1, SOURCE, "")
    assert "redraft: a.py is unchanged: the output reached the limit of tokens" in done.err


def test_the_partial_text_of_such_an_output_is_in_json(redraft: Redraft, file: Path) -> None:
    done = redraft("edit", "a.py", *ASK, "--json", "--max-tokens", "9", answer=RENAMED + FENCE)
    assert done.code == 1
    assert done.json["text"].rstrip("\n") == RENAMED[:9]
    assert (done.json["complete"], done.json["finish_reason"]) == (False, "length")


def test_a_file_that_changed_meanwhile_is_left_alone(
    redraft: Redraft, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edit_module, "_current", lambda path: b"someone else wrote this")
    done = redraft("edit", "a.py", *ASK, "--apply", answer=RENAMED + FENCE)
    assert (done.code, file.read_text()) == (2, SOURCE)
    assert "changed meanwhile" in done.err


def test_control_characters_of_a_file_stay_data(redraft: Redraft, file: Path) -> None:
    text = SOURCE + "# \x1b]0;owned\x07\n"
    file.write_text(text)
    answer = text.replace("find", "lookup")
    done = redraft("edit", "a.py", *ASK, answer=answer + FENCE)
    assert done.code == 0
    assert "\x1b" not in done.err


def test_a_run_is_recorded_unless_told_not_to(redraft: Redraft, file: Path, tmp_path: Path) -> None:
    redraft("edit", "a.py", *ASK, "--no-record", answer=RENAMED + FENCE)
    assert not (tmp_path / "home" / "runs").exists()
    done = redraft("edit", "a.py", *ASK, "--json", answer=RENAMED + FENCE)
    (record,) = (tmp_path / "home" / "runs").iterdir()
    assert record.name == done.json["run_id"] + ".jsonl"


def test_a_run_that_cannot_be_recorded_still_edits_and_says_so(
    redraft: Redraft, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "home").write_text("in the way")
    done = redraft("edit", "a.py", *ASK, "--apply", answer=RENAMED + FENCE)
    assert (done.code, file.read_text()) == (0, RENAMED)
    assert "this run could not be recorded" in done.err
