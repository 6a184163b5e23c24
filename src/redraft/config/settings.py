"""The fields of the settings, each with its default, its meaning and what it may be.

It does not know where values come from.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal, TypeVar

from redraft.cores import available_cores

_Value = TypeVar("_Value")


def _setting(
    default: _Value,
    help: str,
    allowed: str = "",
    at_least: float | None = None,
    at_most: float | None = None,
) -> _Value:
    """A field with what is said of it. `allowed` completes "it must be …"; where it is not given
    it is made from the bounds or, for a Literal, from the choices."""
    if at_least is not None and not allowed:
        allowed = f"{at_least} … {at_most}"
    metadata = {"help": help, "allowed": allowed, "at_least": at_least, "at_most": at_most}
    value: _Value = field(default=default, metadata=metadata)
    return value


def default_home() -> Path:
    """Where weights, measurements, indexes and run records are kept: `$REDRAFT_HOME`, else
    `redraft` in the user's cache folder. Raises UsageError when the user has no home."""
    from redraft.models.catalogue import models_folder

    return models_folder().parent


@dataclass(frozen=True, slots=True)
class Settings:
    """What a session works by. All values are valid when they come from `load_settings`; a session
    checks those that were made by hand."""

    model: str = _setting(
        "qwen2.5-coder-1.5b", "the target model", "a model's name or the path of a .gguf file"
    )
    small_model: str = _setting(
        "qwen2.5-coder-0.5b",
        "the small model of the `model` drafter",
        "a model's name or the path of a .gguf file",
    )
    engine: str = _setting("auto", "what computes", "auto or a known engine's name")
    threads: int = _setting(0, "threads of a forward; 0: the physical cores", "", 0, 1024)
    """At least 1 once constructed: 0 becomes the physical cores that this process may use."""
    context: int = _setting(8192, "tokens a sequence may hold", "", 256, 1_048_576)
    policy: str = _setting(
        "cost",
        "how much is drafted at once",
        "none, cost, gate, seed, seed-regions or fixed:k with k = 1 … 63",
    )
    gate_weights: str = _setting(
        "default",
        "weights of the policy `gate`; default: the package's own",
        "default or a file of redraft gate train",
    )
    seed_depth: int = _setting(
        5,
        "depth of code beyond which the policy `seed` (a published rule) drafts little",
        "",
        0,
        1000,
    )
    seed_low: float = _setting(
        0.5, "acceptance below which the policy `seed` (a published rule) drafts little", "", 0, 1
    )
    seed_high: float = _setting(
        0.8, "acceptance above which the policy `seed` (a published rule) drafts much", "", 0, 1
    )
    drafters: tuple[str, ...] = _setting(
        ("source", "suffix", "corpus"), "who drafts", "different known drafters' names"
    )
    syntax: bool = _setting(
        False, "whether drafts that break the code's syntax are cut", "true or false"
    )
    numerics: Literal["invariant", "fast"] = _setting(
        "invariant", "whether drafted output must equal plain output bit for bit"
    )
    temperature: float = _setting(0.0, "0 always takes the likeliest token", "", 0, 100)
    top_p: float = _setting(
        1.0, "sample among the likeliest tokens of this mass", "above 0, at most 1", 1e-9, 1
    )
    top_k: int = _setting(0, "sample among so many likeliest tokens; 0: all", "", 0, 1_000_000)
    min_p: float = _setting(0.0, "leave out tokens below this share of the likeliest one", "", 0, 1)
    seed: int = _setting(0, "random seed of sampling", "0 … 2^64 - 1", 0, 2**64 - 1)
    max_tokens: int = _setting(0, "most tokens of an output; 0: by task", "", 0, 1_048_576)
    live_sequences: int = _setting(
        4, "sequences held in memory at once; others are parked", "", 1, 64
    )
    record: bool = _setting(True, "whether runs are recorded, for explain-run", "true or false")
    keep_runs: int = _setting(50, "run records that are kept", "", 1, 100_000)
    corpus_paths: tuple[Path, ...] = _setting(
        (), "folders of the corpus; none: the project of the working directory", "paths"
    )
    corpus_exclude: tuple[str, ...] = _setting(
        (), "file and folder names that the corpus leaves out", "names or patterns such as *_pb2.py"
    )
    corpus_packages: bool = _setting(
        True, "whether installed Python packages are in the corpus", "true or false"
    )
    corpus_update: bool = _setting(
        True, "whether the corpus is updated in the background", "true or false"
    )
    corpus_tokens: int = _setting(
        10_000_000, "most tokens of one corpus index", "", 1000, 1_000_000_000
    )
    host: str = _setting("127.0.0.1", "address that serve listens on", "an address or a name")
    port: int = _setting(8012, "port that serve listens on; 0: any that is free", "", 0, 65535)
    queue: int = _setting(32, "requests that serve lets wait; more are refused", "", 0, 10_000)
    request_seconds: float = _setting(
        600.0, "seconds after which serve ends a request with what it has", "", 1, 86_400
    )
    home: Path = field(
        default_factory=default_home,
        metadata={"help": "where weights, indexes and records are; only by REDRAFT_HOME"},
    )
    project: Path | None = field(
        default=None, metadata={"help": "the project's root folder; found from the working one"}
    )
    origins: tuple[tuple[str, str], ...] = field(default=(), repr=False, compare=False)
    """(setting, where its value comes from) for those that are not defaults."""

    def __post_init__(self) -> None:
        if self.threads == 0:
            object.__setattr__(self, "threads", available_cores())

    @property
    def runs_folder(self) -> Path:
        """Where run records are."""
        return self.home / "runs"

    @property
    def corpus_directory(self) -> Path:
        """Where the corpus indexes of this project are; those of packages alone without one."""
        if self.project is None and not self.corpus_paths:
            return self.home / "corpus" / "packages"
        roots = [str(path) for path in self.corpus_paths] or [str(self.project)]
        name = Path(roots[0]).name or "root"
        mark = hashlib.sha256("\0".join(roots).encode("utf-8", "surrogateescape")).hexdigest()
        return self.home / "corpus" / f"{name}-{mark[:12]}"


NAMES: tuple[str, ...] = tuple(
    item.name for item in fields(Settings) if item.name not in ("home", "project", "origins")
)
"""Names of the settings that a flag, variable or file may give."""
