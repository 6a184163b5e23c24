"""The language of a file by its name: what a code fence and the corpus call it."""

from __future__ import annotations

import re
from pathlib import PurePath

from redraft.errors import UsageError

_OTHERS = {
    ".json": "json",
    ".toml": "toml",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".html": "html",
    ".css": "css",
    ".md": "markdown",
    ".xml": "xml",
}
_WHOLE_NAMES = {"makefile": "makefile", "dockerfile": "dockerfile"}


def chosen_language(given: str, name: str) -> str:
    """What `--lang` says, else what the file's name tells. Raises UsageError for what is no word:
    it stands behind a code fence in the prompt, where a line end or a backquote would break it."""
    if given and not re.fullmatch(r"[\w.#+-]{1,40}", given):
        raise UsageError(f"--lang is {given!r}; it must be one word such as python")
    return given or language_of(name)


def language_of(name: str) -> str:
    """A lower-case language name, or nothing when the file's name does not tell."""
    from redraft.drafters.corpus.files import LANGUAGES

    path = PurePath(name)
    suffix = path.suffix.lower()
    for language, suffixes in LANGUAGES.items():
        if suffix in suffixes:
            return language
    return _OTHERS.get(suffix) or _WHOLE_NAMES.get(path.name.lower(), "")
