"""Commands that show: explain-run, doctor, config, models, corpus, help, version."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rich.console import Console

from command import FENCE, Redraft, make_redraft
from redraft import cli
from redraft.bench.workloads.scenarios import SCENARIOS
from redraft.bench.workloads.scenarios.pins import LANGUAGES
from redraft.config import load_settings
from redraft.drafters.corpus import build
from redraft.terminal import corpus, doctor, job, progress
from redraft.terminal.job import Begun, Stage
from redraft.terminal.screen import visible

SOURCE = "".join(f"value_{number} = {number}\n" for number in range(12))
EDITED = SOURCE.replace("value_7", "seven")


@pytest.fixture
def redraft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Redraft:
    return make_redraft(tmp_path, monkeypatch, capfd)


@pytest.fixture
def recorded(redraft: Redraft) -> Redraft:
    """Redraft with one recorded edit."""
    Path("a.py").write_text(SOURCE)
    assert redraft("edit", "a.py", "-i", "rename value_7", answer=EDITED + FENCE).code == 0
    return redraft


def test_explain_run_shows_every_token_of_the_last_run(
    recorded: Redraft, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    done = recorded("explain-run")
    assert done.code == 0
    assert "edit: a.py: rename value_7" in done.out
    assert "ended by stop; exact" in done.out
    steps = done.out.partition("own\n")[2].partition("drafter  proposed")[0]
    signed = [part for line in steps.splitlines() for part in line.split()[4:]]
    tokens = "".join(part[1:] for part in signed if part[0] in "+-=")
    # the target's own tokens and accepted drafts are the output; rejected ones stand among them
    assert all(line.replace(" ", "·") + "⏎" in tokens for line in EDITED.splitlines()[:7])
    assert "proposed" in done.out


def test_explain_run_without_colour_marks_what_was_rejected(recorded: Redraft) -> None:
    out = recorded("explain-run").out
    assert re.search(r" \+\S+ =\S *$", out, re.MULTILINE)  # accepted, then the target's own
    assert re.search(r" -_ =n *$", out, re.MULTILINE)  # rejected at the new name
    assert "+accepted  -rejected  ~behind a rejected one  =the target's own" in out


def test_explain_run_in_colour_strikes_what_was_rejected(
    recorded: Redraft, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    done = recorded("explain-run")
    assert "\x1b[32m" in done.out  # green: accepted
    assert "\x1b[9;31m" in done.out  # red and struck out: rejected
    assert "\x1b[1m" in done.out  # bold: the target's own


def test_explain_run_as_json_holds_the_steps(recorded: Redraft) -> None:
    (run_id,) = recorded("explain-run", "--list").out.split()[:1]
    found = recorded("explain-run", run_id[:12], "--json").json
    assert (found["id"], found["header"]["kind"]) == (run_id, "edit")
    pieces = [choice["piece"] for step in found["steps"] for choice in step["choices"]]
    assert "".join(pieces).startswith(EDITED)


def test_a_damaged_record_does_not_hide_the_others(recorded: Redraft, tmp_path: Path) -> None:
    (tmp_path / "home" / "runs" / "19990101-000000.jsonl").write_text("{}\n")
    lines = recorded("explain-run", "--list").out.splitlines()
    assert lines[0].endswith("a.py: rename value_7")
    assert "is damaged in line 1" in lines[1]


def test_the_newest_run_comes_first_below_a_header_on_a_terminal(
    recorded: Redraft, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "home" / "runs" / "19990101-000000.jsonl").write_text("{}\n")
    monkeypatch.setattr("redraft.terminal.steps.sys.stdout.isatty", lambda: True)
    lines = recorded("explain-run", "--list").out.splitlines()
    assert lines[0].split() == ["run", "kind", "ended", "title"]
    assert lines[0].index("kind") == lines[1].index("edit")
    assert lines[2].startswith("19990101-000000")


def test_doctor_finds_a_usable_engine_in_order(redraft: Redraft) -> None:
    done = redraft("doctor")
    assert done.code == 0
    assert "2 or more tokens; checked just now" in " ".join(done.out.split())
    assert "▇" in done.out
    assert "plain speed, where no draft is right" in done.out
    assert "'redraft config' shows all settings" in done.out and "min_p" not in done.out
    found = redraft("doctor", "--json", "--measure").json
    assert found["problem"] is None
    assert found["measured"]["invariant_from"] == 2
    assert set(found["measured"]["milliseconds_by_rows"]) >= {"1", "2", "64"}


def test_doctor_says_when_the_curve_was_measured() -> None:
    measured = doctor.Measured(2, 0.0, True, "2026-01-02T03:04:05+00:00", {1: 9.0}, 0.9, 0.1)
    title = doctor._curve_title(measured)
    assert "measured 2026-01-02 03:04; 'redraft doctor --measure' measures again" in title


def test_paths_are_whole_in_a_narrow_terminal(
    redraft: Redraft, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    folder = tmp_path / "home" / "models"
    lines = redraft("models", "list").out.splitlines()
    assert any(line.startswith(f"qwen2.5-coder-1.5b: {folder}/") for line in lines)
    assert all(line.endswith(".gguf") for line in lines if str(folder) in line)


def test_doctor_says_what_is_wrong_with_code_3(redraft: Redraft) -> None:
    done = redraft("doctor", "--engine", "ik")
    assert done.code == 3
    assert "redraft models pull qwen2.5-coder-1.5b" in done.err
    found = redraft("doctor", "--engine", "ik", "--json")
    assert (found.code, found.json["measured"]) == (3, None)
    assert "redraft models pull" in found.json["problem"]


def test_config_says_where_each_value_comes_from(
    redraft: Redraft, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("redraft.toml").write_text("seed = 4\ntop_k = 9\n")
    monkeypatch.setenv("REDRAFT_TOP_K", "7")
    found = redraft("config", "--json", "--temperature", "0.5").json
    assert (found["seed"]["value"], found["seed"]["origin"]) == (
        4,
        str(Path.cwd() / "redraft.toml"),
    )
    assert (found["top_k"]["value"], found["top_k"]["origin"]) == (7, "REDRAFT_TOP_K")
    assert (found["temperature"]["value"], found["temperature"]["origin"]) == (
        0.5,
        "--temperature",
    )
    assert found["min_p"]["origin"] == "default"
    assert "REDRAFT_TOP_K" in redraft("config").out


def test_a_table_for_a_program_has_one_line_a_row(
    redraft: Redraft, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    home = tmp_path / ("long" * 40)
    monkeypatch.setenv("REDRAFT_HOME", str(home))
    assert str(home) in redraft("config").out
    monkeypatch.setenv("COLUMNS", "60")
    assert str(home) not in redraft("config").out


@pytest.mark.parametrize("width", [80, 40, 24])
def test_a_narrow_line_of_progress_keeps_what_changes(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    console = Console(width=width, file=io.StringIO())
    monkeypatch.setattr(progress, "talk_console", lambda: console)
    panel = progress.LivePanel()
    panel.show(Stage("fetching the package index: package 8 of 22 by name", 0.4, "4 of 9 MB"))
    with console.capture() as capture:
        console.print(panel._render())
    (line,) = capture.get().splitlines()
    assert "40% 4 of 9 MB" in line
    panel.show(Begun("editing a/folder/with/a/long/name/and/a/file.py"))
    with console.capture() as capture:
        console.print(panel._render())
    (line,) = capture.get().splitlines()
    assert "evaluating the prom" in line


def test_models_list_says_what_is_here(redraft: Redraft, tmp_path: Path) -> None:
    models = tmp_path / "home" / "models"
    models.mkdir(parents=True)
    listed = json.loads(redraft("models", "list", "--json").out)
    assert {model["state"] for model in listed} == {"absent"}
    Path(listed[0]["path"]).write_bytes(b"too short")
    Path(listed[1]["path"]).with_suffix(".partial").mkdir()
    states = [model["state"] for model in json.loads(redraft("models", "list", "--json").out)]
    assert states == ["damaged", "partial"]
    assert "damaged" in redraft("models", "list").out


def test_corpus_is_built_shown_and_cleared(redraft: Redraft) -> None:
    Path("a.py").write_text(SOURCE * 20)
    assert "no indexes yet" in redraft("corpus", "status").err
    done = redraft("corpus", "build", "--no-corpus-packages", "--json")
    assert done.code == 0
    assert done.json[0]["files"] == 1
    found = redraft("corpus", "status", "--json").json
    assert [(index["segment"], index["language"]) for index in found["indexes"]] == [
        ("project", "python")
    ]
    assert "python" in redraft("corpus", "status").out
    assert "written: nothing new" in redraft("corpus", "build", "--no-corpus-packages").err
    assert redraft("corpus", "clear").code == 0
    assert redraft("corpus", "status", "--json").json["indexes"] == []
    assert "nothing to clear" in redraft("corpus", "clear").err
    assert "removed" in redraft("corpus", "clear", "--all").err
    assert "nothing to clear" in redraft("corpus", "clear", "--all").err
    assert redraft("corpus", "clear", "--json").json["removed"] is False
    redraft("corpus", "build", "--no-corpus-packages")
    cleared = redraft("corpus", "clear", "--json").json
    assert cleared == {"directory": found["directory"], "removed": True}


@pytest.mark.parametrize("damage", ["empty", "cut", "version", "noise"])
def test_a_damaged_index_changes_no_output_and_is_built_anew(
    redraft: Redraft, tmp_path: Path, damage: str
) -> None:
    Path("a.py").write_text(SOURCE * 20)
    build = ("corpus", "build", "--no-corpus-packages", "--json")
    place = ("complete", "a.py:3:9", "--drafters", "corpus", "--single-line", "--json")
    assert redraft(*build).json[0]["written"]
    expected = redraft(*place, answer="2\n").json["text"]
    (path,) = (tmp_path / "home" / "corpus").rglob("*.index")
    sound = path.read_bytes()
    spoilt = {
        "empty": b"",
        "cut": sound[: len(sound) // 2],
        "version": sound[:8].replace(sound[7:8], b"~") + sound[8:],
        "noise": bytes(byte ^ 0x55 for byte in sound),
    }
    path.write_bytes(spoilt[damage])
    done = redraft(*place, answer="2\n")
    assert (done.code, done.json["text"]) == (0, expected)
    assert redraft(*build).json[0]["written"]
    assert path.read_bytes()[:64] == sound[:64]


def test_ctrl_c_during_a_corpus_build_ends_it_at_the_next_file(
    redraft: Redraft, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    jobs: list[job.Job[object]] = []

    class Watched(job.Job[object]):
        def __init__(self, work: Callable[[job.Job[object]], object]) -> None:
            super().__init__(work)
            jobs.append(self)

    def interrupted(path: Path) -> str:
        """The signal is for the main thread, which takes it when the machine lets it."""
        read.append(path)
        os.kill(os.getpid(), signal.SIGINT)
        assert jobs[0]._stopped.wait(60)
        return "x = 1\n"

    for name in "abcdefghij":
        Path(f"{name}.py").write_text("x = 1\n")
    monkeypatch.setattr(job, "Job", Watched)
    monkeypatch.setattr(build, "_readable", interrupted)
    done = redraft("corpus", "build", "--no-corpus-packages")
    assert done.code == 130
    assert done.err.splitlines()[-1] == (
        "redraft: interrupted; each index is as it was or up to date"
    )
    assert len(read) == 1
    assert redraft("corpus", "status", "--json").json["indexes"] == []


def test_a_corpus_is_updated_in_the_background_now_and_then(
    redraft: Redraft, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Sequence[str]] = []
    monkeypatch.setattr(build, "start_in_background", lambda command, log: begun.append(command))
    settings = load_settings({"engine": "ik", "model": "m.gguf"})
    corpus.update_in_background(settings)
    (command,) = begun
    assert command[1:] == [
        "-P",
        "-m",
        "redraft",
        "corpus",
        "build",
        "--model=m.gguf",
        "--engine=ik",
    ]
    settings.corpus_directory.mkdir(parents=True)
    (settings.corpus_directory / "updated").touch()
    (settings.corpus_directory / "build.log").write_text("redraft: no room\n")
    corpus.update_in_background(settings)
    corpus.update_in_background(dataclasses.replace(settings, drafters=("source",)))
    corpus.update_in_background(load_settings())  # the fake engine's vocabulary is no model's
    assert len(begun) == 1
    assert "last background build: redraft: no room" in redraft("corpus", "status").err


COMMANDS = [
    ("edit",),
    ("complete",),
    ("generate",),
    ("explain-run",),
    ("doctor",),
    ("config",),
    ("models", "list"),
    ("models", "pull"),
    ("models", "path"),
    ("models", "verify"),
    ("corpus", "build"),
    ("corpus", "status"),
    ("corpus", "clear"),
    ("bench",),
    ("bench", "scenarios"),
    ("gate",),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_help_has_an_example(redraft: Redraft, command: tuple[str, ...]) -> None:
    done = redraft(*command, "--help")
    assert done.code == 0
    assert f"Example: redraft {' '.join(command)}" in " ".join(done.out.split())


@pytest.mark.parametrize(
    "command",
    ["edit", "complete", "generate", "serve", "bench edits", "bench exact", "bench scenarios"],
)
def test_help_lists_what_engine_policy_and_drafters_may_be(
    redraft: Redraft, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr("redraft.drafters.names", lambda: ["source", "one-installed"])
    out = redraft(*command.split(), "--help").out
    assert "one of auto, ik, llamacpp, fake. [auto]" in out
    policies = "none, cost, gate, seed, seed-regions or fixed:k with k = 1 … 63"
    assert f"how much is drafted at once: {policies}" in out
    assert "different names of source, one-installed, with commas between. [source," in out


def test_help_says_that_files_are_edited_one_by_one(redraft: Redraft) -> None:
    assert "each by itself" in " ".join(redraft("edit", "--help").out.split())


@pytest.mark.parametrize("command", ["bench", "gate"])
def test_help_of_a_group_is_about_the_group(redraft: Redraft, command: str) -> None:
    assert "--install-completion" not in redraft(command, "--help").out


def test_help_of_scenarios_names_all_cells(
    redraft: Redraft, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    out = redraft("bench", "scenarios", "--help").out
    assert all(part in out for part in (*SCENARIOS, *LANGUAGES))
    assert "may be repeated" in out


def test_the_path_of_the_target_model_needs_no_name(redraft: Redraft) -> None:
    done = redraft("models", "path")
    assert (done.code, done.out) == (3, "")
    assert "the model qwen2.5-coder-1.5b is not on this machine" in done.err


def test_the_version_and_an_empty_command_line(redraft: Redraft) -> None:
    assert redraft("--version").out.startswith("redraft 0.")
    done = redraft()
    assert (done.code, done.err) == (2, "")
    assert "Usage: redraft" in done.out


def test_a_bug_is_one_line_unless_debug_asks_for_more(
    redraft: Redraft, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr("redraft.terminal.weights.list_models", broken)
    done = redraft("models", "list")
    assert done.code == cli.INTERNAL_ERROR
    assert done.err.startswith("redraft: internal error: ZeroDivisionError: two lines; run again")
    assert len(done.err.splitlines()) == 1
    assert "Traceback" in redraft("--debug", "models", "list").err


def test_nothing_can_command_the_terminal() -> None:
    every = "".join(map(chr, range(0x100)))
    assert all(letter.isprintable() or letter in "\n\t\xa0\xad" for letter in visible(every))
    assert visible("a\tb\n") == "a\tb\n"
