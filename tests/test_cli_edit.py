"""`redraft edit`, from the command line to the file, with an engine that says what it is told."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from availability import unavailable
from broken_streams import broken_stdout
from command import FENCE, Redraft, make_redraft
from redraft import files
from redraft.errors import InputError
from redraft.terminal import edit as edit_module
from redraft.terminal import outputs

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


def meanwhile(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Do something after the last file was edited and before any is written."""
    write = edit_module._write

    def changed_before(
        edits: Sequence[edit_module.Edited],
        options: edit_module.EditOptions,
        output: outputs.Target | None,
    ) -> outputs.Written:
        change()
        return write(edits, options, output)

    monkeypatch.setattr(edit_module, "_write", changed_before)


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


def test_says_how_many_lines_came_and_went(redraft: Redraft, file: Path) -> None:
    done = redraft("edit", "a.py", *ASK, answer=RENAMED + FENCE)
    assert "a.py: 2 lines added, 2 removed\n" in done.err
    shorter = RENAMED.rsplit("\n", 2)[0] + "\n"
    done = redraft("edit", "a.py", *ASK, answer=shorter + FENCE)
    assert "a.py: 1 line added, 2 removed; more went than came, so look at what" in done.err


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


@pytest.mark.parametrize(
    ("answer", "text"), [("```\n", ""), ("```", ""), ("x = 1\n```\n", "x = 1\n"), ("\n```\n", "")]
)
def test_the_closing_fence_is_no_content_of_what_was_empty(
    redraft: Redraft, answer: str, text: str
) -> None:
    done = redraft("edit", "-", *ASK, answer=answer, stdin=b"")
    assert (done.code, done.out) == (0, text)


def test_a_name_with_a_line_end_is_said_on_one_line(redraft: Redraft) -> None:
    Path("x\ny.py").write_text(SOURCE)
    done = redraft("edit", "x\ny.py", *ASK, "--max-tokens", "3", answer=RENAMED)
    assert done.code == 1
    assert "redraft: x\u240ay.py is unchanged: " in done.err
    done = redraft("edit", "x\ny.py", *ASK, "--apply", answer=RENAMED + FENCE)
    assert "\nx\u240ay.py: written\n" in done.err


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
    assert re.search(r"^a\.py: \d+ tokens in .*\nb\.py: written", done.err, re.MULTILINE)
    assert re.search(r"^b\.py: \d+ tokens in ", done.err, re.MULTILINE)


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
    meanwhile(monkeypatch, lambda: file.write_text("mine"))
    done = redraft("edit", "a.py", *ASK, "--apply", answer=RENAMED + FENCE)
    assert (done.code, file.read_text()) == (2, "mine")
    assert "changed meanwhile" in done.err
    assert "+def lookup(a):" in done.out  # the edit itself is not lost


def test_of_two_that_edit_one_file_the_later_leaves_it_alone(
    redraft: Redraft, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = os.open(".", os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)  # as a second redraft that is about to write

    def meanwhile(seconds: float) -> None:
        file.write_text("theirs")
        fcntl.flock(other, fcntl.LOCK_UN)

    monkeypatch.setattr(outputs, "sleep", meanwhile)
    done = redraft("edit", "a.py", *ASK, "--apply", answer=RENAMED + FENCE)
    os.close(other)
    assert (done.code, file.read_text()) == (2, "theirs")
    assert "redraft: a.py was changed meanwhile, so nothing was written; run it again" in done.err


def test_whoever_stays_alone_in_a_folder_is_not_waited_for(
    redraft: Redraft, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(outputs, "sleep", waited.append)
    other = os.open(".", os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    done = redraft("edit", "a.py", *ASK, "--apply", answer=RENAMED + FENCE)
    os.close(other)
    assert (done.code, file.read_text(), len(waited)) == (0, RENAMED, outputs.LOOKS)


def test_an_output_that_changed_meanwhile_is_left_alone(
    redraft: Redraft, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile(monkeypatch, lambda: file.write_text("mine"))
    done = redraft("edit", "a.py", *ASK, "-o", "a.py", answer=RENAMED + FENCE)
    assert (done.code, file.read_text()) == (2, "mine")
    assert "redraft: a.py was changed meanwhile, so nothing was written" in done.err


def test_an_output_is_replaced_where_nobody_else_wrote_it(redraft: Redraft, file: Path) -> None:
    done = redraft("edit", "a.py", *ASK, "-o", "a.py", answer=RENAMED + FENCE)
    assert (done.code, file.read_text()) == (0, RENAMED)


@pytest.mark.parametrize("other", ["a named pipe", "/dev/zero"])
def test_a_path_that_became_something_else_is_neither_waited_for_nor_read(
    redraft: Redraft, file: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    def replace() -> None:
        file.unlink()
        if other == "/dev/zero":
            file.symlink_to(other)
        else:
            os.mkfifo(file)

    meanwhile(monkeypatch, replace)
    done = redraft("edit", "a.py", *ASK, "--apply", answer=RENAMED + FENCE)
    assert done.code == 2
    assert "a.py is not a regular file" in done.err
    assert outputs.current(file) is None


def test_no_file_is_written_when_one_of_them_changed(
    redraft: Redraft, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Path("b.py")
    other.write_text(SOURCE)
    meanwhile(monkeypatch, lambda: other.write_text("mine"))
    done = redraft("edit", "a.py", "b.py", *ASK, "--apply", answer=RENAMED + FENCE)
    assert (done.code, file.read_text(), other.read_text()) == (2, SOURCE, "mine")
    assert "redraft: b.py was changed meanwhile, so nothing was written" in done.err


def test_what_was_written_is_said_when_a_later_file_fails(
    redraft: Redraft, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, write = Path("b.py"), files.write_atomically
    other.write_text(SOURCE)

    def fail(path: Path, data: bytes) -> None:
        if path == other:
            raise InputError("b.py was not changed: the disk is full")
        write(path, data)

    monkeypatch.setattr(files, "write_atomically", fail)
    done = redraft("edit", "a.py", "b.py", *ASK, "--apply", "--json", answer=RENAMED + FENCE)
    assert (done.code, file.read_text(), other.read_text()) == (2, RENAMED, SOURCE)
    assert "a.py: written" in done.err
    assert "b.py: written" not in done.err
    assert done.err.endswith("redraft: b.py was not changed: the disk is full\n")
    places = [json.loads(line)["written_to"] for line in done.out.splitlines()]
    assert places == ["a.py", None]


@pytest.mark.parametrize("second", ["./a.py", "link.py", "a.py"])
def test_two_names_of_one_file_are_refused(redraft: Redraft, file: Path, second: str) -> None:
    Path("link.py").symlink_to("a.py")
    done = redraft("edit", "a.py", second, *ASK, "--apply", answer=RENAMED + FENCE)
    assert (done.code, file.read_text()) == (2, SOURCE)
    assert "redraft: a file is named twice" in done.err


@pytest.mark.parametrize("flags", [(), ("--json",)])
@pytest.mark.parametrize("name", ["full", "closed", "reader gone"])
def test_trouble_with_stdout_does_not_keep_an_edit_from_being_written(
    redraft: Redraft,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    flags: tuple[str, ...],
) -> None:
    with broken_stdout(name) as stdout:
        monkeypatch.setattr("sys.stdout", stdout)
        done = redraft("edit", "a.py", *ASK, "--apply", *flags, answer=RENAMED + FENCE)
    assert (done.code, file.read_text()) == (141 if name == "reader gone" else 2, RENAMED)
    assert "a.py: written" in done.err
    if name == "reader gone":
        assert "redraft: " not in done.err
    else:
        assert "redraft: standard output cannot be written: " in done.err


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
