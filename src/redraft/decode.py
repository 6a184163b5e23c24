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
from redraft.errors import BadToken
from redraft.protocols import (
    MAX_ROWS,
    Cancelled,
    Clock,
    DraftContext,
    Drafter,
    Policy,
    Sampler,
    Sequence,
)
from redraft.tokens import FILLER as FILLER
from redraft.tokens import Draft, Prefill, Step, Verdict
from redraft.verify import verify

PREFILL_PIECE = 128
"""Tokens of the prompt between two chances to report progress: under a second on a laptop."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one generation is to do."""

    context: DraftContext
    sample: Sampler
    ends: Ends
    room: int
    """Most tokens the output may have; at least 1. Prompt, room and the `fewest - 1` guesses of a
    lone last step must fit the context."""
    fewest: int = 1
    """Fewest tokens a forward may have: `Engine.invariant_from` for invariant numerics."""
    cancelled: Cancelled | None = None
    prefill_piece: int = PREFILL_PIECE
    clock: Clock = perf_counter
    """What times the steps: another one where forwards are only simulated."""


def decode(
    sequence: Sequence, plan: Plan, drafters: Tokens[Drafter], policy: Policy
) -> Iterator[Prefill | Step]:
    """Yield a Prefill per prompt piece, then Steps; the last Step has a finish_reason.

    `sequence` may already hold a prefix of the prompt, which is then not evaluated again. Raises
    what the engine, drafters and sampler raise; the sequence then holds what was committed before.
    """
    yield from prefill(sequence, plan)
    policy.start(plan.context)
    for drafter in drafters:
        drafter.start(plan.context)
    seen, output, index = list(plan.context.prompt), list[int](), 0
    end: End | None = None
    clock = plan.clock
    while end is None:
        begun = clock()
        pending, kept, start = seen[sequence.length :], sequence.length, len(output)
        limit = min(plan.room - start, MAX_ROWS) - 1
        draft = policy.choose(drafters, limit).first(limit)
        draft = _filled(draft, seen[-1], plan.fewest - len(pending))
        proposed = clock()
        logits = sequence.evaluate([*pending, *draft.tokens], len(draft) + 1, plan.cancelled)
        evaluated = clock()
        try:
            verdict, end = _ended(verify(draft, logits, plan.sample, seen), plan, output)
            kept = len(seen) + len(verdict.choices) - 1
        finally:
            sequence.truncate(kept)
        seen.extend(verdict.tokens)
        times = (proposed - begun, evaluated - proposed, clock() - evaluated)
        step = Step(index, start, verdict, len(draft) + 1, *times, end.reason if end else None)
        policy.commit(step)
        for drafter in drafters:
            drafter.commit(verdict)
        index += 1
        yield step


def prefill(sequence: Sequence, plan: Plan) -> Iterator[Prefill]:
    """Evaluate the prompt up to its last token, or up to its last few where a forward may not be
    so short: what remains goes with the first step. Raises BadToken for an empty prompt."""
    prompt = plan.context.prompt
    if not prompt:
        raise BadToken("a prompt needs at least one token")
    sequence.truncate(min(sequence.length, len(prompt) - 1))
    while len(prompt) - 1 - sequence.length >= max(plan.fewest, 1):
        begun = plan.clock()
        size = min(max(plan.prefill_piece, plan.fewest), len(prompt) - 1 - sequence.length)
        start = sequence.length
        sequence.evaluate(prompt[start : start + size], 0, plan.cancelled)
        yield Prefill(sequence.length, len(prompt), plan.clock() - begun)


def _filled(draft: Draft, last: int, fewest: int) -> Draft:
    """`draft` with as many guesses behind it as make it `fewest` long. A guess may be right."""
    missing = max(0, fewest - len(draft))
    if not missing:
        return draft
    return draft + Draft((last,) * missing, (0.0,) * missing, (FILLER,) * missing, (0,) * missing)


def _ended(verdict: Verdict, plan: Plan, output: list[int]) -> tuple[Verdict, End | None]:
    """The verdict without what is past the end, and the end if there is one. Adds its tokens to
    `output`."""
    start = len(output)
    output.extend(verdict.tokens[: plan.room - start])  # a filler may be right beyond the room
    end = plan.ends(output)
    if end is None and len(output) == plan.room:
        end = End(plan.room, "length")
    if end is None:
        return verdict, None
    choices = verdict.choices[: end.length - start]
    return replace(verdict, accepted=min(verdict.accepted, len(choices)), choices=choices), end
