"""Whether drafted output equals plain output, on many generations and with every drafter.

No clock counts here. Each generation is answered plainly once and then with each set of drafters.
A single drafter runs under a fixed policy, which drafts at every step whether it pays or not and
so meets most rejections; the mixture runs under the policy that the user has.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from redraft.bench import provenance
from redraft.bench.corpus import (
    CorpusFacts,
    build_bench_corpus,
    corpus_facts,
    default_folder,
    with_corpus,
)
from redraft.bench.exact_tasks import Gathered, Generation
from redraft.bench.journal import Journal
from redraft.bench.measure import Measuring, Timed, first_difference
from redraft.bench.run import Outcome, holds_for, quiet, write_document
from redraft.bench.watch import Watch
from redraft.bench.workloads import sample, tasks_sha256
from redraft.config import Settings
from redraft.loading import load_tokenizer
from redraft.session import Session

DRAFTERS = ("source", "suffix", "corpus", "model", "forced")
MOST_TOKENS = 256
"""Of one output, unless the user says."""
CORPUS_TOKENS = 300_000
"""Of the corpus that is built where none is given: enough to find something to propose."""
SINGLE_POLICY = "fixed:6"


@dataclass(frozen=True, slots=True)
class DrafterSet:
    """Drafters that work together, and under which policy."""

    name: str
    drafters: tuple[str, ...]
    policy: str


@dataclass(frozen=True, slots=True)
class ExactPlan:
    """What is to be compared, and where the results go."""

    gathered: Gathered
    drafters: tuple[str, ...]
    output: Path
    sampled: int | None = None
    """So many generations, fixed by the settings' seed, or all."""
    corpus: Path | None = None
    """Folder of index files; None builds a small one."""
    fresh: bool = False
    command: str = ""


def drafter_sets(drafters: Sequence[str], policy: str) -> tuple[DrafterSet, ...]:
    """Each drafter alone, and all together where there are several."""
    singles = tuple(DrafterSet(name, (name,), SINGLE_POLICY) for name in drafters)
    if len(singles) < 2:
        return singles
    return (*singles, DrafterSet("mixture", tuple(drafters), policy))


def run_exact(plan: ExactPlan, settings: Settings, watch: Watch) -> Outcome:
    """Compare, and write `exact-<time>.json` into `plan.output`. Raises as `run_bench` does."""
    generations = _chosen(plan, settings)
    tested = replace(quiet(settings), drafters=plan.drafters)
    folder = _corpus_folder(plan, settings, watch) if "corpus" in plan.drafters else None
    with Session(with_corpus(tested, folder), watch.stage) as session:
        facts = corpus_facts(folder, session.loaded.tokenizer) if folder else None
        origin = {**_asked(plan, generations), **_origin(session, facts, watch)}
        with Journal(plan.output, "exact", holds_for(origin), plan.fresh) as journal:
            before = provenance.moment()
            sets = drafter_sets(plan.drafters, settings.policy)
            rows = _compare(generations, sets, session, journal, watch)
            found = {**_figures(rows, sets, plan.gathered.notes), "rows": rows}
            document = {**origin, "begun": before, "ended": provenance.moment(), **found}
            path = write_document(plan.output, "exact", document)
            journal.discard()
    return Outcome(path, document)


def _chosen(plan: ExactPlan, settings: Settings) -> tuple[Generation, ...]:
    generations = plan.gathered.generations
    return sample(generations, plan.sampled, settings.seed) if plan.sampled else generations


def _asked(plan: ExactPlan, generations: Sequence[Generation]) -> dict[str, Any]:
    whole = plan.gathered.generations
    return {
        "workload": "exact",
        "command": plan.command,
        "tasks_sha256": tasks_sha256(generations),
        "set_sha256": tasks_sha256(whole),
        "sample": {
            "tasks": len(generations),
            "of": len(whole),
            "by": "sample" if plan.sampled else "all",
        },
        "repeats": 1,
    }


def _origin(session: Session, facts: CorpusFacts | None, watch: Watch) -> dict[str, Any]:
    watch.stage("reading checksums")
    return provenance.origin(session, facts)


def _corpus_folder(plan: ExactPlan, settings: Settings, watch: Watch) -> Path:
    if plan.corpus is not None:
        return plan.corpus
    tokenizer = load_tokenizer(settings.engine, settings.model, watch.stage)
    folder = default_folder(tokenizer).with_name(f"small-{default_folder(tokenizer).name}")
    watch.stage("indexing a small corpus")
    build_bench_corpus(folder, tokenizer, CORPUS_TOKENS)
    return folder


def _compare(
    generations: Sequence[Generation],
    sets: Sequence[DrafterSet],
    session: Session,
    journal: Journal,
    watch: Watch,
) -> list[dict[str, Any]]:
    rows = {row["name"]: row for row in journal.rows}
    per_task = 1 + len(sets)
    watch.begin(per_task * len(generations), per_task * len(rows))
    measuring = Measuring(session)
    for generation in generations:
        if generation.name in rows:
            continue
        watch.task(generation.name)
        row = _compare_one(generation, sets, session.settings, measuring, watch)
        journal.append(row)
        rows[generation.name] = row
        different = [name for name, found in row["sets"].items() if not found["equal"]]
        loud = f": {', '.join(different)} DIFFER from plain" if different else ": equal"
        watch.finished(f"{len(rows)}/{len(generations)} {generation.name}{loud}")
    return [rows[generation.name] for generation in generations]


def _compare_one(
    generation: Generation,
    sets: Sequence[DrafterSet],
    tested: Settings,
    measuring: Measuring,
    watch: Watch,
) -> dict[str, Any]:
    asked = replace(
        tested,
        temperature=generation.temperature,
        seed=generation.seed,
        max_tokens=tested.max_tokens or MOST_TOKENS,
    )
    plain = measuring.answer(generation.task, replace(asked, policy="none", drafters=()))
    watch.unit()
    results: dict[str, Any] = {}
    for one in sets:
        settings = replace(asked, policy=one.policy, drafters=one.drafters)
        drafted = measuring.answer(generation.task, settings, keep_prompt=True)
        results[one.name] = _comparison(plain, drafted)
        watch.unit()
    return {
        "name": generation.name,
        "workload": generation.workload,
        "kind": generation.kind,
        "tokens": len(plain.tokens),
        "finish_reason": plain.finish_reason,
        "exact": plain.exact,
        "output_sha256": hashlib.sha256(plain.text.encode("utf-8", "replace")).hexdigest(),
        "sets": results,
    }


def _comparison(plain: Timed, drafted: Timed) -> dict[str, Any]:
    place = first_difference(plain.tokens, drafted.tokens)
    same_text = plain.text.encode("utf-8", "replace") == drafted.text.encode("utf-8", "replace")
    same_end = plain.finish_reason == drafted.finish_reason
    return {
        "equal": place is None and same_text and same_end,
        "differs_at": place,
        "proposed": drafted.statistics.proposed,
        "accepted": drafted.statistics.accepted,
        "forwards": drafted.statistics.forwards,
    }


def _figures(
    rows: Sequence[Mapping[str, Any]], sets: Sequence[DrafterSet], notes: Sequence[str]
) -> dict[str, Any]:
    compared = [(row, name, found) for row in rows for name, found in row["sets"].items()]
    by_set = {
        one.name: {
            "policy": one.policy,
            "compared": len(rows),
            "equal": sum(row["sets"][one.name]["equal"] for row in rows),
            "proposed": sum(row["sets"][one.name]["proposed"] for row in rows),
            "accepted": sum(row["sets"][one.name]["accepted"] for row in rows),
        }
        for one in sets
    }
    idle = [
        f"{name} proposed nothing, so that its outputs are equal says nothing"
        for name, found in by_set.items()
        if not found["proposed"]
    ]
    return {
        "generations": len(rows),
        "compared": len(compared),
        "equal": all(found["equal"] for _, _, found in compared),
        "unequal": [
            {"task": row["name"], "set": name, "differs_at": found["differs_at"]}
            for row, name, found in compared
            if not found["equal"]
        ],
        "exact": all(row["exact"] for row in rows),
        "by_set": by_set,
        "by_workload": dict(Counter(row["kind"] for row in rows)),
        "output_tokens": sum(row["tokens"] for row in rows),
        "notes": [*notes, *idle],
    }
