"""Traces: what is written is what is read, and nothing else is."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.bench.traces import (
    SUFFIX,
    Trace,
    TraceOrigin,
    TraceStep,
    read_trace,
    read_traces,
    trace_path,
    write_trace,
)
from redraft.errors import InputError
from redraft.protocols import DraftContext

ORIGIN = TraceOrigin(
    workload="edits",
    engine="fake",
    model="fake",
    weights_sha256=None,
    commit="abc",
    policy="cost",
    drafters=("source", "suffix"),
    sampling={"temperature": 0.0, "seed": 0.0},
    fewest=2,
    cost_curve={1: 0.1, 8: 0.3},
)
tokens = st.lists(st.integers(0, 300), max_size=6).map(tuple)
outputs = st.lists(st.integers(0, 300), min_size=1, max_size=6).map(tuple)
seconds = st.floats(0, 10)


@st.composite
def steps(draw: st.DrawFn) -> TraceStep:
    drafted = draw(tokens)
    count = len(drafted)
    place = st.none() | st.just(("loop", 2, "f", "keyword", "test"))
    return TraceStep(
        drafted,
        ("source",) * count,
        (3,) * count,
        tuple(draw(st.lists(st.floats(0, 1), min_size=count, max_size=count))),
        draw(st.integers(0, count)),
        draw(st.integers(0, count + 1)),
        count + 1,
        *draw(st.tuples(seconds, seconds, seconds)),
        tuple(draw(st.lists(place, max_size=count))),
    )


traces = st.builds(
    Trace,
    origin=st.just(ORIGIN),
    task=st.text(min_size=1, max_size=20),
    kind=st.just("rename"),
    excluded=st.none() | st.just("check"),
    context=st.builds(DraftContext, outputs, tokens, tokens, st.just("python")),
    room=st.integers(1, 99),
    output=outputs,
    finish_reason=st.just("stop"),
    steps=st.lists(steps(), max_size=3).map(tuple),
    seconds=seconds,
    plain_seconds=st.none() | seconds,
)


@given(trace=traces)
def test_a_trace_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, trace: Trace
) -> None:
    folder = tmp_path_factory.mktemp("traces")
    assert read_trace(write_trace(folder, trace)) == trace
    assert read_traces([folder]) == [trace]


@given(st.text(min_size=1), st.text(min_size=1))
def test_paths_are_readable_and_do_not_collide(one: str, other: str) -> None:
    first, second = (trace_path(Path(), "edits", task) for task in (one, other))
    assert (first == second) == (one == other)
    assert first.name.isascii() and len(first.name) < 120 and first.name.endswith(SUFFIX)


def example() -> Trace:
    return Trace(ORIGIN, "a/1", "k", None, DraftContext((1, 2)), 9, (3, 4), "stop", (), 1.0, None)


def test_what_is_no_whole_trace_is_refused(tmp_path: Path) -> None:
    path = write_trace(tmp_path, example())
    lines = gzip.decompress(path.read_bytes()).splitlines()
    for content in (
        b"",
        path.read_bytes()[:-9],
        gzip.compress(lines[0]),
        gzip.compress(b"[]\n[]"),
        gzip.compress(b"\n".join([lines[0].replace(b'"version":1', b'"version":9'), lines[-1]])),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match="no whole trace"):
            read_trace(path)


@pytest.mark.parametrize(
    ("line", "name", "values"),
    [
        (0, "cost_curve", [{}, [], {"0": -1}, {"1": "x"}, {"1": True}, {"0": 1}, {"²": 1}]),
        (0, "fewest", ["x", -3, 0, True, 10**9]),
        (0, "language", [5, None]),
        (0, "room", ["x", 0, -1, 1.5]),
        (0, "task", [7, None]),
        (0, "sampling", [5, {"seed": "x"}]),
        (0, "model", [["a"]]),
        (0, "prompt", [[], "abc", [-1], [1.5], [2**40]]),
        (0, "drafters", ["suffix", [1]]),
        (1, "tokens", [5, ["x"]]),
        (1, "survival", [[2.0], ["x"]]),
        (1, "verify_seconds", ["x", -1.0]),
        (1, "syntax", [[[1]], [["a", 1, "b", "c"]]]),
        (-1, "output", ["x", None, [-1]]),
        (-1, "finish_reason", [5, "x", ["stop"]]),
        (-1, "excluded", ["x", 1]),
        (-1, "seconds", ["x", -1, 1e300, None]),
        (-1, "plain_seconds", ["x"]),
    ],
)
def test_a_wrong_value_is_found_when_it_is_read(
    tmp_path: Path, line: int, name: str, values: list[object]
) -> None:
    step = TraceStep((3,), ("source",), (0,), (0.5,), 1, 2, 2, 0.1, 0.1, 0.1)
    path = write_trace(tmp_path, replace(example(), steps=(step,)))
    lines = [orjson.loads(each) for each in gzip.decompress(path.read_bytes()).splitlines()]
    for value in values:
        lines[line][name] = value
        path.write_bytes(gzip.compress(b"\n".join(map(orjson.dumps, lines))))
        with pytest.raises(InputError, match=f"no whole trace \\({name} is .*record it again"):
            read_trace(path)


def test_a_trace_of_nothing_has_nothing_to_count(tmp_path: Path) -> None:
    write_trace(tmp_path, replace(example(), task="empty", output=()))
    with pytest.raises(InputError, match="nothing to count"):
        read_traces([tmp_path])
    write_trace(tmp_path, example())
    assert read_traces([tmp_path]) == [example()]


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no traces"):
        read_traces([tmp_path])
    with pytest.raises(InputError, match="there is no trace"):
        read_traces([tmp_path / f"absent{SUFFIX}"])


def test_one_task_is_not_taken_twice(tmp_path: Path) -> None:
    paths = [write_trace(tmp_path / name, example()).parent for name in ("a", "b")]
    with pytest.raises(InputError, match="two traces"):
        read_traces(paths)
