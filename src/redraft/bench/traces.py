"""Traces: all steps of a generation as columns, so that it can be replayed without weights.

One gzipped JSON Lines file per generation: the first line says what was asked and of what, then
there is a line per step, and the last line holds the whole output. Since output does not depend on
what was drafted, one trace serves all policies and drafters. It holds the text of prompt and
output as token ids. It does not know how a trace is replayed.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson

from redraft.bench.trace_fields import HEADER, OUTCOME, STEP, check_line
from redraft.errors import InputError
from redraft.files import write_atomically
from redraft.protocols import DraftContext
from redraft.regular import read_regular
from redraft.tokens import FinishReason, Step

VERSION = 1
SUFFIX = ".trace.jsonl.gz"
_LARGEST_FILE = 256 << 20
"""Bytes when unpacked; a trace of thousands of steps has a few megabytes."""


@dataclass(frozen=True, slots=True)
class TraceOrigin:
    """What a trace is of: the same for all traces of one recording."""

    workload: str
    engine: str
    model: str
    """The setting: a catalogue name or a file's name."""
    weights_sha256: str | None
    commit: str
    policy: str
    drafters: tuple[str, ...]
    sampling: Mapping[str, float]
    """Temperature, top_p, top_k, min_p and seed: what the output depends on beside the prompt."""
    fewest: int
    """Fewest tokens of a forward; see `redraft.decode.Plan`."""
    cost_curve: Mapping[int, float]
    """Seconds of a forward by rows, as measured before."""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step. The first four have an entry per drafted token, fillers included."""

    tokens: tuple[int, ...]
    drafters: tuple[str, ...]
    evidence: tuple[int, ...]
    survival: tuple[float, ...]
    accepted: int
    committed: int
    """Tokens added to the output."""
    rows: int
    propose_seconds: float
    evaluate_seconds: float
    verify_seconds: float
    syntax: tuple[tuple[str, int, str, str, str] | None, ...] = ()
    """Kind, depth, definition, token class and region where each drafted token stands; empty
    where no syntax was followed."""


@dataclass(frozen=True, slots=True)
class Trace:
    """One generation."""

    origin: TraceOrigin
    task: str
    kind: str
    excluded: str | None
    """Why the task does not count for speed; see `redraft.bench.rows.Cause`."""
    context: DraftContext
    room: int
    """Most tokens the output could have had."""
    output: tuple[int, ...]
    finish_reason: FinishReason
    steps: tuple[TraceStep, ...]
    seconds: float
    """Decode time of this generation."""
    plain_seconds: float | None = None
    """Of the fastest plain decoding over the same tokens in the same bench; None without one."""

    @property
    def forwards(self) -> int:
        """Target forwards after the prompt."""
        return len(self.steps)


def trace_step(step: Step) -> TraceStep:
    """A step of the loop as it is kept."""
    draft = step.verdict.draft
    return TraceStep(
        draft.tokens,
        draft.drafters,
        draft.evidence,
        tuple(round(value, 5) for value in draft.survival),
        step.verdict.accepted,
        len(step.tokens),
        step.rows,
        step.propose_seconds,
        step.evaluate_seconds,
        step.verify_seconds,
    )


def trace_path(folder: Path, workload: str, task: str) -> Path:
    """Where the trace of a task goes: named so that a reader knows it and no two collide."""
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", task).strip("-")[:60]
    mark = hashlib.sha256(task.encode("utf-8", "replace")).hexdigest()[:8]
    return folder / f"{workload}-{readable}-{mark}{SUFFIX}"


def write_trace(folder: Path, trace: Trace) -> Path:
    """Keep a trace. Returns its path; raises InputError where the folder cannot be written."""
    header = {
        "type": "header",
        "version": VERSION,
        **asdict(trace.origin),
        "task": trace.task,
        "kind": trace.kind,
        "language": trace.context.language,
        "prompt": trace.context.prompt,
        "source": trace.context.source,
        "suffix": trace.context.suffix,
        "room": trace.room,
    }
    outcome = {
        "type": "outcome",
        "output": trace.output,
        "finish_reason": trace.finish_reason,
        "excluded": trace.excluded,
        "seconds": trace.seconds,
        "plain_seconds": trace.plain_seconds,
    }
    steps = ({"type": "step", **asdict(step)} for step in trace.steps)
    lines = [
        orjson.dumps(line, option=orjson.OPT_NON_STR_KEYS) for line in (header, *steps, outcome)
    ]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}") from None
    path = trace_path(folder, trace.origin.workload, trace.task)
    # without a time in its header the file of equal content has equal bytes
    write_atomically(path, gzip.compress(b"\n".join(lines) + b"\n", mtime=0))
    return path


def read_traces(paths: Iterable[Path]) -> list[Trace]:
    """The traces in these files and folders, by task, without those of an empty output, which have
    nothing to count. Raises InputError where that leaves none, a path holds none, a file is
    damaged, or one task comes twice."""
    traces = [trace for trace in map(read_trace, _files(paths)) if trace.output]
    if not traces:
        raise InputError("the traces hold no output, so that there is nothing to count")
    traces.sort(key=lambda trace: (trace.origin.workload, trace.task))
    for one, other in pairwise(traces):
        if (one.origin.workload, one.task) == (other.origin.workload, other.task):
            raise InputError(f"{one.task} has two traces; name one recording at a time")
    return traces


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        found = sorted(path.glob(f"*{SUFFIX}"))
        if not found:
            raise InputError(f"{path} holds no traces (*{SUFFIX}); record some by --traces")
        yield from found


def read_trace(path: Path) -> Trace:
    """One trace. Raises InputError for a file that is missing or is no whole trace."""
    try:
        unpacked = read_regular(path, _LARGEST_FILE, gzipped=True)
        return _parsed([orjson.loads(line) for line in unpacked.splitlines()])
    except FileNotFoundError:
        raise InputError(f"there is no trace {path}; check the path") from None
    except (gzip.BadGzipFile, EOFError, zlib.error, ValueError, LookupError, TypeError) as error:
        raise InputError(f"{path} is no whole trace ({error}); record it again") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def _parsed(lines: Sequence[Mapping[str, Any]]) -> Trace:
    """Raises KeyError, TypeError, ValueError or IndexError for what `write_trace` never wrote."""
    header, outcome = lines[0], lines[-1]
    if header["version"] != VERSION or outcome["type"] != "outcome":
        raise ValueError(f"form {header['version']}, ended by {outcome['type']}")
    check_line(header, HEADER)
    check_line(outcome, OUTCOME)
    origin = {name: header[name] for name in TraceOrigin.__dataclass_fields__}
    origin["drafters"] = tuple(origin["drafters"])
    origin["cost_curve"] = {int(rows): value for rows, value in origin["cost_curve"].items()}
    prompt, source, suffix = (tuple(header[name]) for name in ("prompt", "source", "suffix"))
    context = DraftContext(prompt, source, suffix, header["language"])
    return Trace(
        origin=TraceOrigin(**origin),
        task=header["task"],
        kind=header["kind"],
        excluded=outcome["excluded"],
        context=context,
        room=header["room"],
        output=tuple(outcome["output"]),
        finish_reason=outcome["finish_reason"],
        steps=tuple(_step(line) for line in lines[1:-1]),
        seconds=outcome["seconds"],
        plain_seconds=outcome["plain_seconds"],
    )


def _step(line: Mapping[str, Any]) -> TraceStep:
    check_line(line, STEP)
    values: dict[str, Any] = {
        name: tuple(line[name]) if isinstance(line[name], list) else line[name]
        for name in TraceStep.__dataclass_fields__
    }
    values["syntax"] = tuple(place and tuple(place) for place in values["syntax"])
    return TraceStep(**values)
