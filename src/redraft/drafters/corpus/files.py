"""Finds the source files worth indexing: of a project, and of what is installed for Python.

Knows names, sizes and folder habits. Does not read files, except for the imports of a project.
"""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import TypeAlias

Check: TypeAlias = Callable[[], None]
"""Called at every folder and file; may raise to stop."""

LANGUAGES = {
    "python": (".py", ".pyi"),
    "typescript": (".ts", ".tsx", ".mts", ".cts"),
    "javascript": (".js", ".jsx", ".mjs", ".cjs"),
    "go": (".go",),
    "rust": (".rs",),
    "java": (".java",),
    "kotlin": (".kt", ".kts"),
    "swift": (".swift",),
    "scala": (".scala",),
    "c": (".c", ".h"),
    "cpp": (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"),
    "csharp": (".cs",),
    "ruby": (".rb",),
    "php": (".php",),
    "lua": (".lua",),
    "shell": (".sh", ".bash"),
    "sql": (".sql",),
}
_LANGUAGE_OF = {suffix: name for name, suffixes in LANGUAGES.items() for suffix in suffixes}

# Folders that hold no source that people write; hidden ones and virtual environments go too.
_SKIPPED = {"node_modules", "__pycache__", "build", "dist", "target", "vendor", "third_party"}
# Of installed packages, tests are the bulk and read least like the code people write.
_SKIPPED_INSTALLED = {
    "test", "tests", "testing", "idlelib", "site-packages", "dist-packages", "__pycache__"
}  # fmt: skip

_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Segment:
    """A set of files that is indexed and updated together."""

    name: str
    """Begins the names of its index files: letters, digits, dashes."""
    roots: tuple[Path, ...]
    """Folders or single files, the most useful first, in case the budget ends early."""
    exclude: tuple[str, ...] = ()
    """Shell patterns: a file is left out if one fits its name, its name without suffix, or a
    folder's name between the root and the file; so a package's name leaves that package out."""
    installed: bool = False
    """Installed packages: a package that sorts early must not use up the budget, and tests are
    left out."""
    languages: tuple[str, ...] = ()
    """Only these languages; all when empty."""
    prefer: tuple[str, ...] = ()
    """Names of packages that come before all others, when `installed`."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file worth indexing."""

    path: Path
    language: str
    modified_ns: int
    size: int
    package: str
    """The topmost name below the root when the segment is installed, else empty."""


def project_segment(root: Path, exclude: tuple[str, ...] = ()) -> Segment:
    """The user's own files below `root`."""
    return Segment("project", (root,), exclude)


def python_segment(
    project: Path | None = None, exclude: tuple[str, ...] = (), check: Check = lambda: None
) -> Segment:
    """Python's standard library and the installed packages, those that `project` imports first."""
    prefer = imported_names(project, check=check) if project else ()
    return Segment("python", installed_python(project), exclude, True, ("python",), prefer)


def installed_python(project: Path | None = None) -> tuple[Path, ...]:
    """The standard library of the running interpreter, and the packages of the project's virtual
    environment or the active one, if any, else of the running interpreter."""
    environments = [Path(active)] if (active := os.environ.get("VIRTUAL_ENV")) else []
    if project is not None:
        environments[:0] = [project / ".venv", project / "venv"]
    packages = [found for folder in environments for found in _site_packages(folder)]
    paths = sysconfig.get_paths()
    own = [Path(paths["purelib"]), Path(paths["platlib"])]
    roots = [Path(paths["stdlib"]), *(packages[:1] or own)]
    return tuple(dict.fromkeys(root.resolve() for root in roots if root.is_dir()))


def _site_packages(environment: Path) -> list[Path]:
    return sorted(environment.glob("lib*/python3*/site-packages"), reverse=True)


def imported_names(
    root: Path, most_files: int = 2000, check: Check = lambda: None
) -> tuple[str, ...]:
    """Top-level names that the Python files below `root` import, the most frequent first."""
    counts: dict[str, int] = {}
    segment = Segment("imports", (root,), languages=("python",))
    for file in islice(source_files(segment, 1_000_000, check), most_files):
        check()
        try:
            text = file.path.read_bytes()
        except OSError:
            continue  # gone or unreadable: its imports do not matter
        for name in set(_IMPORT.findall(text)):
            counts[name.decode()] = counts.get(name.decode(), 0) + 1
    return tuple(sorted(counts, key=lambda name: (-counts[name], name)))


def source_files(
    segment: Segment, max_bytes: int, check: Check = lambda: None
) -> Iterator[SourceFile]:
    """The segment's source files of at most `max_bytes`, in an order that does not vary."""
    if segment.installed:
        files = [file for root in segment.roots for file in _below(root, segment, max_bytes, check)]
        place = {name: number for number, name in enumerate(segment.prefer)}
        files.sort(key=lambda file: place.get(file.package, len(place)))
        yield from files
        return
    for root in segment.roots:
        yield from _below(root, segment, max_bytes, check)


def _below(root: Path, segment: Segment, max_bytes: int, check: Check) -> Iterator[SourceFile]:
    if root.is_file():
        yield from _source_file(root, "", segment, max_bytes)
        return
    for folder, folders, names in os.walk(root):
        check()
        inside = Path(folder)
        folders[:] = sorted(name for name in folders if _wanted_folder(inside / name, segment))
        for name in sorted(names):
            path = inside / name
            package = path.relative_to(root).parts[0].removesuffix(".py")
            yield from _source_file(path, package if segment.installed else "", segment, max_bytes)


def _wanted_folder(folder: Path, segment: Segment) -> bool:
    skipped = _SKIPPED_INSTALLED if segment.installed else _SKIPPED
    name = folder.name
    return not (
        name in skipped
        or name.startswith(".")
        or any(fnmatch(name, pattern) for pattern in segment.exclude)
        or (folder / "pyvenv.cfg").exists()
    )


def _source_file(
    path: Path, package: str, segment: Segment, max_bytes: int
) -> Iterator[SourceFile]:
    """The file, if it is wanted; else nothing."""
    language = _LANGUAGE_OF.get(path.suffix.lower())
    if language is None or (segment.languages and language not in segment.languages):
        return
    if path.name.startswith(".") or path.name.endswith((".min.js", ".d.ts")):
        return
    names = (path.name, path.stem)
    if any(fnmatch(name, pattern) for name in names for pattern in segment.exclude):
        return
    try:
        status = path.stat()
    except OSError:
        return  # gone between listing and looking, or a dangling link
    if path.is_file() and 0 < status.st_size <= max_bytes:
        yield SourceFile(path, language, status.st_mtime_ns, status.st_size, package)
