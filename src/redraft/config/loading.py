"""Puts the layers together into `Settings`, and says of each value where it comes from.

Every refusal is one line that names the flag, variable or file, and what is allowed.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from redraft.config.layers import (
    PREFIX,
    Layer,
    find_files,
    find_project,
    one_line,
    read_file,
    read_variables,
    unknown_names,
)
from redraft.config.settings import NAMES, Settings, default_home
from redraft.errors import UsageError


@dataclass(frozen=True, slots=True)
class Explained:
    """One effective setting."""

    name: str
    value: object
    origin: str
    """`default`, a flag, an environment variable or a file's path."""
    help: str


def load_settings(
    overrides: Mapping[str, object] | None = None, start: Path | None = None
) -> Settings:
    """Effective settings.

    `overrides` come from flags; entries that are None were not given. `start` is where the search
    for `redraft.toml` begins (None: the working directory). Raises UsageError for a key or value
    that cannot be used, and InputError for a file that cannot be read.
    """
    flags = {name: value for name, value in (overrides or {}).items() if value is not None}
    layers = [Layer("flag", flags), read_variables(), *map(read_file, find_files(start))]
    for layer in layers:
        _refuse_unknown(layer)
    for name in NAMES:
        if (owner := _owner(layers, name)) is not None:
            _refuse_other_type(owner, name)
    values = _validated(layers)
    origins = []
    for name in NAMES:
        owner = _owner(layers, name)
        if owner is not None:
            origins.append((name, owner.origin(name)))
            values[name] = _from_its_folder(owner, name, values[name])
    if os.environ.get(f"{PREFIX}HOME"):
        origins.append(("home", f"{PREFIX}HOME"))
    project = find_project(start)
    return Settings(**values, home=default_home(), project=project, origins=tuple(origins))


def check_settings(settings: Settings) -> None:
    """Raise UsageError for the first value that `load_settings` would refuse or convert; for
    settings that were made by hand."""
    layer = Layer("code", {name: getattr(settings, name) for name in NAMES})
    values = _validated([layer])
    for name in NAMES:
        _refuse_other_type(layer, name)
        if values[name] != layer.values[name]:
            raise UsageError(_refusal(layer, name))


def explain(settings: Settings) -> tuple[Explained, ...]:
    """Each setting with its value, where that comes from and what it means."""
    origins = dict(settings.origins)
    return tuple(
        Explained(
            item.name,
            getattr(settings, item.name),
            origins.get(item.name, "default"),
            item.metadata["help"],
        )
        for item in fields(Settings)
        if item.name != "origins"
    )


def _refuse_unknown(layer: Layer) -> None:
    for name in unknown_names(layer):
        if name == "home":
            raise UsageError(
                f"{layer.naming(name)} cannot be set there; set the environment variable"
                f" {PREFIX}HOME"
            )
        close = difflib.get_close_matches(name.replace("-", "_").lower()[:80], NAMES, cutoff=0.7)
        if close:
            where = layer.origin(name) if layer.kind != "file" else f"{layer.origin('')}: {name}"
            raise UsageError(f"{one_line(where)} is no setting; did you mean {close[0]}?")
        if layer.kind != "variable":  # such a variable may belong to someone else
            where = f"{layer.origin('')}: " if layer.kind == "file" else ""
            raise UsageError(
                f"{where}there is no setting {one_line(name)!r}; known are {', '.join(NAMES)}"
            )


def _owner(layers: Sequence[Layer], name: str) -> Layer | None:
    """The layer whose word counts for `name`, if one says it."""
    return next((layer for layer in layers if name in layer.values), None)


def _validated(layers: Sequence[Layer]) -> dict[str, Any]:
    """Typed values of all settings. Raises UsageError for the first that is not allowed."""
    from redraft.config.schema import ValidationError, validate

    in_files: dict[str, object] = {}
    for layer in reversed(layers):
        if layer.kind == "file":
            in_files.update(layer.values)
    try:
        return validate(layers[0].values, in_files)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        name = str(first["loc"][0])
    owner = _owner(layers, name)
    if owner is None:
        raise AssertionError(f"the default of {name} is not allowed")
    raise UsageError(_refusal(owner, name))


def _refuse_other_type(layer: Layer, name: str) -> None:
    """Raise UsageError for what pydantic lets pass: text as a number from a file, where numbers can
    be written as such, and text that is not UTF-8, which no output could show."""
    given = layer.values[name]
    if isinstance(given, str) and not _is_utf8(given):
        raise UsageError(f"{_refusal(layer, name)}, in UTF-8")
    hint = get_type_hints(Settings)[name]
    if layer.kind != "file" or hint not in (int, float, bool):
        return
    if isinstance(given, str):
        raise UsageError(f"{_refusal(layer, name)}, without quotation marks")
    if type(given) is not hint and (hint, type(given)) != (float, int):
        raise UsageError(_refusal(layer, name))


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a byte that Python could only keep as a lone surrogate
        return False
    return True


def _refusal(layer: Layer, name: str) -> str:
    given = layer.values[name]
    try:
        value = one_line(given if isinstance(given, str) else repr(given))
    except ValueError:  # Python writes no number of thousands of digits
        value = "a number of thousands of digits"
    return f"{layer.naming(name)} is {value!r}; it must be {allowed(name)}"


def allowed(name: str) -> str:
    """What a setting may be, to complete "it must be …"."""
    hint = get_type_hints(Settings)[name]
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(get_args(hint))
    if name == "drafters":
        from redraft.drafters import names as drafter_names

        return "different names of " + ", ".join(drafter_names()) + ", with commas between"
    if name == "engine":
        from redraft.engines import names as engine_names

        return "one of " + ", ".join(("auto", *engine_names()))
    words: str = next(item for item in fields(Settings) if item.name == name).metadata["allowed"]
    return {int: "a whole number, ", float: "a number, "}.get(hint, "") + words


def _from_its_folder(owner: Layer, name: str, value: Any) -> Any:
    """A relative path in a settings file is meant from the file's folder."""
    if owner.file is None:
        return value
    folder = owner.file.parent
    try:
        if name == "corpus_paths":
            return tuple(folder / path.expanduser() for path in value)
        if name in ("model", "small_model") and (os.sep in value or value.endswith(".gguf")):
            return str(folder / Path(value).expanduser())
    except RuntimeError:
        raise UsageError(
            f"{owner.naming(name)} names the home folder of a user who has none here; give a full"
            " path"
        ) from None
    return value
