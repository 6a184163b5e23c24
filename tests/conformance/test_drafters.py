"""What every drafter in the registry must keep to, with bytes as tokens and a fake small model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amount import examples
from redraft import drafters
from redraft.drafters import Resources
from redraft.drafters.corpus.build import build_index
from redraft.drafters.corpus.files import project_segment
from redraft.engines.fake import FakeEngine, FakeTokenizer
from redraft.errors import UsageError
from redraft.protocols import DraftContext, Drafter
from redraft.syntax import Syntax
from redraft.tokens import NO_DRAFT, Choice, Draft, Verdict

TOKENIZER = FakeTokenizer()
LAST = TOKENIZER.vocab_size - 1
SOURCE = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n"

pieces = st.sampled_from(["def ", "add(a, b)", "return a", " + b", "\n    ", "\n\n", "x", "🙂"])
texts = st.lists(pieces, max_size=12).map("".join)
every = pytest.mark.parametrize("name", drafters.names())
some = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def resources(tmp_path_factory: pytest.TempPathFactory) -> Resources:
    """Everything a drafter may be built from."""
    root: Path = tmp_path_factory.mktemp("project")
    (root / "math.py").write_text(SOURCE * 3)
    index = tmp_path_factory.mktemp("index")
    build_index(index, project_segment(root), TOKENIZER)
    small = FakeEngine(invariant_from=1)
    return Resources(TOKENIZER, corpus=index, small_engine=small, syntax=Syntax(TOKENIZER))


class Followed:
    """A drafter with the syntax it reads, which in a session the policy keeps up."""

    def __init__(self, drafter: Drafter, syntax: Syntax) -> None:
        self._drafter, self._syntax = drafter, syntax
        self.name = drafter.name
        self.propose = drafter.propose

    def start(self, context: DraftContext) -> None:
        self._syntax.start(context)
        self._drafter.start(context)

    def commit(self, verdict: Verdict) -> None:
        self._syntax.commit(verdict.tokens)
        self._drafter.commit(verdict)


def build(name: str, resources: Resources) -> Drafter:
    """The drafter; one that reads syntax gets a syntax of its own, kept up."""
    if name != "forced":
        return drafters.build(name, resources)
    syntax = Syntax(TOKENIZER)
    return Followed(drafters.build(name, replace(resources, syntax=syntax)), syntax)


def context(prompt: str, source: str = "", suffix: str = "") -> DraftContext:
    encode = TOKENIZER.encode
    return DraftContext(
        tuple(encode(prompt)), tuple(encode(source)), tuple(encode(suffix)), "python"
    )


def check(draft: Draft, drafter: Drafter, limit: int) -> None:
    assert len(draft.tokens) <= limit
    assert len(draft.tokens) == len(draft.survival) == len(draft.drafters) == len(draft.evidence)
    assert all(0.0 <= probability <= 1.0 for probability in draft.survival)
    assert all(name == drafter.name for name in draft.drafters)
    assert all(0 <= token <= LAST for token in draft.tokens)


def verdict(draft: Draft, truth: list[int]) -> Verdict:
    """What a target that writes `truth` says of the draft; `truth` is not empty."""
    accepted = 0
    while accepted < len(draft) and truth[accepted : accepted + 1] == [draft.tokens[accepted]]:
        accepted += 1
    return Verdict(draft, accepted, tuple(Choice(token, 0.0) for token in truth[: accepted + 1]))


@every
def test_it_is_a_drafter_under_its_registered_name(name: str, resources: Resources) -> None:
    drafter = build(name, resources)
    assert isinstance(drafter, Drafter)
    assert drafter.name == name


@every
@given(prompt=texts, source=texts, output=texts, limits=st.lists(st.integers(0, 32), min_size=1))
@some
def test_drafts_are_well_formed_through_a_whole_generation(
    name: str, resources: Resources, prompt: str, source: str, output: str, limits: list[int]
) -> None:
    drafter = build(name, resources)
    drafter.start(context(prompt, source))
    truth = TOKENIZER.encode(output)
    step = 0
    while truth:
        limit = limits[step % len(limits)]
        draft = drafter.propose(limit)
        check(draft, drafter, limit)
        answer = verdict(draft, truth)
        drafter.commit(answer)
        truth = truth[len(answer.tokens) :]
        step += 1
    check(drafter.propose(8), drafter, 8)


@every
@given(prompt=texts, output=texts, after=texts, limit=st.integers(0, 16))
@some
def test_proposing_changes_nothing(
    name: str, resources: Resources, prompt: str, output: str, after: str, limit: int
) -> None:
    drafter = build(name, resources)
    drafter.start(context(prompt, SOURCE))
    for token in TOKENIZER.encode(output):
        drafter.commit(Verdict(NO_DRAFT, 0, (Choice(token, 0.0),)))
    first = drafter.propose(limit)
    uncommitted = tuple(TOKENIZER.encode(after))
    between = drafter.propose(limit, uncommitted)
    check(between, drafter, limit)
    assert drafter.propose(limit) == first
    assert drafter.propose(limit, uncommitted) == between


@every
@given(prompt=texts, after=texts, limit=st.integers(0, 15))
@some
def test_a_smaller_limit_gives_the_beginning(
    name: str, resources: Resources, prompt: str, after: str, limit: int
) -> None:
    drafter = build(name, resources)
    drafter.start(context(prompt, SOURCE))
    uncommitted = tuple(TOKENIZER.encode(after))
    assert drafter.propose(limit, uncommitted) == drafter.propose(16, uncommitted).first(limit)


@every
@given(old=texts, output=texts, prompt=texts)
@some
def test_start_forgets_the_generation_before(
    name: str, resources: Resources, old: str, output: str, prompt: str
) -> None:
    used, fresh = build(name, resources), build(name, resources)
    used.start(context(old, "something = else\n" + old))
    for token in TOKENIZER.encode(output):
        used.commit(Verdict(NO_DRAFT, 0, (Choice(token, 0.0),)))
    for drafter in (used, fresh):
        drafter.start(context(prompt, SOURCE))
    if name == "suffix":
        used.forget()  # type: ignore[attr-defined]  # earlier outputs are what it is for
    assert used.propose(12) == fresh.propose(12)


@every
@pytest.mark.parametrize(
    "empty",
    [
        DraftContext(()),
        DraftContext((), (), (), "python"),
        DraftContext((7,), (7,), (7,), "klingon"),
        DraftContext((LAST, 0, LAST), (LAST,), (0,), "python"),
    ],
)
def test_odd_contexts_are_no_reason_to_fail(
    name: str, resources: Resources, empty: DraftContext
) -> None:
    drafter = build(name, resources)
    drafter.start(empty)
    for limit in (0, 1, 63):
        check(drafter.propose(limit), drafter, limit)
        check(drafter.propose(limit, (3, LAST)), drafter, limit)
    assert drafter.propose(0) == NO_DRAFT
    drafter.commit(Verdict(NO_DRAFT, 0, (Choice(LAST, 0.0),)))
    drafter.commit(Verdict(NO_DRAFT, 0, ()))
    check(drafter.propose(8), drafter, 8)


@every
def test_before_the_first_start_there_is_nothing_to_say(name: str, resources: Resources) -> None:
    drafter = build(name, resources)
    check(drafter.propose(4), drafter, 4)


@pytest.mark.timeout(300)  # against a hang
@every
def test_very_long_repeats_do_not_hang(name: str, resources: Resources) -> None:
    drafter = build(name, resources)
    drafter.start(context("ab" * 1000, "ab" * 1000))
    for _ in range(100):
        draft = drafter.propose(16)
        check(draft, drafter, 16)
        drafter.commit(Verdict(draft, len(draft), tuple(Choice(97, 0.0) for _ in range(17))))


def test_an_unknown_name_is_answered_with_the_known_ones(resources: Resources) -> None:
    with pytest.raises(UsageError, match=r"'nope'.*source, suffix, corpus, model"):
        drafters.build("nope", resources)
