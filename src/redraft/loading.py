"""Opens weights for a session: finds and checks them, loads the engine, measures the machine.

It does not know what will be generated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from redraft import engines
from redraft.calibration import Calibration, CalibrationKey, CalibrationStore, calibrate
from redraft.errors import InputError
from redraft.models import (
    CATALOGUE,
    Metadata,
    find,
    is_marked,
    read_metadata,
    require_supported,
)
from redraft.models import Progress as ModelProgress
from redraft.protocols import Engine, Tokenizer

Notify = Callable[[str, float | None], None]
"""Told what is being done, and the share (0 … 1) that is done where it is known."""


@dataclass(frozen=True, slots=True)
class Loading:
    """How to open weights."""

    engine: str
    """A name of the engine registry, or `auto`."""
    model: str
    """A catalogue name or a path; ignored by the fake engine."""
    context_length: int
    threads: int
    live_sequences: int
    home: Path
    """Where measurements are kept."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Weights, ready to use."""

    engine: Engine
    tokenizer: Tokenizer
    metadata: Metadata
    calibration: Calibration
    context_length: int
    engine_name: str
    path: Path | None
    """The weights file; None for the fake engine."""
    sha256: str | None
    """The file's checksum where it was verified before; None for a file outside the catalogue."""
    store: CalibrationStore | None = None
    """Where the calibration is kept; None for the fake engine."""


def load(loading: Loading, notify: Notify) -> Loaded:
    """Open the weights and measure them on this machine unless that was done before.

    Raises ModelError or EngineError with one line that says what to do.
    """
    name = engines.default_name() if loading.engine == "auto" else loading.engine
    if name == "fake":
        return _load_fake(loading)

    def checking(progress: ModelProgress) -> None:
        share = progress.done / progress.total if progress.total else None
        notify("checking weights", share)

    path = find(loading.model, checking)
    metadata = read_metadata(path)
    require_supported(metadata)
    context_length = min(loading.context_length, metadata.context_length)
    key = CalibrationKey(engines.identity(name), path, loading.threads)
    store = CalibrationStore(loading.home / "calibration", key)
    calibration = store.load()
    opening = engines.Opening(
        path=path,
        context_length=context_length,
        threads=loading.threads,
        live_sequences=loading.live_sequences,
        invariance=calibration.invariance if calibration else None,
        progress=lambda share: notify("loading weights", share),
    )
    opened = engines.open_engine(name, opening)
    if calibration is None:
        measuring = "measuring this machine (once)"
        calibration = calibrate(opened.engine, lambda share: notify(measuring, share))
        try:
            store.store(calibration)
        except InputError as error:  # measuring again next time costs seconds, failing costs all
            notify(f"the measurement is not kept: {error}", None)
    known = [model.sha256 for model in CATALOGUE if is_marked(path, model.sha256)]
    return Loaded(
        opened.engine,
        opened.tokenizer,
        metadata,
        calibration,
        context_length,
        name,
        path,
        known[0] if known else None,
        store,
    )


def load_tokenizer(engine: str, model: str, notify: Notify) -> Tokenizer:
    """The vocabulary of a model without its weights. Raises ModelError or EngineError."""
    name = engines.default_name() if engine == "auto" else engine
    if name == "fake":
        return engines.open_tokenizer(name, Path())
    path = find(model, lambda progress: notify("checking weights", None))
    require_supported(read_metadata(path))
    return engines.open_tokenizer(name, path)


def _load_fake(loading: Loading) -> Loaded:
    from redraft.engines.fake import FAKE_METADATA

    opening = engines.Opening(path=Path(), context_length=loading.context_length)
    opened = engines.open_engine("fake", opening)
    calibration = calibrate(opened.engine)
    return Loaded(
        opened.engine,
        opened.tokenizer,
        FAKE_METADATA,
        calibration,
        loading.context_length,
        "fake",
        None,
        None,
    )
