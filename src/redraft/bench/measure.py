"""Times one task in four ways, by the rules that keep comparisons honest.

`same_numerics` is plain decoding as redraft's own numerics do it, the reference for equality.
`drafted` is the policy under test. `one_token` is the engine's fastest plain decoding: one token a
forward, over the very tokens that the drafted run gave. Seconds run from the evaluated prompt to
the last token and hold everything that happens in between. It does not know what is concluded.
"""

from __future__ import annotations

from collections.abc import Sequence as Tokens
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from redraft.bench.tasks import BenchTask, ask
from redraft.config import Settings
from redraft.decode import FILLER, Plan, decode
from redraft.protocols import Sampler
from redraft.schedule import NonePolicy
from redraft.session import Session
from redraft.statistics import Statistics, Tally
from redraft.tokens import Choice, FinishReason, Prefill, Step


@dataclass(frozen=True, slots=True)
class Timed:
    """One answer and what it took."""

    tokens: tuple[int, ...]
    text: str
    finish_reason: FinishReason
    exact: bool
    """Whether equality with plain decoding is promised for this engine and these settings."""
    statistics: Statistics
    reached: tuple[int, ...]
    """By position in a draft: how many drafts were longer than that."""
    survived: tuple[int, ...]
    """How many of those were accepted up to and including that position."""
    plan: Plan
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Forced:
    """Plain decoding over known tokens."""

    statistics: Statistics
    drift: int
    """At how many positions the free choice was another token than the known one."""


class Measuring:
    """Runs tasks on a session whose settings are those under test."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._tested = session.settings
        self._plain = replace(session.settings, policy="none", drafters=())
        self._sequence = session.loaded.engine.open_sequence()
        self._held: tuple[int, ...] = ()
        """The prompt in that sequence."""

    def prompt(self, task: BenchTask) -> tuple[int, ...]:
        """The token ids that a task's answer follows. Raises ContextFull."""
        return ask(self._session, task.request).plan.context.prompt

    def same_numerics(self, task: BenchTask, keep_prompt: bool = False) -> Timed:
        """Plain decoding in the numerics under test; `keep_prompt` as for `answer`."""
        return self.answer(task, self._plain, keep_prompt)

    def drafted(self, task: BenchTask, keep_prompt: bool = False) -> Timed:
        """The settings under test; `keep_prompt` as for `answer`."""
        return self.answer(task, self._tested, keep_prompt)

    def answer(self, task: BenchTask, settings: Settings, keep_prompt: bool = False) -> Timed:
        """An answer with these settings, of as many tokens as they or else the task allow.

        All stores are emptied first; with `keep_prompt` the prompt of the answer before, if it
        was this task's, need not be evaluated again.
        """
        session = self._session
        room = settings.max_tokens or task.max_tokens
        session.settings = replace(settings, max_tokens=room)
        try:
            session.forget(keep_prompt)
            run = ask(session, task.request)
            events = [progress.event for progress in run]
        finally:
            session.settings = self._tested
        result = run.result
        reached, survived = by_position(events)
        return Timed(
            result.tokens,
            result.text,
            result.finish_reason,
            result.exact,
            result.statistics,
            reached,
            survived,
            run.plan,
            tuple(event for event in events if isinstance(event, Step)),
        )

    def one_token(self, task: BenchTask, tokens: Tokens[int]) -> Forced:
        """The engine's fastest plain decoding over `tokens`; at least one of them.

        Each position's choice is sampled and then overridden. It gives no text and looks for no
        end, which makes it a little faster than plain decoding that somebody could use. The
        prompt is evaluated at a task's first call only: later ones have no prefill seconds.
        """
        plan = self._forced_plan(task, tokens)
        prompt = plan.context.prompt
        self._sequence.truncate(len(prompt) - 1 if prompt == self._held else 0)
        self._held = prompt
        tally = Tally(len(prompt), self._sequence.length)
        begun = perf_counter()
        for event in decode(self._sequence, plan, (), NonePolicy()):
            tally.add(event, perf_counter() - begun)
        sampler = plan.sample
        assert isinstance(sampler, _Override)
        return Forced(tally.statistics(), sampler.drift)

    def _forced_plan(self, task: BenchTask, tokens: Tokens[int]) -> Plan:
        plan = ask(self._session, task.request).plan
        sample = _Override(plan.sample, len(plan.context.prompt), tuple(tokens))
        return Plan(plan.context, sample, lambda output: None, len(tokens), fewest=1)


class _Override:
    """A sampler that samples, and then says the token that is known for the position."""

    def __init__(self, sample: Sampler, start: int, tokens: tuple[int, ...]) -> None:
        self._sample, self._start, self._tokens = sample, start, tokens
        self.drift = 0

    def __call__(self, row: NDArray[np.float32], tokens_before: Tokens[int]) -> Choice:
        """See `redraft.protocols.Sampler`."""
        choice = self._sample(row, tokens_before)
        known = self._tokens[len(tokens_before) - self._start]
        self.drift += choice.token != known
        return replace(choice, token=known)


def by_position(events: Tokens[Prefill | Step]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """By position in a draft: drafts that reach it, and those accepted so far. No fillers."""
    reached: list[int] = []
    survived: list[int] = []
    for event in events:
        if isinstance(event, Prefill):
            continue
        for position, name in enumerate(event.verdict.draft.drafters):
            if name == FILLER:
                break
            if position == len(reached):
                reached.append(0)
                survived.append(0)
            reached[position] += 1
            survived[position] += position < event.verdict.accepted
    return tuple(reached), tuple(survived)


def first_difference(ours: Tokens[int], theirs: Tokens[int]) -> int | None:
    """The first position at which two outputs differ, or None if they are equal."""
    for position, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        if one != other:
            return position
    return None if len(ours) == len(theirs) else min(len(ours), len(theirs))
