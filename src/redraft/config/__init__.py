"""Settings: flags over `REDRAFT_*` variables over `redraft.toml` over defaults, then frozen.

`settings` holds the fields, `layers` finds and reads where values come from, `schema` is the
pydantic-settings model that validates them (imported only then), `loading` puts them together.
Everything above the loop gets a `Settings`; nothing below `session` sees one.
"""

from redraft.config.loading import Explained, allowed, check_settings, explain, load_settings
from redraft.config.settings import NAMES, Settings, default_home

__all__ = [
    "NAMES",
    "Explained",
    "Settings",
    "allowed",
    "check_settings",
    "default_home",
    "explain",
    "load_settings",
]
