"""What every engine's tokenizer must keep to."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redraft.engines import Opened
from redraft.errors import BadToken
from redraft.protocols import Tokenizer

MARKERS = ("<|im_start|>", "<|im_end|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|endoftext|>")
code = st.lists(
    st.sampled_from(["def f(x):\n", "\t", "    ", "\r\n", "é", "🙂", "\0", "x", "0", *MARKERS])
).map("".join)
texts = st.one_of(code, st.text(st.characters(exclude_categories=["Cs"])))
some = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@pytest.fixture
def tokenizer(opened: Opened) -> Tokenizer:
    return opened.tokenizer


@some
@given(text=texts)
def test_text_comes_back_and_user_text_is_never_special(tokenizer: Tokenizer, text: str) -> None:
    tokens = tokenizer.encode(text)
    assert tokenizer.decode(tokens) == text
    assert not any(tokenizer.is_end(token) for token in tokens)
    assert all(tokenizer.piece(token) for token in tokens)
    assert b"".join(tokenizer.piece(token) for token in tokens) == text.encode()


@some
@given(before=code, after=code)
def test_markers_are_special_where_asked_for(tokenizer: Tokenizer, before: str, after: str) -> None:
    for marker in MARKERS:
        special = tokenizer.encode(marker, special=True)
        assert len(special) == 1
        assert tokenizer.piece(special[0]) == b""
        assert special[0] in tokenizer.encode(before + marker + after, special=True)


def test_ends(tokenizer: Tokenizer) -> None:
    for marker, ends in (("<|im_end|>", True), ("<|endoftext|>", True), ("<|im_start|>", False)):
        assert tokenizer.is_end(tokenizer.encode(marker, special=True)[0]) is ends


def test_nothing_is_no_token(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("") == []
    assert tokenizer.encode("", special=True) == []
    assert tokenizer.decode([]) == ""


def test_a_lone_surrogate_does_no_harm(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode(tokenizer.encode("a\ud800b")) == "a?b"


def test_every_token_has_a_piece(opened: Opened) -> None:
    tokenizer = opened.tokenizer
    assert tokenizer.vocab_size == opened.engine.vocab_size
    step = max(1, tokenizer.vocab_size // 5000)
    pieces = [tokenizer.piece(token) for token in range(0, tokenizer.vocab_size, step)]
    assert sum(1 for piece in pieces if piece) > len(pieces) * 0.95


def test_half_a_character_is_shown_as_such(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.encode("🙂" * 3)
    assert tokenizer.decode(tokens) == "🙂" * 3
    assert "\ufffd" in tokenizer.decode(tokens[:1]) or len(tokens) == 3


@pytest.mark.parametrize("token", [-1, 2**20, 2**40, 1.5, None, "a"])
def test_ids_outside_are_refused(tokenizer: Tokenizer, token: int) -> None:
    for call in (tokenizer.piece, tokenizer.is_end):
        with pytest.raises(BadToken):
            call(token)
    with pytest.raises(BadToken):
        tokenizer.decode([1, token])
