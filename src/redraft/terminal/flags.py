"""Gives commands a flag for every setting, generated from `Settings`, so none stands twice.

It does not validate: `redraft.config` does, and names the flag when it refuses.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from redraft.config import NAMES, Settings, allowed

LISTED = ("engine", "policy", "drafters", "numerics")
"""Settings whose possible values a help lists."""
Flags = Mapping[str, object]
"""Settings by name as the user gave them; None where a flag was not given."""

PANEL = "Settings (also by REDRAFT_… variables and redraft.toml)"
SERVER = frozenset({"host", "port", "queue", "request_seconds"})
"""Flags of `redraft serve` alone."""
RARE = frozenset(name for name in NAMES if name.startswith("corpus_")) | {
    "live_sequences",
    "keep_runs",
    "seed_depth",
    "seed_low",
    "seed_high",
}
"""Accepted everywhere, shown by `redraft config` only; the first by `redraft serve` too."""


class SettingsCommand(TyperCommand):
    """A command whose help lists what a setting or language may be; drafters and engines are looked
    for among the installed packages only when the help is shown."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help with the values in it; typer does not export the types of its arguments."""
        _list_values(self.params)
        super().format_help(ctx, formatter)


class SettingsGroup(TyperGroup):
    """The same for a command that has commands below it."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """As above."""
        _list_values(self.params)
        super().format_help(ctx, formatter)


def _list_values(parameters: Sequence[object]) -> None:
    for parameter in parameters:
        if isinstance(parameter, TyperOption) and parameter.name in LISTED:
            meaning, mark, default = (parameter.help or "").rpartition(". ")
            parameter.help = f"{meaning}: {allowed(parameter.name)}{mark}{default}"
        elif isinstance(parameter, TyperOption) and parameter.name == "lang":
            parameter.help = f"{parameter.help} A file's ending, or {_languages()}."


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Add the flags to a command; it gets what was given as its argument `flags`.

    The one place with `**`: typer passes parameters by name, and these are not known here.
    """
    hints = get_type_hints(command, include_extras=True)
    own = [
        parameter.replace(annotation=hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if name != "flags"
    ]
    names = [parameter.name for parameter in own]
    serves = command.__name__ == "serve"
    hidden = RARE - {"live_sequences"} if serves else RARE
    added = [_parameter(name, name in hidden) for name in NAMES if serves or name not in SERVER]

    @wraps(command)
    def with_flags(**given: Any) -> None:
        flags = {name: given.pop(name) for name in list(given) if name not in names}
        command(**given, flags=flags)

    parameters = [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in (*own, *added)]
    with_flags.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_flags.__annotations__ = {item.name: item.annotation for item in parameters}
    del with_flags.__wrapped__  # typer would look through it
    return with_flags


def _parameter(name: str, hidden: bool) -> inspect.Parameter:
    setting = next(item for item in fields(Settings) if item.name == name)
    flag = "--" + name.replace("_", "-")
    is_switch = setting.type == "bool"
    declared = f"{flag}/--no-{flag[2:]}" if is_switch else flag
    option = typer.Option(
        declared,
        help=f"{setting.metadata['help']}. \\[{_default(setting.default)}]",
        rich_help_panel=PANEL,
        show_default=False,
        hidden=hidden,
        metavar=None if is_switch else "VALUE",
    )
    kind: Any = bool | None if is_switch else str | None
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind, option],
    )


def _languages() -> str:
    from redraft.terminal.languages import known_languages

    return ", ".join(known_languages())


def _default(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(str, value))
    return str(value)
