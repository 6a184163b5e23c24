"""The run record: what happened in one run, step by step, as one file of JSON lines.

The first line is the header, then there is a line for every prompt piece and step, and the last
line is the outcome. A record holds the text of every token, so it can be shown without weights. A
run that was interrupted leaves a `.partial` file that reads the same, without an outcome. Records
hold the user's code: only the user may read them. This module does not know who shows them.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import orjson

from redraft.errors import InputError
from redraft.regular import open_regular
from redraft.tokens import Draft, FinishReason, Prefill, Step

VERSION = 1
SUFFIX = ".jsonl"
PARTIAL = ".jsonl.partial"
LARGEST_RECORD = 256 << 20
"""Bytes; a record of 100,000 tokens has about 30 MB."""


@dataclass(frozen=True, slots=True)
class RunHeader:
    """What is known when a run begins."""

    kind: Literal["edit", "complete", "generate", "chat", "text"]
    title: str
    """What was asked, for a human."""
    model: str
    engine: str
    weights_sha256: str | None
    prompt_tokens: int
    settings: Mapping[str, object]
    """Those that change the outcome or the speed; JSON values."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What is known when a run has ended."""

    finish_reason: FinishReason
    exact: bool
    exact_because: str
    statistics: Mapping[str, object]
    """JSON values."""


@dataclass(frozen=True, slots=True)
class RecordedDraft:
    """One proposed token."""

    token: int
    piece: bytes
    drafter: str
    survival: float


@dataclass(frozen=True, slots=True)
class RecordedChoice:
    """One committed token."""

    token: int
    piece: bytes
    logprob: float


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """One step; the first `accepted` drafts are the first choices."""

    index: int
    start: int
    drafts: tuple[RecordedDraft, ...]
    accepted: int
    choices: tuple[RecordedChoice, ...]
    rows: int
    propose_seconds: float
    evaluate_seconds: float
    verify_seconds: float
    finish_reason: FinishReason | None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as it was recorded."""

    id: str
    time: str
    """When it began: ISO 8601, UTC."""
    header: RunHeader
    prefills: tuple[Prefill, ...]
    steps: tuple[RecordedStep, ...]
    outcome: RunOutcome | None
    """None when the run was interrupted, or is still going on."""


class RunWriter:
    """Records one run in `directory`, and removes records beyond the newest `keep`.

    `piece` gives a token's bytes. A record is never worth failing a run for: when it cannot be
    written (disk full, folder not writable), nothing is raised, `problem` says why, and what was
    written is removed.
    """

    def __init__(
        self, directory: Path, header: RunHeader, piece: Callable[[int], bytes], keep: int = 50
    ) -> None:
        now = datetime.now(UTC)
        self.run_id = f"{now:%Y%m%d-%H%M%S}-{now.microsecond // 1000:03}{secrets.token_hex(2)}"
        self.problem: str | None = None
        self._partial = directory / (self.run_id + PARTIAL)
        self._piece = piece
        self._keep = keep
        self._file = -1
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = os.open(self._partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            self._give_up(error)
            return
        identity = {
            "version": VERSION,
            "id": self.run_id,
            "time": now.isoformat(timespec="seconds"),
        }
        title = header.title.encode("utf-8", "replace").decode()  # names may hold any bytes
        self._write({"type": "header", **identity, **asdict(header), "title": title})

    def step(self, event: Prefill | Step) -> None:
        """Record one event of the loop."""
        if isinstance(event, Prefill):
            self._write({"type": "prefill", **asdict(event)})
            return
        draft, choices = event.verdict.draft, event.verdict.choices
        self._write(
            {
                "type": "step",
                "index": event.index,
                "start": event.start,
                "draft": self._draft(draft),
                "accepted": event.verdict.accepted,
                "tokens": event.tokens,
                "pieces": self._pieces(event.tokens),
                "logprobs": [choice.logprob for choice in choices],
                "rows": event.rows,
                "propose_seconds": event.propose_seconds,
                "evaluate_seconds": event.evaluate_seconds,
                "verify_seconds": event.verify_seconds,
                "finish_reason": event.finish_reason,
            }
        )

    def close(self, outcome: RunOutcome) -> None:
        """Record the outcome and give the record its final name."""
        self._write({"type": "outcome", **asdict(outcome)})
        if self._file < 0:
            return
        try:
            os.close(self._file)
            self._file = -1
            self._partial.rename(self._partial.with_name(self.run_id + SUFFIX))
            _remove_oldest(self._partial.parent, self._keep)
        except OSError as error:
            self._give_up(error)

    def _draft(self, draft: Draft) -> dict[str, object]:
        return {
            "tokens": draft.tokens,
            "pieces": self._pieces(draft.tokens),
            "drafters": draft.drafters,
            "survival": draft.survival,
        }

    def _pieces(self, tokens: Sequence[int]) -> list[object]:
        return [_text_or_hex(self._piece(token)) for token in tokens]

    def _write(self, line: Mapping[str, object]) -> None:
        """One line, handed to the system at once, so that a killed run leaves all before it."""
        if self._file < 0:
            return
        data = orjson.dumps(line, _jsonable, orjson.OPT_APPEND_NEWLINE)
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        reason = error.strerror or type(error).__name__
        self.problem = f"the run is not recorded in {self._partial.parent}: {reason}"
        with contextlib.suppress(OSError):  # the first failure is the one that is reported
            if self._file >= 0:
                os.close(self._file)
            self._partial.unlink(missing_ok=True)
        self._file = -1


def latest(directory: Path) -> str:
    """The id of the newest record. Raises InputError when there is none."""
    found = _records(directory)
    if not found:
        raise InputError(
            f"there are no run records in {directory} yet; run 'redraft edit', 'complete' or "
            "'generate' first"
        )
    return _id_of(found[-1])


def read(run: str | Path, directory: Path) -> RunRecord:
    """The record at a path, or in `directory` with an id or an unambiguous beginning of one.

    A last line that was torn off is left out. Raises InputError when there is no such record or
    it is damaged.
    """
    path = run if isinstance(run, Path) or os.sep in run else _by_id(run, directory)
    path = Path(path)
    try:
        with open_regular(path) as file:
            data = file.read(LARGEST_RECORD + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or "that is no path"
        raise InputError(f"run record {str(path)!a} cannot be read: {reason}") from None
    if len(data) > LARGEST_RECORD:
        raise InputError(f"run record {path} is longer than {LARGEST_RECORD:,} bytes")
    lines = data.split(b"\n")[:-1]  # what is behind the last line end was torn off, or is nothing
    if not lines:
        raise InputError(f"run record {path} is empty; the run ended before it began")
    return _parse(path, lines)


def _by_id(run: str, directory: Path) -> Path:
    found = [path for path in _records(directory) if run and _id_of(path).startswith(run)]
    exact = [path for path in found if _id_of(path) == run]
    if len(exact or found) == 1:
        return (exact or found)[0]
    problem = "several runs begin with" if found else "no recorded run is called"
    raise InputError(
        f"{problem} {run!a}; 'redraft explain-run' without an id shows the latest,"
        " with --list all of them"
    )


def list_runs(directory: Path) -> list[str]:
    """Ids of all records, the newest last."""
    return [_id_of(path) for path in _records(directory)]


def _records(directory: Path) -> list[Path]:
    """Record files by age, the newest last. Their names begin with the time."""
    try:
        names = [path.name for path in directory.iterdir()]
    except OSError:  # no folder yet, or not ours: nothing was recorded that we could show
        return []
    return [directory / name for name in sorted(names) if name.endswith((SUFFIX, PARTIAL))]


def _id_of(path: Path) -> str:
    return path.name.removesuffix(PARTIAL).removesuffix(SUFFIX)


def _remove_oldest(directory: Path, keep: int) -> None:
    for path in _records(directory)[: -max(1, keep)]:
        path.unlink(missing_ok=True)


def _text_or_hex(piece: bytes) -> object:
    """Text where the bytes are UTF-8; a token may be part of a character."""
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return {"hex": piece.hex()}


def _jsonable(value: object) -> object:
    """What orjson does not know: paths among settings."""
    if isinstance(value, Path):
        return str(value)
    raise TypeError(type(value).__name__)


def _bytes(piece: Any) -> bytes:
    return piece.encode() if isinstance(piece, str) else bytes.fromhex(piece["hex"])


def _parse(path: Path, lines: Sequence[bytes]) -> RunRecord:
    number = 0
    prefills: list[Prefill] = []
    steps: list[RecordedStep] = []
    outcome: RunOutcome | None = None
    try:
        first = orjson.loads(lines[0])
        if first["version"] > VERSION:
            raise InputError(f"run record {path} was written by a newer redraft; update this one")
        header = _header(first)
        for line in lines[1:]:
            number += 1
            entry = orjson.loads(line)
            if entry["type"] == "prefill":
                prefills.append(
                    Prefill(int(entry["done"]), int(entry["total"]), float(entry["seconds"]))
                )
            elif entry["type"] == "step":
                steps.append(_step(entry))
            elif entry["type"] == "outcome":
                outcome = _outcome(entry)
        return RunRecord(
            str(first["id"]), str(first["time"]), header, tuple(prefills), tuple(steps), outcome
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, IndexError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InputError(
            f"run record {path} is damaged in line {number + 1} ({ascii(reason)[1:80]})"
        ) from None


def _header(entry: Any) -> RunHeader:
    sha256 = entry["weights_sha256"]
    return RunHeader(
        entry["kind"],
        str(entry["title"]),
        str(entry["model"]),
        str(entry["engine"]),
        None if sha256 is None else str(sha256),
        int(entry["prompt_tokens"]),
        dict(entry["settings"]),
    )


def _step(entry: Any) -> RecordedStep:
    draft = entry["draft"]
    drafts = tuple(
        RecordedDraft(int(token), _bytes(piece), str(drafter), float(survival))
        for token, piece, drafter, survival in zip(
            draft["tokens"], draft["pieces"], draft["drafters"], draft["survival"], strict=True
        )
    )
    choices = tuple(
        RecordedChoice(int(token), _bytes(piece), float(logprob))
        for token, piece, logprob in zip(
            entry["tokens"], entry["pieces"], entry["logprobs"], strict=True
        )
    )
    return RecordedStep(
        int(entry["index"]),
        int(entry["start"]),
        drafts,
        min(int(entry["accepted"]), len(drafts), len(choices)),
        choices,
        int(entry["rows"]),
        float(entry["propose_seconds"]),
        float(entry["evaluate_seconds"]),
        float(entry["verify_seconds"]),
        entry["finish_reason"],
    )


def _outcome(entry: Any) -> RunOutcome:
    return RunOutcome(
        entry["finish_reason"],
        bool(entry["exact"]),
        str(entry["exact_because"]),
        dict(entry["statistics"]),
    )
