"""`redraft models`: what there is, fetching it, where it is, whether it is sound."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from redraft.terminal.screen import data_console, say, visible, write_data, write_json

if TYPE_CHECKING:
    from redraft.models import CatalogueModel, Progress, Report


@dataclass(frozen=True, slots=True)
class ModelState:
    """A model of the catalogue and what is here of it."""

    id: str
    bytes: int
    licence: str
    author: str
    state: str
    """verified, present (not yet verified), damaged, partial or absent."""
    path: str


def list_models(as_json: bool) -> None:
    """Print the catalogue: a table, and below it each model's path on a line that is not cut."""
    from redraft.models import CATALOGUE

    states = [_state(model) for model in CATALOGUE]
    if as_json:
        write_json([asdict(state) for state in states])
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for heading in ("model", "size", "licence", "state"):
        table.add_column(heading, overflow="fold")
    for state in states:
        size = f"{state.bytes / 1e6:,.0f} MB"
        licence = f"{state.licence}, {state.author}"
        table.add_row(state.id, size, licence, state.state)
    console = data_console()
    console.print(table)
    console.print()
    for state in states:
        console.print(visible(f"{state.id}: {state.path}"))


def pull_models(names: tuple[str, ...], given: Path | None, as_json: bool) -> None:
    """Fetch the models that are not here yet and print their paths, or an object for each. Raises
    ModelError."""
    from redraft.models import pull

    for name in names:
        with _reporting() as report:
            path = pull(name, given, report)
        _write_path(name, path, as_json)


def verify_model(name: str, as_json: bool) -> None:
    """Read the whole file again. Raises ModelMissing or ModelDamaged."""
    from redraft.models import verify

    with _reporting() as report:
        path = verify(name, report)
    say(f"{name}: SHA-256 is right")
    _write_path(name, path, as_json)


def show_path(name: str, as_json: bool) -> None:
    """Print where a model's file is. Raises ModelMissing when it is not here."""
    from redraft.models import find

    with _reporting() as report:
        path = find(name, report)
    _write_path(name, path, as_json)


def _write_path(name: str, path: Path, as_json: bool) -> None:
    """The path on a line, or what is known of the file: `sha256` is None where it was not compared
    with the catalogue's."""
    if not as_json:
        write_data(f"{path}\n")
        return
    from redraft.models import CATALOGUE, is_marked

    known = [model.sha256 for model in CATALOGUE if is_marked(path, model.sha256)]
    size = path.stat().st_size
    write_json({"model": name, "path": path, "bytes": size, "sha256": known[0] if known else None})


def _state(model: CatalogueModel) -> ModelState:
    from redraft.models import is_marked, location

    path = location(model)
    if path.is_file():
        right = path.stat().st_size == model.size
        state = "present" if right else "damaged"
        if right and is_marked(path, model.sha256):
            state = "verified"
    else:
        state = "partial" if path.with_suffix(".partial").is_dir() else "absent"
    return ModelState(model.id, model.size, model.licence, model.author, state, str(path))


@contextmanager
def _reporting() -> Iterator[Report]:
    """Shows what an operation on weights reports of itself."""
    from redraft.terminal.job import Stage
    from redraft.terminal.progress import display

    with display() as shown:

        def report(progress: Progress) -> None:
            share = progress.done / progress.total if progress.done and progress.total else None
            amount = f"{progress.done / 1e6:,.0f} of {progress.total / 1e6:,.0f} MB"
            text = f"{progress.stage} {progress.text}"
            shown.show(Stage(text, share, amount if share else ""))

        yield report
