"""The pydantic-settings model of `Settings`: types, bounds, and the order of sources.

Made from the fields of `Settings`, so that each stands in one place. This is the only module that
imports pydantic; its messages are replaced by ours in `loading`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, create_model
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from redraft.config.settings import NAMES, Settings

__all__ = ["ValidationError", "validate"]

_POLICY = re.compile(r"none|cost|gate|seed|seed-regions|fixed:([1-9]|[1-5][0-9]|6[0-3])", re.ASCII)


class _Sources(BaseSettings):
    """Flags, then the environment, then what the files said (given as `file_values`)."""

    model_config = SettingsConfigDict(
        env_prefix="REDRAFT_", env_ignore_empty=True, extra="ignore", allow_inf_nan=False
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The order of precedence; `.env` files and secret folders are not read."""
        given = dict(init_settings())
        from_files = given.pop("file_values", {})
        return (
            InitSettingsSource(settings_cls, given),
            env_settings,
            InitSettingsSource(settings_cls, from_files),
        )


def validate(flags: Mapping[str, object], file_values: Mapping[str, object]) -> dict[str, Any]:
    """Typed values of all settings. Raises pydantic's ValidationError."""
    schema: Any = _schema()
    loaded = schema(**flags, file_values=file_values)
    return {name: getattr(loaded, name) for name in NAMES}


@cache
def _schema() -> type[BaseSettings]:
    hints = get_type_hints(Settings)
    annotated = {
        item.name: (_annotated(item.name, hints[item.name], item.metadata), item.default)
        for item in fields(Settings)
        if item.name in NAMES
    }
    made: type[BaseSettings] = create_model("SettingsSchema", __base__=_Sources, **annotated)  # type: ignore[call-overload]
    return made


def _annotated(name: str, hint: Any, metadata: Mapping[str, Any]) -> Any:
    """The field's type with the checks that go with it."""
    if hint in (int, float):
        bounds = Field(ge=metadata["at_least"], le=metadata["at_most"])
        return Annotated[hint, BeforeValidator(_no_bool), bounds]
    if hint is str:
        return Annotated[
            str, AfterValidator({"policy": _policy, "engine": _engine}.get(name, _line))
        ]
    if get_origin(hint) is tuple:
        item: Any = Annotated[get_args(hint)[0], AfterValidator(_line)]
        checks = AfterValidator(_drafters) if name == "drafters" else AfterValidator(tuple)
        # NoDecode: a variable or flag holds a,b and no JSON
        return Annotated[tuple[item, ...], NoDecode, BeforeValidator(_split), checks]
    return hint


def _no_bool(value: object) -> object:
    """Python and pydantic take true for 1; whoever writes `threads = true` means something else."""
    if isinstance(value, bool):
        raise ValueError("a truth value is no number")
    return value


def _line(value: Any) -> Any:
    """Refuse what no name or path is: nothing, or characters that break a line or end a string."""
    text = os.fspath(value)
    if not text.strip() or any(ord(letter) < 32 or letter == "\x7f" for letter in text):
        raise ValueError("empty or with control characters")
    return value


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _policy(value: str) -> str:
    if not _POLICY.fullmatch(value):
        raise ValueError("no policy")
    return value


def _engine(value: str) -> str:
    from redraft.engines import names

    if value not in ("auto", *names()):
        raise ValueError("no engine")
    return value


def _drafters(value: tuple[str, ...]) -> tuple[str, ...]:
    from redraft.drafters import names

    if len(set(value)) < len(value) or not set(value) <= set(names()):
        raise ValueError("unknown or named twice")
    return value
