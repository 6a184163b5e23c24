"""Measures syntax on source files: what the text before a cursor tells of its place, and how fast.

Each file is parsed whole, and at random offsets the place there is compared with the place that the
text up to the offset alone gives. Then the file's last part is replayed token by token as if it
were an output, which times each step and counts how often the `forced` drafter would have been
right. No weights compute.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from time import thread_time
from typing import Any

from rich.table import Table

from redraft.bench import provenance
from redraft.bench.run import Outcome, write_document
from redraft.bench.watch import Watch
from redraft.config import Settings
from redraft.drafters.corpus.files import Segment, source_files
from redraft.drafters.forced import ForcedDrafter
from redraft.errors import InputError
from redraft.loading import load_tokenizer
from redraft.protocols import DraftContext, Tokenizer
from redraft.syntax import REASONS, Place, Syntax
from redraft.syntax.grammar import Grammar
from redraft.syntax.languages import LANGUAGES, dialect, find_language
from redraft.syntax.place import Cursor, describe
from redraft.syntax.reading import WINDOW, Reading
from redraft.tokens import Choice, Verdict

COMPARED = ("kind", "depth", "region", "token_class", "definition")
MOST_BYTES = 2 * WINDOW
"""A file's beginning that is measured: what a reading holds at once."""
MOST_TOKENS = 2048
"""Of each file that are replayed."""


@dataclass(frozen=True, slots=True)
class SyntaxPlan:
    """What is to be measured."""

    paths: tuple[Path, ...]
    offsets: int
    """Random offsets in each file."""
    files: int
    """Most files of one language, chosen at random."""
    seed: int
    output: Path
    command: str = ""


@dataclass(slots=True)
class Counts:
    """What was found in one language."""

    files: int = 0
    broken: int = 0
    """Files that seem to close what is not open, where drafts are pruned wrongly once."""
    offsets: int = 0
    equal: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    """Of the processor, for each step: reading the new token, and asking for the place and for
    what is expected."""
    tokens: int = 0
    proposed: Counter[tuple[str, bool]] = field(default_factory=Counter)
    right: Counter[tuple[str, bool]] = field(default_factory=Counter)
    """By reason, and whether it is a later token of a proposal than the first."""


def run_syntax(plan: SyntaxPlan, settings: Settings, watch: Watch) -> Outcome:
    """Measure, and write `syntax-<time>.json` into `plan.output`. Raises InputError."""
    tokenizer = load_tokenizer(settings.engine, settings.model, watch.stage)
    begun = provenance.moment()
    by_language = measure(plan, tokenizer, watch.stage)
    code = provenance.code()
    document = {
        "version": provenance.VERSION,
        "workload": "syntax",
        "command": plan.command,
        "commit": code.commit,
        "source_sha256": code.source_sha256,
        "machine": provenance.machine(settings.threads),
        "seed": plan.seed,
        "begun": begun,
        "ended": provenance.moment(),
        "by_language": by_language,
    }
    return Outcome(write_document(plan.output, "syntax", document), document)


def syntax_table(document: Mapping[str, Any]) -> Table:
    """A row for each language: agreement, times of a step, and what `forced` would have got."""
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for heading in ("language", "files", "kind", "depth", "region", "median ms", "95 % ms"):
        table.add_column(heading, justify="left" if heading == "language" else "right")
    table.add_column("right per 1,000 tokens")
    for name, one in document["by_language"].items():
        agreement = (f"{one['agreement'][item]:.1%}" for item in COMPARED[:3])
        times = (f"{one[item]:.2f}" for item in ("median_ms", "p95_ms"))
        right = (
            f"{reason} {found['proposals_per_1000_tokens'] * found['first_right']:.0f}"
            f" ({found['first_right']:.0%})"
            for reason, found in one["forced"].items()
        )
        table.add_row(name, str(one["files"]), *agreement, *times, ", ".join(right))
    return table


def measure(
    plan: SyntaxPlan, tokenizer: Tokenizer, told: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Figures by language. `told` hears of each file. Raises InputError where there is no file."""
    dice = random.Random(plan.seed)
    found: dict[str, dict[str, Any]] = {}
    for name, paths in sorted(_by_language(plan.paths).items()):
        dice.shuffle(paths)
        counts = Counts()
        for path in paths[: plan.files]:
            told(f"{name}: {path.name}")
            text = path.read_bytes()[:MOST_BYTES]
            _measure_file(name, text, plan.offsets, dice, counts)
            _replay(name, text, tokenizer, counts)
        if counts.offsets:
            found[name] = _figures(counts)
    if not found:
        raise InputError("no source file of a known language is there; name files or folders")
    return found


def _by_language(paths: Sequence[Path]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    missing = next((path for path in paths if not path.exists()), None)
    if missing is not None:
        raise InputError(f"there is no file {missing}; check the path")
    for file in source_files(Segment("syntax", tuple(paths)), max_bytes=10_000_000):
        known = find_language(file.language)
        if known is not None:
            name = dialect(known[0], file.path.read_bytes()[:MOST_BYTES])
            found.setdefault(name, []).append(file.path)
    return found


def _measure_file(
    name: str, text: bytes, offsets: int, dice: random.Random, counts: Counts
) -> None:
    language = LANGUAGES[name]
    grammar = Grammar(language)
    whole = Reading(language, grammar, text)
    counts.files += 1
    counts.broken += whole.is_broken
    for _ in range(offsets if text else 0):
        offset = dice.randrange(1, len(text) + 1)
        while offset < len(text) and text[offset] & 0xC0 == 0x80:
            offset += 1  # not inside a character
        before = Reading(language, grammar, text[:offset])
        place = describe(before.structure, before.cursor())
        wanted = place_within(whole, text, offset)
        counts.offsets += 1
        for item in COMPARED:
            counts.equal[item] += getattr(place, item) == getattr(wanted, item)


def place_within(whole: Reading, text: bytes, offset: int) -> Place:
    """The place at an offset of a text that was read whole, and so with what follows."""
    index = bisect_left(whole.leaves, offset, key=lambda leaf: leaf.start) - 1
    row = text.count(b"\n", 0, offset)
    last = whole.leaves[index] if index >= 0 else None
    cursor = Cursor(whole.states[max(0, index)], last, offset, row)
    return describe(whole.structure, cursor)


def _replay(name: str, text: bytes, tokenizer: Tokenizer, counts: Counts) -> None:
    """The file's first part as a prompt's prefix would be, the rest as output."""
    syntax = Syntax(tokenizer)
    forced = ForcedDrafter(tokenizer, syntax)
    tokens = tokenizer.encode(text.decode("utf-8", "replace"))
    begun = max(0, len(tokens) - MOST_TOKENS)
    context = DraftContext((), source=tuple(tokens), language=name)
    syntax.start(context)
    syntax.commit(tokens[:begun])
    forced.start(context)
    for number in range(begun, len(tokens)):
        clock = thread_time()
        syntax.place()
        draft = forced.propose(16)
        syntax.commit(tokens[number : number + 1])
        counts.seconds.append(thread_time() - clock)
        counts.tokens += 1
        for ahead, token in enumerate(draft.tokens):
            reason = REASONS[draft.evidence[ahead] // 2]
            counts.proposed[reason, ahead > 0] += 1
            if tokens[number + ahead : number + ahead + 1] != [token]:
                break
            counts.right[reason, ahead > 0] += 1
        forced.commit(Verdict(draft, 0, (Choice(tokens[number], 0.0),)))


def _figures(counts: Counts) -> dict[str, Any]:
    milliseconds = [1000 * seconds for seconds in counts.seconds]
    return {
        "files": counts.files,
        "broken_files": counts.broken,
        "offsets": counts.offsets,
        "agreement": {item: counts.equal[item] / counts.offsets for item in COMPARED},
        "steps": len(milliseconds),
        "median_ms": median(milliseconds) if milliseconds else None,
        "p95_ms": quantiles(milliseconds, n=20)[-1] if len(milliseconds) > 1 else None,
        "max_ms": max(milliseconds, default=None),
        "forced": dict(_forced(counts)),
    }


def _forced(counts: Counts) -> Iterator[tuple[str, Mapping[str, float]]]:
    for reason in REASONS:
        first, later = counts.proposed[reason, False], counts.proposed[reason, True]
        if first:
            yield (
                reason,
                {
                    "proposals_per_1000_tokens": 1000 * first / counts.tokens,
                    "first_right": counts.right[reason, False] / first,
                    "later_right": counts.right[reason, True] / later if later else 0.0,
                },
            )
