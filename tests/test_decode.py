"""Whatever drafters and policies do, the loop gives what plain decoding gives."""

from __future__ import annotations

import random
from collections.abc import Iterator
from collections.abc import Sequence as Tokens
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adversaries import BEHAVIOURS, Adversary
from amount import thorough
from redraft.cost import CostCurve
from redraft.decode import FILLER, Plan, decode
from redraft.ends import End, Endings
from redraft.engines.fake import FakeEngine, FakeSequence, FakeTokenizer
from redraft.errors import BadToken, Cancelled, ContextFull, DrafterFailed
from redraft.protocols import Cancelled as CancelledCallback
from redraft.protocols import DraftContext, Drafter, Logits, Policy, Sampler
from redraft.sampling import make_sampler
from redraft.schedule import NonePolicy, make_policy
from redraft.tokens import Choice, Draft, FinishReason, Prefill, Step, Verdict

TOKENIZER = FakeTokenizer()
ENGINES = {fewest: FakeEngine(invariant_from=fewest) for fewest in (1, 2, 4)}
SECONDS = {1: 1.0, 2: 1.2, 4: 2.0, 8: 3.4, 16: 6.0}
STOPS = ("", "a", "\n", "xy", "\0\1", "é")


@dataclass(frozen=True)
class Case:
    """One thing to generate."""

    prompt: tuple[int, ...]
    sampling: dict[str, float]
    stop: tuple[str, ...]
    room: int
    fewest: int

    @classmethod
    def make(cls, rng: random.Random) -> Case:
        alphabet = rng.sample(range(256), rng.choice((2, 5, 200)))
        sampling = rng.choice(
            ({}, {"temperature": 0.8}, {"temperature": 1.5, "top_p": 0.9, "top_k": 40})
        )
        return cls(
            prompt=tuple(rng.choice(alphabet) for _ in range(rng.choice((1, 2, 3, 5, 30)))),
            sampling=sampling and {**sampling, "seed": rng.randrange(2**64)},
            stop=tuple(rng.sample(STOPS, rng.randrange(3))),
            room=rng.choice((1, 2, 4, 9, 16, 40)),
            fewest=rng.choice((1, 2, 2, 4)),
        )

    def sampler(self) -> Sampler:
        return make_sampler(**self.sampling)  # type: ignore[arg-type]

    def plan(self, ends: Endings) -> Plan:
        return Plan(DraftContext(self.prompt), self.sampler(), ends, self.room, self.fewest)

    def ends(self) -> Endings:
        return Endings(TOKENIZER, self.stop)


@dataclass(frozen=True)
class Outcome:
    """All of a generation that must not depend on how it was drafted."""

    tokens: tuple[int, ...]
    choices: tuple[Choice, ...]
    reason: FinishReason | None
    cached: int
    stopped_by: str | None


class Watched(FakeSequence):
    """A sequence that minds the shortest forward it was given."""

    def __init__(self, engine: FakeEngine) -> None:
        super().__init__(engine)
        self.shortest = 2**20

    def evaluate(
        self, tokens: Tokens[int], rows: int, cancelled: CancelledCallback | None = None
    ) -> Logits:
        self.shortest = min(self.shortest, len(tokens))
        return super().evaluate(tokens, rows, cancelled)


@dataclass(frozen=True)
class Resumed:
    """Ends of a generation that goes on with `earlier` in its prompt."""

    ends: Endings
    earlier: tuple[int, ...]

    def __call__(self, tokens: Tokens[int]) -> End | None:
        end = self.ends([*self.earlier, *tokens])
        return end and End(end.length - len(self.earlier), end.reason)


def plain(case: Case) -> Outcome:
    return generate(case, Watched(ENGINES[case.fewest]), [], NonePolicy(), random.Random(0), 0.0)


def generate(
    case: Case,
    sequence: Watched,
    drafters: list[Adversary],
    policy: Policy,
    rng: random.Random,
    interruption: float = 0.2,
) -> Outcome:
    """Generate; with a chance of `interruption` each, stop consuming or cancel, and go on."""
    ends = case.ends()
    choices: list[Choice] = []
    reason: FinishReason | None = None
    sequence.shortest = 2**20
    while reason is None:
        earlier = tuple(choice.token for choice in choices)
        plan = replace(
            case.plan(ends),
            context=DraftContext((*case.prompt, *earlier)),
            ends=Resumed(ends, earlier),
            room=case.room - len(earlier),
            prefill_piece=rng.choice((1, 2, 7, 512)),
            cancelled=cancel_later(rng) if rng.random() < interruption else None,
        )
        patience = rng.randrange(1, 6) if rng.random() < interruption else None
        try:
            for step in checked(decode(sequence, plan, drafters, policy), plan):
                choices.extend(step.verdict.choices)
                reason = step.finish_reason
                if patience == step.index:
                    break
        except Cancelled:
            assert plan.cancelled is not None
    assert sequence.shortest >= min(case.fewest, len(case.prompt) + case.fewest - 1)
    tokens = tuple(choice.token for choice in choices)
    return Outcome(tokens, tuple(choices), reason, sequence.length, ends.stopped_by)


def cancel_later(rng: random.Random) -> CancelledCallback:
    left = rng.randrange(60)

    def cancelled() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    return cancelled


def checked(events: Iterator[Prefill | Step], plan: Plan) -> Iterator[Step]:
    """The steps, each consistent in itself and with those before."""
    count = index = done = 0
    for event in events:
        if isinstance(event, Prefill):
            assert done < event.done < event.total == len(plan.context.prompt)
            assert index == 0
            done = event.done
            continue
        verdict = event.verdict
        assert (event.index, event.start) == (index, count)
        assert event.rows == len(verdict.draft) + 1 <= 64
        assert 0 <= verdict.accepted <= len(verdict.draft)
        agreed = list(zip(verdict.tokens, verdict.draft.tokens, strict=False))
        assert all(said == drafted for said, drafted in agreed[: verdict.accepted])
        ended = event.finish_reason is not None
        assert len(verdict.choices) == verdict.accepted + (not ended or not ends_inside(verdict))
        count += len(event.tokens)
        index += 1
        assert count <= plan.room
        yield event


def ends_inside(verdict: Verdict) -> bool:
    return len(verdict.choices) == verdict.accepted


def prepared_sequence(case: Case, rng: random.Random) -> Watched:
    """A sequence that may hold a part of the prompt, or all of it and more that was cut away."""
    sequence = Watched(ENGINES[case.fewest])
    if rng.random() < 0.4:
        other = [rng.randrange(256) for _ in range(5)]
        sequence.evaluate([*case.prompt, *other], rows=0)
        sequence.truncate(rng.randrange(len(case.prompt) + 1))
    return sequence


def some_policy(rng: random.Random, fewest: int) -> Policy:
    names = ("none", "cost", "gate", "seed", "seed-regions", "fixed:1", "fixed:3", "fixed:8")
    name = rng.choice((*names, "fixed:63"))
    return make_policy(name, CostCurve(SECONDS), fewest)


def some_drafters(rng: random.Random, truth: Tokens[int]) -> list[Adversary]:
    """One to three; `truth` is prompt and output of plain decoding."""
    behaviours = rng.sample(BEHAVIOURS, rng.choice((1, 1, 2, 3)))
    ends = sorted(TOKENIZER.ENDS)
    return [Adversary(kind, truth, ends, rng.randrange(1000)) for kind in behaviours]


def check_schedule(case: Case, expected: Outcome, rng: random.Random) -> None:
    drafters = some_drafters(rng, (*case.prompt, *expected.tokens))
    policy = some_policy(rng, case.fewest)
    got = generate(case, prepared_sequence(case, rng), drafters, policy, rng)
    assert got == expected, (case, policy, [drafter.name for drafter in drafters])


@pytest.mark.parametrize("part", [0, *(pytest.param(n, marks=thorough) for n in range(1, 10))])
def test_ten_thousand_schedules_equal_plain_decoding(part: int) -> None:
    reasons = set()
    for number in range(part * 50, part * 50 + 50):
        rng = random.Random(number)
        case = Case.make(rng)
        expected = plain(case)
        reasons.add(expected.reason)
        assert expected.cached == len(case.prompt) + len(expected.tokens) - 1
        for _ in range(20):
            check_schedule(case, expected, rng)
    assert reasons == {"stop", "length"}


@given(st.integers(0, 2**64))
def test_any_schedule_equals_plain_decoding(seed: int) -> None:
    rng = random.Random(seed)
    case = Case.make(rng)
    check_schedule(case, plain(case), rng)


def test_the_comparison_would_notice_numerics() -> None:
    """With forwards shorter than the engine's numerics allow, drafted output does differ."""
    engine = FakeEngine(invariant_from=2)
    differing = 0
    for number in range(20):
        rng = random.Random(number)
        case = replace(Case.make(rng), fewest=1, room=40, stop=())
        expected = generate(case, Watched(engine), [], NonePolicy(), rng, 0.0)
        right = Adversary("right", (*case.prompt, *expected.tokens), [258], number)
        policy = make_policy("fixed:5", CostCurve(SECONDS))
        got = generate(case, Watched(engine), [right], policy, rng, 0.0)
        differing += got.tokens != expected.tokens
    assert differing > 5


CASE = Case(tuple(b"def f(x):\n    return"), {}, (), 40, 2)


def test_a_right_draft_saves_forwards() -> None:
    expected = plain(CASE)
    right = Adversary("right", (*CASE.prompt, *expected.tokens), [258], 1)
    policy = make_policy("fixed:8", CostCurve(SECONDS))
    sequence = FakeSequence(ENGINES[2])
    steps = list(checked(decode(sequence, CASE.plan(CASE.ends()), [right], policy), plan()))
    assert len(steps) < len(expected.tokens) / 2
    assert all(step.evaluate_seconds >= 0 and step.propose_seconds >= 0 for step in steps)
    assert [step.finish_reason for step in steps[:-1]] == [None] * (len(steps) - 1)


def plan() -> Plan:
    return CASE.plan(CASE.ends())


def test_a_lone_step_carries_a_filler_that_may_be_right() -> None:
    engine = FakeEngine(invariant_from=2, pull=50.0)
    prompt = tuple(b"aaaaaaaa")
    sequence = engine.open_sequence()
    lone = replace(plan(), context=DraftContext(prompt), room=9)
    steps = list(checked(decode(sequence, lone, [], NonePolicy()), lone))
    assert all(step.rows == 2 for step in steps)
    assert all(step.verdict.draft.drafters == (FILLER,) for step in steps)
    assert sum(step.verdict.accepted for step in steps) >= 4
    assert sum(len(step.tokens) for step in steps) == 9


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(BadToken):
        list(
            decode(FakeSequence(ENGINES[2]), replace(plan(), context=DraftContext(())), [], _none())
        )


def _none() -> Policy:
    return NonePolicy()


class TooMuch(NonePolicy):
    """A policy that proposes whatever the room is."""

    def choose(self, drafters: Tokens[Drafter], room: int) -> Draft:
        return Draft((1,) * 100, (1.0,) * 100, ("x",) * 100, (0,) * 100)


def test_a_policy_that_proposes_too_much_is_cut() -> None:
    expected = plain(CASE)
    sequence = FakeSequence(ENGINES[2])
    steps = list(checked(decode(sequence, plan(), [], TooMuch()), plan()))
    assert tuple(token for step in steps for token in step.tokens) == expected.tokens
    assert max(step.rows for step in steps) == 40


class Failing:
    """A sampler, end or drafter that raises at its third call."""

    name = "failing"

    def __init__(self) -> None:
        self.calls = 0

    def fail(self) -> None:
        self.calls += 1
        if self.calls == 3:
            raise ZeroDivisionError

    def sample(self, row: Logits, tokens_before: Tokens[int]) -> Choice:
        self.fail()
        return make_sampler()(row, tokens_before)

    def ends(self, tokens: Tokens[int]) -> End | None:
        self.fail()
        return None

    def start(self, context: DraftContext) -> None:
        """Nothing."""

    def propose(self, limit: int, after: tuple[int, ...] = ()) -> Draft:
        self.fail()
        return Draft((1, 2, 3), (0.5,) * 3, ("failing",) * 3, (0,) * 3).first(limit)

    def commit(self, verdict: Verdict) -> None:
        """Nothing."""


@pytest.mark.parametrize("part", ["sampler", "ends", "drafter"])
def test_what_a_part_raises_arrives_and_the_cache_stays_valid(part: str) -> None:
    expected, failing = plain(CASE), Failing()
    failing_plan = plan()
    if part == "sampler":
        failing_plan = replace(failing_plan, sample=failing.sample)
    if part == "ends":
        failing_plan = replace(failing_plan, ends=failing.ends)
    drafter: Drafter = (
        failing
        if part == "drafter"
        else Adversary("mostly right", (*CASE.prompt, *expected.tokens), [258], 3)
    )
    sequence = FakeSequence(ENGINES[2])
    policy = make_policy("fixed:4", CostCurve(SECONDS))
    output: list[int] = []
    # somebody else's drafter is named; a sampler or an end is our own part
    raised = DrafterFailed if part == "drafter" else ZeroDivisionError
    with pytest.raises(raised):
        for step in checked(decode(sequence, failing_plan, [drafter], policy), failing_plan):
            output.extend(step.tokens)
    assert sequence.length == len(CASE.prompt) + len(output) - 1
    assert tuple(output) == expected.tokens[: len(output)]
    rest = replace(
        plan(), context=DraftContext((*CASE.prompt, *output)), room=CASE.room - len(output)
    )
    for step in checked(decode(sequence, rest, [], NonePolicy()), rest):
        output.extend(step.tokens)
    assert tuple(output) == expected.tokens


def test_prompt_and_room_may_fill_the_context() -> None:
    """Drafts never ask for more of the context than plain decoding does."""
    for fewest in (1, 2, 4):
        case = replace(CASE, room=30, fewest=fewest)
        expected = plain(case)
        length = len(case.prompt) + 30 + fewest - 2
        for room, fits in ((length, True), (length - 1, False)):
            engine = FakeEngine(context_length=room, invariant_from=fewest)
            right = Adversary("right", (*case.prompt, *expected.tokens), [258], 1)
            for drafters, name in (([], "none"), ([right], "fixed:3"), ([right], "fixed:60")):
                policy = make_policy(name, CostCurve(SECONDS))
                steps = decode(FakeSequence(engine), case.plan(case.ends()), drafters, policy)
                if fits:
                    tokens = [token for step in checked(steps, plan()) for token in step.tokens]
                    assert tuple(tokens) == expected.tokens
                elif name == "none":
                    with pytest.raises(ContextFull):
                        list(steps)


def test_a_loop_is_reported() -> None:
    engine = FakeEngine(invariant_from=2, pull=50.0)
    prompt = tuple(b"ababab")
    looping = replace(plan(), context=DraftContext(prompt), room=1000)
    *_, last = checked(decode(engine.open_sequence(), looping, [], NonePolicy()), looping)
    assert last.finish_reason == "loop"
    assert 190 <= last.start + len(last.tokens) <= 210


def test_seeded_sampling_does_not_depend_on_when_it_was_asked() -> None:
    rows = np.random.default_rng(1).normal(size=(3, 264)).astype(np.float32)
    sample = make_sampler(temperature=1.0, seed=5)
    forward = [sample(row, [0] * number) for number, row in enumerate(rows)]
    backward = [sample(rows[number], [0] * number) for number in (2, 1, 0)]
    assert forward == backward[::-1]
