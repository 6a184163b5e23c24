"""The loop: propose, evaluate, verify, commit, yield.

It brings a sequence, drafters, a policy and a sampler together and knows none of them by name, no
text and no settings. What is in the KV cache is valid whenever it yields or raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Tokens
from dataclasses import dataclass, replace
from time import perf_counter

from redraft.ends import End, Ends
from redraft.protocols import (
    MAX_ROWS,
    Cancelled,
    DraftContext,
    Drafter,
    Policy,
    Sampler,
    Sequence,
)
from redraft.tokens import Draft, Prefill, Step, Verdict
from redraft.verify import verify

PREFILL_PIECE = 512
FILLER = "filler"
"""Drafter name of the tokens that only fill a forward up to the fewest tokens it must have."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one generation is to do."""

    context: DraftContext
    sample: Sampler
    ends: Ends
    room: int
    """Most tokens the output may have; at least 1."""
    fewest: int = 1
    """Fewest tokens a forward may have: `Engine.invariant_from` for invariant numerics."""
    cancelled: Cancelled | None = None
    prefill_piece: int = PREFILL_PIECE


def decode(
    sequence: Sequence, plan: Plan, drafters: Tokens[Drafter], policy: Policy
) -> Iterator[Prefill | Step]:
    """Yield a Prefill per prompt piece, then Steps; the last Step has a finish_reason.

    `sequence` may already hold a prefix of the prompt, which is then not evaluated again. Raises
    what the engine raises; after Cancelled the sequence holds what was committed before.
    """
    yield from prefill(sequence, plan)
    policy.start(plan.context)
    for drafter in drafters:
        drafter.start(plan.context)
    seen, output, index = list(plan.context.prompt), list[int](), 0
    end: End | None = None
    while end is None:
        begun = perf_counter()
        pending = seen[sequence.length :]
        draft = policy.choose(drafters, min(plan.room - len(output), MAX_ROWS) - 1)
        draft = _filled(draft, seen[-1], plan.fewest - len(pending))
        proposed = perf_counter()
        logits = sequence.evaluate([*pending, *draft.tokens], len(draft) + 1, plan.cancelled)
        evaluated = perf_counter()
        verdict = verify(draft, logits, plan.sample, seen)
        start = len(output)
        output.extend(verdict.tokens)
        end = _end(plan, output)
        verdict = _cut(verdict, end.length - start) if end else verdict
        sequence.truncate(len(seen) + min(verdict.accepted, len(verdict.choices)))
        seen.extend(verdict.tokens)
        times = (proposed - begun, evaluated - proposed, perf_counter() - evaluated)
        step = Step(index, start, verdict, len(draft) + 1, *times, end.reason if end else None)
        policy.commit(step)
        for drafter in drafters:
            drafter.commit(verdict)
        index += 1
        yield step


def prefill(sequence: Sequence, plan: Plan) -> Iterator[Prefill]:
    """Evaluate the prompt up to its last token, or up to its last few where a forward may not be
    so short: what remains goes with the first step."""
    prompt = plan.context.prompt
    while len(prompt) - 1 - sequence.length >= max(plan.fewest, 1):
        begun = perf_counter()
        size = min(max(plan.prefill_piece, plan.fewest), len(prompt) - 1 - sequence.length)
        start = sequence.length
        sequence.evaluate(prompt[start : start + size], 0, plan.cancelled)
        yield Prefill(sequence.length, len(prompt), perf_counter() - begun)


def _filled(draft: Draft, last: int, fewest: int) -> Draft:
    """`draft` with as many guesses behind it as make it `fewest` long. A guess may be right."""
    missing = max(0, fewest - len(draft))
    if not missing:
        return draft
    return draft + Draft((last,) * missing, (0.0,) * missing, (FILLER,) * missing, (0,) * missing)


def _end(plan: Plan, output: list[int]) -> End | None:
    end = plan.ends(output)
    if len(output) >= plan.room and (end is None or end.length > plan.room):
        return End(plan.room, "length")
    return end


def _cut(verdict: Verdict, length: int) -> Verdict:
    """The verdict with no tokens past the end."""
    return replace(
        verdict,
        accepted=min(verdict.accepted, length),
        choices=verdict.choices[:length],
    )
