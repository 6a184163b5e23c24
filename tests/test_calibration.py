"""Measurements kept on disk: exactness rests on them, so a damaged one must not be believed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redraft.calibration import Calibration, CalibrationKey, CalibrationStore, calibrate
from redraft.engines.fake import FakeEngine
from redraft.errors import InputError
from redraft.invariance import Invariance

CALIBRATION = Calibration(Invariance(2, 0.25), {1: 0.02, 2: 0.03, 8: 0.07})


@pytest.fixture
def store(tmp_path: Path) -> CalibrationStore:
    weights = tmp_path / "weights.gguf"
    weights.write_bytes(b"weights")
    return CalibrationStore(tmp_path / "kept", CalibrationKey("fake 1", weights, 2))


def stored_file(store: CalibrationStore) -> Path:
    (path,) = store.directory.glob("*.json")
    return path


@pytest.mark.parametrize("smallest", [None, 1, 2, 4, 8])
def test_comes_back_as_it_was_stored(
    tmp_path: Path, store: CalibrationStore, smallest: int | None
) -> None:
    calibration = Calibration(Invariance(smallest, 0.5), {1: 0.02, 64: 1.5})
    store.store(calibration)
    assert store.load() == calibration


def test_other_weights_threads_or_engines_are_another_measurement(
    tmp_path: Path, store: CalibrationStore
) -> None:
    store.store(CALIBRATION)
    for other in (
        CalibrationKey("fake 2", store.key.weights, 2),
        CalibrationKey("fake 1", store.key.weights, 4),
    ):
        assert replace(store, key=other).load() is None
    store.key.weights.write_bytes(b"other weights")
    assert store.load() is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_one_flipped_bit_is_never_believed(
    tmp_path: Path, store: CalibrationStore, position: int, bit: int
) -> None:
    store.store(CALIBRATION)
    path = stored_file(store)
    data = bytearray(path.read_bytes())
    data[position % len(data)] ^= 1 << bit
    path.write_bytes(data)
    # a flip in white space changes nothing that is stored
    assert store.load() in (None, CALIBRATION)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[" * 100_000, b"\xff\xfe", b'{"sha256": 1, "content": []}', b"null"]
)
def test_garbage_is_measured_again(tmp_path: Path, store: CalibrationStore, content: bytes) -> None:
    store.store(CALIBRATION)
    stored_file(store).write_bytes(content)
    assert store.load() is None


@pytest.mark.parametrize(
    "change",
    [
        {"invariant_from": 0},
        {"invariant_from": True},
        {"invariant_from": "x"},
        {"invariant_from": 1_000_000},
        {"mismatch_rate": -1},
        {"seconds_by_rows": {}},
        {"seconds_by_rows": {"0": 1.0}},
        {"seconds_by_rows": {"1": float("inf")}},
        {"seconds_by_rows": {"1": 0}},
    ],
)
def test_values_that_are_never_measured_are_refused_though_their_checksum_fits(
    tmp_path: Path, store: CalibrationStore, change: dict[str, object]
) -> None:
    from redraft.calibration import _checksum

    store.store(CALIBRATION)
    path = stored_file(store)
    content = json.loads(path.read_text())["content"] | change
    path.write_text(json.dumps({"sha256": _checksum(content), "content": content}))
    assert store.load() is None


def test_says_where_it_cannot_be_kept(tmp_path: Path, store: CalibrationStore) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file"):
        replace(store, directory=tmp_path / "file" / "kept").store(CALIBRATION)


def test_says_when_it_was_measured(store: CalibrationStore) -> None:
    assert store.stored_at() is None
    store.store(CALIBRATION)
    found = store.stored_at()
    assert found is not None and found.tzinfo is not None


def test_a_forgotten_one_is_measured_again(store: CalibrationStore) -> None:
    store.store(CALIBRATION)
    store.forget()
    assert store.load() is None
    store.forget()


def test_measures_what_the_engine_is() -> None:
    calibration = calibrate(FakeEngine(invariant_from=4))
    assert calibration.invariance.invariant_from == 4
    assert set(calibration.seconds_by_rows) >= {1, 2, 64}
