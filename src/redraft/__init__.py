"""redraft: code models answer sooner and say the same.

Names in `__all__` are loaded at first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redraft.config import Settings, load_settings
    from redraft.errors import (
        Cancelled,
        CheckFailed,
        EngineError,
        InputError,
        ModelError,
        RedraftError,
        UsageError,
    )
    from redraft.session import (
        CompleteRequest,
        EditRequest,
        GenerateRequest,
        Progress,
        Result,
        Run,
        Session,
    )
    from redraft.tokens import Draft

__version__: str

_HOMES = {
    "Settings": "redraft.config",
    "load_settings": "redraft.config",
    "Cancelled": "redraft.errors",
    "CheckFailed": "redraft.errors",
    "EngineError": "redraft.errors",
    "InputError": "redraft.errors",
    "ModelError": "redraft.errors",
    "RedraftError": "redraft.errors",
    "UsageError": "redraft.errors",
    "CompleteRequest": "redraft.session",
    "EditRequest": "redraft.session",
    "GenerateRequest": "redraft.session",
    "Progress": "redraft.session",
    "Result": "redraft.session",
    "Run": "redraft.session",
    "Session": "redraft.session",
    "Draft": "redraft.tokens",
}

__all__ = [
    "Cancelled",
    "CheckFailed",
    "CompleteRequest",
    "Draft",
    "EditRequest",
    "EngineError",
    "GenerateRequest",
    "InputError",
    "ModelError",
    "Progress",
    "RedraftError",
    "Result",
    "Run",
    "Session",
    "Settings",
    "UsageError",
    "__version__",
    "load_settings",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        return version("redraft")
    if name not in _HOMES:
        raise AttributeError(f"module 'redraft' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
