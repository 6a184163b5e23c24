"""The language of a file by its name: what a code fence and the corpus call it."""

from __future__ import annotations

import difflib
import re
from pathlib import PurePath

from redraft.errors import UsageError

_OTHERS = {
    "ada": (".adb", ".ads"),
    "assembly": (".asm", ".s"),
    "awk": (".awk",),
    "batch": (".bat", ".cmd"),
    "clojure": (".clj", ".cljs"),
    "cmake": (".cmake",),
    "crystal": (".cr",),
    "css": (".css",),
    "cuda": (".cu", ".cuh"),
    "d": (".d",),
    "dart": (".dart",),
    "elixir": (".ex", ".exs"),
    "elm": (".elm",),
    "erlang": (".erl", ".hrl"),
    "fortran": (".f", ".f90", ".f95"),
    "fsharp": (".fs", ".fsx"),
    "gdscript": (".gd",),
    "glsl": (".glsl",),
    "graphql": (".graphql", ".gql"),
    "groovy": (".groovy", ".gradle"),
    "haskell": (".hs",),
    "hcl": (".hcl", ".tf"),
    "html": (".html", ".htm"),
    "ini": (".ini",),
    "json": (".json",),
    "julia": (".jl",),
    "latex": (".tex",),
    "less": (".less",),
    "lisp": (".lisp", ".el"),
    "markdown": (".md",),
    "nim": (".nim",),
    "nix": (".nix",),
    "objectivec": (".m", ".mm"),
    "ocaml": (".ml", ".mli"),
    "pascal": (".pas",),
    "perl": (".pl", ".pm"),
    "powershell": (".ps1",),
    "protobuf": (".proto",),
    "r": (".r",),
    "scheme": (".scm",),
    "scss": (".scss",),
    "solidity": (".sol",),
    "svelte": (".svelte",),
    "tcl": (".tcl",),
    "toml": (".toml",),
    "verilog": (".v", ".sv"),
    "vhdl": (".vhd", ".vhdl"),
    "vim": (".vim",),
    "vue": (".vue",),
    "xml": (".xml",),
    "yaml": (".yaml", ".yml"),
    "zig": (".zig",),
}
_WHOLE_NAMES = {"makefile": "makefile", "dockerfile": "dockerfile", "cmakelists.txt": "cmake"}
_ALSO_CALLED = {
    "c#": "csharp",
    "c++": "cpp",
    "f#": "fsharp",
    "golang": "go",
    "objective-c": "objectivec",
    "python3": "python",
    "terraform": "hcl",
    "zsh": "shell",
}


def chosen_language(given: str, name: str) -> str:
    """What `--lang` says, by its name here; else what the file's name tells. `given` may be a
    language's name or a file's ending. Raises UsageError for any other."""
    if not given:
        return language_of(name)
    word = one_word(given, "--lang").lower()
    found = _ALSO_CALLED.get(word, word)
    if found in known_languages():
        return found
    if by_ending := language_of(f"a.{word.removeprefix('.')}"):
        return by_ending
    close = difflib.get_close_matches(word, known_languages())
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    raise UsageError(
        f"--lang is {given!r}, which is no known language; {hint}"
        "'redraft generate --help' lists those that are"
    )


def one_word(given: str, what: str) -> str:
    """`given` as it is. Raises UsageError, naming it `what`, for what is no word: it stands behind
    a code fence in the prompt, where a line end or a backquote would break it."""
    if given and not re.fullmatch(r"[\w.#+-]{1,40}", given):
        raise UsageError(f"{what} is {given!r}; it must be one word such as python")
    return given


def known_languages() -> tuple[str, ...]:
    """The names that `language_of` gives, sorted."""
    return tuple(sorted({*_endings(), *_WHOLE_NAMES.values()}))


def language_of(name: str) -> str:
    """A lower-case language name, or nothing when the file's name does not tell."""
    path = PurePath(name)
    if whole := _WHOLE_NAMES.get(path.name.lower()):
        return whole
    suffix = path.suffix.lower()
    return next((language for language, some in _endings().items() if suffix in some), "")


def _endings() -> dict[str, tuple[str, ...]]:
    from redraft.drafters.corpus.files import LANGUAGES

    return LANGUAGES | _OTHERS
