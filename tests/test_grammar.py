"""Constraints by JSON schema, drafted and plain."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.engines.fake import FakeTokenizer
from redraft.errors import UsageError
from redraft.grammar import Grammars
from redraft.sampling import make_sampler

TOKENIZER = FakeTokenizer()
SCHEMA = json.dumps({
    "type": "object",
    "properties": {"a": {"enum": [1, 23]}, "b": {"enum": ["x", "yz"]}},
    "required": ["a", "b"],
    "additionalProperties": False,
})  # fmt: skip


@pytest.fixture(scope="module")
def grammars() -> Grammars:
    return Grammars(TOKENIZER, TOKENIZER.ENDS)


def written(grammars: Grammars, seed: int, restarts: bool = False) -> list[int]:
    """What random logits say under the schema; the sampler may be made anew for each token."""
    rng, tokens = np.random.default_rng(seed), [7, 8]
    sample = grammars.constrained(make_sampler(), SCHEMA, 2)
    while len(tokens) < 400:
        if restarts:
            sample = grammars.constrained(make_sampler(), SCHEMA, 2)
        row = rng.random(264, dtype=np.float32)
        row[[9, 10, 13, 32]] -= 0.9  # white space
        choice = sample(row, tokens)
        again = sample(row, tokens)
        assert choice == again
        if TOKENIZER.is_end(choice.token):
            break
        tokens.append(choice.token)
    return tokens[2:]


@given(st.integers(0, 1000))
def test_random_logits_give_what_the_schema_allows(grammars: Grammars, seed: int) -> None:
    value: Any = json.loads(bytes(written(grammars, seed)))
    assert set(value) == {"a", "b"} and value["a"] in (1, 23) and value["b"] in ("x", "yz")
    assert written(grammars, seed, restarts=True) == written(grammars, seed)


def test_going_back_gives_the_same_again(grammars: Grammars) -> None:
    sample, row = grammars.constrained(make_sampler(), SCHEMA, 0), np.zeros(264, np.float32)
    row[ord("2")] = 1
    text = list(b'{"a": ')
    assert sample(row, text).token == ord("2")
    assert sample(row, [*text, ord("2")]).token == ord("3")
    assert sample(row, text).token == ord("2")


@pytest.mark.parametrize("schema", ['{"type": "no such type"}', '{"$ref": "#/nowhere"}', "[1]"])
def test_a_schema_that_cannot_be_followed_is_refused(grammars: Grammars, schema: str) -> None:
    with pytest.raises(UsageError, match="schema"):
        grammars.constrained(make_sampler(), schema, 0)
