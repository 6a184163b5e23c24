"""How much of a prediction came true."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from redraft.server.prediction import tokens_that_came

tokens = st.lists(st.integers(0, 5), max_size=40)


@given(tokens, tokens)
def test_no_more_came_than_there_is(prediction: list[int], output: list[int]) -> None:
    assert 0 <= tokens_that_came(prediction, output) <= min(len(prediction), len(output))
    assert tokens_that_came(prediction, prediction) == len(prediction)


def test_an_edit_leaves_the_rest() -> None:
    source = list(range(100))
    assert tokens_that_came(source, [*source[:40], 500, 501, *source[40:]]) == 100
    assert tokens_that_came(source, [*source[:40], *source[60:]]) == 80
    assert tokens_that_came(source, [*source[:40], 500, *source[41:]]) == 99
    assert tokens_that_came(source, [500, 501, 502]) == 0
    assert tokens_that_came([], source) == 0


def test_it_takes_no_time_for_long_repeats() -> None:
    assert tokens_that_came([7] * 100_000, [7] * 100_000) == 100_000
