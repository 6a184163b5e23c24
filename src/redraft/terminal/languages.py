"""The language of a file by its name: what a code fence and the corpus call it."""

from __future__ import annotations

from pathlib import PurePath

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


def language_of(name: str) -> str:
    """A lower-case language name, or nothing when the file's name does not tell."""
    from redraft.drafters.corpus.files import LANGUAGES

    path = PurePath(name)
    suffix = path.suffix.lower()
    for language, suffixes in LANGUAGES.items():
        if suffix in suffixes:
            return language
    return _OTHERS.get(suffix) or _WHOLE_NAMES.get(path.name.lower(), "")
