"""Where weights come from: a file the user has, Hugging Face, a package index.

A source leaves the complete file in a workspace folder, which it may find half filled from an
earlier try. It does not check the checksum, does not put the file in its place and does not know
the other sources: `redraft.models.pulling` does.
"""

from __future__ import annotations

import errno
import os
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from redraft.models.catalogue import CatalogueModel, shown
from redraft.models.progress import Progress, Report, watched

_CHUNK = 4 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT)


class SourceFailed(Exception):
    """This source cannot deliver; the text says why. The next one may."""


class DiskFull(Exception):
    """There is no room for the file; no other source would help. The text says how much is
    missing where."""


class Source(Protocol):
    """One place to get weights from."""

    @property
    def name(self) -> str:
        """For messages."""
        ...

    def fetch(self, model: CatalogueModel, workspace: Path, report: Report) -> Path:
        """Complete the model's file inside `workspace` and return its path there.

        What an interrupted call left in `workspace` is used. Raises SourceFailed, DiskFull, and
        OSError for what the file system refuses.
        """
        ...


def is_disk_full(error: BaseException | None) -> bool:
    """Whether this error, or one that it came from, is a full disk or an exceeded quota."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        error = error.__cause__ or error.__context__
    return False


def require_room(folder: Path, count: int) -> None:
    """Raise DiskFull unless `count` more bytes fit into the file system of `folder`."""
    free = shutil.disk_usage(folder).free
    if free < count:
        raise DiskFull(
            f"{count / 1e6:,.0f} MB are needed in {shown(folder)} and {free / 1e6:,.0f} MB are"
            " free there; make room, or set REDRAFT_HOME to a folder on another disk"
        )


@dataclass(frozen=True, slots=True)
class GivenFile:
    """A file that the user has already; linked where possible, else copied."""

    path: Path
    name: str = "the given file"

    def fetch(self, model: CatalogueModel, workspace: Path, report: Report) -> Path:
        """See Source."""
        try:
            source = self.path.expanduser()
        except RuntimeError:
            raise SourceFailed(f"{shown(self.path)} names no user's home folder") from None
        if not source.is_file():
            raise SourceFailed(f"there is no file {shown(source)}")
        size = source.stat().st_size
        if size != model.size:
            raise SourceFailed(
                f"{shown(source)} has {size:,} bytes, but {model.id} has {model.size:,}"
            )
        target = workspace / "given.gguf"
        target.unlink(missing_ok=True)
        try:
            os.link(source.resolve(), target)
        except OSError:  # another file system, or one without links
            require_room(workspace, size)
            _copy(source, target, report)
        return target


def _copy(source: Path, target: Path, report: Report) -> None:
    total = source.stat().st_size
    done = 0
    with source.open("rb") as reader, target.open("wb") as writer:
        while chunk := reader.read(_CHUNK):
            writer.write(chunk)
            done += len(chunk)
            report(Progress("fetching", f"copying {source.name}", done, total))


@dataclass(frozen=True, slots=True)
class HuggingFace:
    """The model's own repository, through `huggingface_hub` (its settings and token apply)."""

    endpoint: str | None = None
    """Another server that speaks the same protocol; None for the usual one."""
    patience: float = 6.0
    """Seconds within which the server must have answered the first question."""
    name: str = "Hugging Face"

    def fetch(self, model: CatalogueModel, workspace: Path, report: Report) -> Path:
        """See Source."""
        folder = workspace / "huggingface"
        folder.mkdir(exist_ok=True)
        self._ask(model)
        require_room(workspace, model.size - _partly_there(folder, model))
        before = Progress(
            "fetching", f"{self.name}: {model.repository}", _partly_there(folder, model), model.size
        )
        with watched(folder, before, report):
            return self._download(model, folder)

    def _ask(self, model: CatalogueModel) -> None:
        """Find out quickly whether the server answers: its client may look up a name for minutes,
        so the question is put in a thread that is left behind when it takes too long."""
        answers: list[Exception | None] = []

        def ask() -> None:
            try:
                self._question(model)
            except Exception as error:  # noqa: BLE001 - handed to the waiting thread, raised there
                answers.append(error)
            else:
                answers.append(None)

        thread = threading.Thread(target=ask, name="redraft-ask", daemon=True)
        thread.start()
        thread.join(self.patience)
        if not answers:
            raise SourceFailed(f"no answer within {self.patience:g} seconds")
        if answers[0] is not None:
            raise SourceFailed(_reason(answers[0])) from answers[0]

    def _question(self, model: CatalogueModel) -> None:
        import huggingface_hub

        url = huggingface_hub.hf_hub_url(model.repository, model.file, endpoint=self.endpoint)
        answer = huggingface_hub.get_hf_file_metadata(url, timeout=self.patience / 2)
        if answer.size is not None and answer.size != model.size:
            raise SourceFailed(f"its file has {answer.size:,} bytes instead of {model.size:,}")

    def _download(self, model: CatalogueModel, folder: Path) -> Path:
        import huggingface_hub
        from huggingface_hub.utils.tqdm import (
            are_progress_bars_disabled,
            disable_progress_bars,
            enable_progress_bars,
        )

        bars_were_off = are_progress_bars_disabled()
        disable_progress_bars()  # ours shows the same bytes
        try:
            return Path(
                huggingface_hub.hf_hub_download(
                    model.repository,
                    model.file,
                    local_dir=folder,
                    etag_timeout=self.patience / 2,
                    endpoint=self.endpoint,
                )
            )
        except Exception as error:
            # The client raises errors of three libraries, which have no base of their own.
            if is_disk_full(error):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
            raise SourceFailed(_reason(error)) from error
        finally:
            if not bars_were_off:
                enable_progress_bars()


def _partly_there(folder: Path, model: CatalogueModel) -> int:
    """Bytes that an interrupted download left."""
    parts = [path.stat().st_size for path in folder.rglob("*.incomplete")]
    return min(max(parts, default=0), model.size)


def _reason(error: Exception) -> str:
    """The first line of what a library says, cut to a readable length."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    words = lines[0] if lines else type(error).__name__
    return words if len(words) <= 160 else words[:157] + "..."
