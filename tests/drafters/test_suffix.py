"""The suffix drafter against a naive search of the same text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.drafters import suffix
from redraft.drafters.suffix import SuffixAutomaton, SuffixDrafter
from redraft.protocols import DraftContext
from redraft.tokens import NO_DRAFT, Choice, Draft, Verdict

short = st.lists(st.integers(0, 3), max_size=30)  # within COUNTED_LINKS, so counts are exact
half = st.lists(st.integers(0, 3), max_size=15)


def committed(*tokens: int) -> Verdict:
    return Verdict(NO_DRAFT, 0, tuple(Choice(token, 0.0) for token in tokens))


def judged(draft: Draft, accepted: int, correction: int) -> Verdict:
    tokens = (*draft.tokens[:accepted], correction)
    return Verdict(draft, accepted, tuple(Choice(token, 0.0) for token in tokens))


def started(prompt: Sequence[int]) -> SuffixDrafter:
    drafter = SuffixDrafter()
    drafter.start(DraftContext(tuple(prompt)))
    return drafter


def naive(history: Sequence[int], after: Sequence[int]) -> tuple[int, int, int, int] | None:
    """(token, length, count, total) after the longest match that was followed by anything."""
    context = [*history, *after]
    for length in range(len(context), 0, -1):
        wanted = context[len(context) - length :]
        ends = [
            end
            for end in range(length, len(history))
            if list(history[end - length : end]) == wanted
        ]
        if ends:
            counts = Counter(history[end] for end in ends)
            latest = {history[end]: end for end in ends}
            best = max(counts, key=lambda token: (counts[token], latest[token]))
            return best, length, counts[best], len(ends)
    return None


@given(history=short, after=st.lists(st.integers(0, 3), max_size=6))
def test_a_guess_is_what_a_naive_search_finds(history: list[int], after: list[int]) -> None:
    automaton = SuffixAutomaton()
    for token in history:
        automaton.extend(token)
    match = automaton.match
    for token in after:
        match = automaton.advance(match, token)
    found = automaton.continuation(match)
    expected = naive(history, after)
    assert (None if found is None else tuple(found)) == expected


@given(history=st.lists(st.integers(0, 1), min_size=40, max_size=200))
def test_the_match_is_the_longest_in_longer_texts_too(history: list[int]) -> None:
    automaton = SuffixAutomaton()
    for token in history:
        automaton.extend(token)
    found, expected = automaton.continuation(automaton.match), naive(history, ())
    assert found is not None and expected is not None
    assert found.length == expected[1]
    assert found.total <= expected[3]


@given(prompt=half, output=half, after=st.lists(st.integers(0, 3), max_size=4))
def test_a_draft_follows_the_naive_guesses(
    prompt: list[int], output: list[int], after: list[int]
) -> None:
    drafter = started(prompt)
    drafter.commit(committed(*output))
    draft = drafter.propose(12, tuple(after))
    chain = list(after)
    for token in draft.tokens:
        expected = naive([*prompt, *output], chain)
        assert expected is not None and expected[0] == token
        chain.append(token)


@given(prompt=short, output=short, limit=st.integers(0, 20))
def test_a_draft_keeps_the_limit_and_stops_only_for_a_reason(
    prompt: list[int], output: list[int], limit: int
) -> None:
    drafter = started(prompt)
    drafter.commit(committed(*output))
    draft = drafter.propose(limit)
    assert len(draft) <= limit
    if len(draft) < limit:
        certainty = 1.0
        for probability in draft.survival:
            certainty *= probability
        more = drafter.propose(1, draft.tokens)
        assert not more or certainty * more.survival[0] < suffix.FLOOR


@given(prompt=short, output=short)
def test_proposing_changes_nothing(prompt: list[int], output: list[int]) -> None:
    drafter = started(prompt)
    drafter.commit(committed(*output))
    first = drafter.propose(8)
    drafter.propose(3, (1, 2, 3))
    drafter.propose(0)
    assert drafter.propose(8) == first


@given(prompt=short, output=st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_committing_at_once_or_one_by_one_is_the_same(prompt: list[int], output: list[int]) -> None:
    at_once, one_by_one = started(prompt), started(prompt)
    at_once.commit(committed(*output))
    for token in output:
        one_by_one.commit(committed(token))
    assert at_once.propose(8) == one_by_one.propose(8)


def test_after_continues_as_if_committed_where_the_text_is_old() -> None:
    text = (5, 6, 7, 8, 9, 10, 11, 12, 5, 6)
    told, asked = started(text), started(text)
    told.commit(committed(7, 8))
    assert told.propose(4).tokens == asked.propose(4, (7, 8)).tokens == (9, 10, 11, 12)


def test_the_match_grows_with_the_draft_and_so_does_survival() -> None:
    text = (*range(40), 100, 0, 1)
    survival = started(text).propose(30).survival
    assert len(survival) == 30
    assert survival[0] < survival[-1]
    assert list(survival) == sorted(survival)


def test_among_equals_the_latest_is_taken() -> None:
    draft = started((1, 2, 3, 9, 1, 2, 4, 9, 1, 2)).propose(1)
    assert draft.tokens == (4,)


def test_a_run_of_one_token_is_drafted_on_and_indexed_quickly() -> None:
    drafter = started((7,) * 20_000)
    assert drafter.propose(16).tokens == (7,) * 16


def test_after_a_surprise_the_earlier_text_is_found_again() -> None:
    source = tuple(range(10, 30))
    drafter = started(source)
    drafter.commit(committed(10, 11, 12, 99))
    assert not drafter.propose(4)
    drafter.commit(committed(14, 15))
    assert drafter.propose(3).tokens == (16, 17, 18)


def test_earlier_outputs_are_remembered_until_forgotten() -> None:
    drafter = started((1, 2))
    drafter.commit(committed(50, 51, 52, 53, 54))
    drafter.start(DraftContext((3, 50, 51)))
    assert drafter.propose(8).tokens == (52, 53, 54), "ends where the earlier output ended"
    assert drafter.propose(2, (52,)).tokens == (53, 54)
    drafter.forget()
    assert not drafter.propose(8)
    drafter.start(DraftContext((3, 50, 51)))
    assert not drafter.propose(8), "an empty output is not worth keeping"


def test_a_finished_output_enters_the_store_at_the_next_start_only_once() -> None:
    drafter = started((1,))
    drafter.commit(committed(60, 61))
    drafter.start(DraftContext((60,)))
    drafter.start(DraftContext((60,)))
    drafter.forget()
    drafter.start(DraftContext((60,)))
    assert not drafter.propose(4)


def test_the_store_is_bounded_and_drops_the_oldest() -> None:
    drafter = SuffixDrafter(store_tokens=100)
    for number in range(30):
        drafter.start(DraftContext((1,)))
        drafter.commit(committed(*(1000 + 100 * number + offset for offset in range(10))))
    drafter.start(DraftContext((1000, 1001)))
    assert not drafter.propose(4), "the oldest is gone"
    drafter.start(DraftContext((3900, 3901)))
    assert drafter.propose(2).tokens == (3902, 3903)
    assert drafter._store.automaton.size <= 100 + 30


def test_one_output_longer_than_the_store_keeps_its_end() -> None:
    drafter = SuffixDrafter(store_tokens=20)
    drafter.start(DraftContext(()))
    drafter.commit(committed(*range(100, 200)))
    drafter.start(DraftContext((190, 191)))
    assert drafter.propose(3).tokens == (192, 193, 194)
    drafter.start(DraftContext((110, 111)))
    assert not drafter.propose(3)


def test_no_store_keeps_nothing() -> None:
    drafter = SuffixDrafter(store_tokens=0)
    drafter.start(DraftContext(()))
    drafter.commit(committed(1, 2, 3))
    drafter.start(DraftContext((1, 2)))
    assert not drafter.propose(3)


def test_no_match_crosses_from_one_output_to_the_next() -> None:
    drafter = started(())
    drafter.commit(committed(1, 2))
    drafter.start(DraftContext(()))
    drafter.commit(committed(3, 4))
    drafter.start(DraftContext((1, 2)))
    assert not drafter.propose(4)


def test_survival_follows_what_the_target_says() -> None:
    text = (1, 2, 3) * 4
    drafter = started(text)
    before = drafter.propose(1).survival[0]
    for _ in range(30):
        draft = Draft((1,), (before,), ("suffix",), drafter.propose(1).evidence)
        drafter._survival.observe(judged(draft, 0, 7), "suffix")
    assert drafter.propose(1).survival[0] < before / 2
    drafter.forget()
    assert drafter.propose(1).survival[0] == before


def test_fill_in_the_middle_continues_what_stands_before_the_cursor() -> None:
    before, after = (10, 11, 12, 20, 10, 11), (30, 31)
    context = DraftContext((1, *before, 2, *after, 3), suffix=after)
    drafter = SuffixDrafter()
    drafter.start(context)
    assert drafter.propose(2).tokens == (12, 20)


@given(before=short, after=short)
def test_only_fill_in_the_middle_is_turned(before: list[int], after: list[int]) -> None:
    middle = DraftContext((90, *before, 91, *after, 92), suffix=tuple(after))
    turned = (91, *after, 92, 90, *before) if after else middle.prompt
    assert middle.reading_order() == turned
    first = DraftContext((90, 91, *after, 92, *before, 93, 94), suffix=tuple(after))
    assert first.reading_order() == first.prompt


@pytest.mark.parametrize("bin_", range(len(suffix.PRIORS)))
def test_every_prior_is_a_probability(bin_: int) -> None:
    assert 0.0 < suffix.PRIORS[bin_] < 1.0
