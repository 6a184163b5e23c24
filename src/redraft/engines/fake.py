"""The `fake` engine: a tiny deterministic model without weights, for tests and protocol demos.

Its logits are a pure function of the tokens so far: a fixed pseudo-random preference by the last
two tokens, plus a pull towards what followed the same two tokens before. So it repeats and
varies its context like a language model, and drafters have something to find. It can also be made
to have the numerics of quantised kernels, where short forwards differ and what they wrote into the
KV cache makes everything after it differ too. It does not know text.
"""

from __future__ import annotations

from collections.abc import Sequence as Tokens
from pathlib import Path

import numpy as np

from redraft.engines import Opened, Opening
from redraft.engines.validation import check_cut, check_room, check_rows, check_token, checked_ids
from redraft.errors import Cancelled, SequenceClosed
from redraft.models import MarkerTokens, Metadata
from redraft.protocols import Cancelled as CancelledCallback
from redraft.protocols import Logits

_MIX = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1
_ROWS_KEPT = 8192


class FakeEngine:
    """`vocab_size` token ids; `invariant_from` is the numerics to imitate.

    With `invariant_from=2` one-token forwards change the logits from there on, with None every
    forward does, by its size.
    """

    def __init__(
        self,
        vocab_size: int = 264,
        context_length: int = 4096,
        invariant_from: int | None = 2,
        seed: int = 0,
        pull: float = 6.0,
    ) -> None:
        self.context_length = context_length
        self._vocab_size = vocab_size
        self._invariant_from = invariant_from
        self._seed = seed
        self._pull = pull
        self._closed = False
        self._rows: dict[tuple[int, int, int], Logits] = {}

    @property
    def vocab_size(self) -> int:
        """Columns of the logits."""
        return self._vocab_size

    @property
    def invariant_from(self) -> int | None:
        """What was asked for at construction; `measure_invariance` finds the same."""
        return self._invariant_from

    def open_sequence(self) -> FakeSequence:
        """An empty sequence."""
        if self._closed:
            raise SequenceClosed("the engine is closed; open it again")
        return FakeSequence(self)

    def close(self) -> None:
        """Refuse further calls."""
        self._closed = True
        self._rows.clear()

    def preference(self, pair: tuple[int, int], rounding: int) -> Logits:
        """The fixed preference after two tokens, [vocab], not to be written to."""
        key = (pair[0], pair[1], rounding)
        row = self._rows.get(key)
        if row is None:
            if len(self._rows) >= _ROWS_KEPT:
                self._rows.clear()
            row = 4 * self._random(pair[0], pair[1])
            if rounding:
                row += 0.01 * self._random(pair[0], pair[1], rounding)
            self._rows[key] = row
        return row

    def _random(self, *key: int) -> Logits:
        state = self._seed
        for number in key:
            state = ((state ^ number) * _MIX + len(key)) & _MASK
        return np.random.Generator(np.random.PCG64(state)).random(self._vocab_size, np.float32)


class FakeSequence:
    """A list of tokens and an index of where each pair of tokens stands."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self._tokens: list[int] = []
        self._roundings: list[int] = []
        """For each token a number for all short forwards up to it; 0 where there was none."""
        self._ends: dict[tuple[int, int], list[int]] = {}
        """Positions, ascending, of the second token of each pair."""
        self._closed = False

    @property
    def length(self) -> int:
        """Tokens in the sequence."""
        return len(self._tokens)

    def evaluate(
        self, tokens: Tokens[int], rows: int, cancelled: CancelledCallback | None = None
    ) -> Logits:
        """See `redraft.protocols.Sequence.evaluate`. `cancelled` is asked once a token."""
        engine, before = self._engine, len(self._tokens)
        self._require_open()
        ids = checked_ids(tokens, engine.vocab_size).tolist()
        check_rows(rows, len(ids))
        check_room(before, len(ids), engine.context_length)
        logits = np.empty((rows, engine.vocab_size), dtype=np.float32)
        try:
            for position, token in enumerate(ids):
                if cancelled is not None and cancelled():
                    raise Cancelled("the forward was cancelled; the sequence is as it was before")
                self._append(token, len(ids))
                if position >= len(ids) - rows:
                    self._write_logits(logits[position - len(ids)])
        except BaseException:
            self.truncate(before)
            raise
        return logits

    def truncate(self, length: int) -> None:
        """Forget all tokens from position `length` on."""
        self._require_open()
        check_cut(length, len(self._tokens))
        for position in range(len(self._tokens) - 1, length - 1, -1):
            self._ends[self._pair(position)].pop()
        del self._tokens[length:], self._roundings[length:]

    def fork(self) -> FakeSequence:
        """An independent copy."""
        self._require_open()
        copy = FakeSequence(self._engine)
        copy._tokens, copy._roundings = list(self._tokens), list(self._roundings)
        copy._ends = {pair: list(positions) for pair, positions in self._ends.items()}
        return copy

    def close(self) -> None:
        """Refuse further calls."""
        self._closed, self._tokens = True, []

    def _require_open(self) -> None:
        if self._closed or self._engine._closed:
            raise SequenceClosed("the sequence is closed; open another one")

    def _pair(self, position: int) -> tuple[int, int]:
        return (self._tokens[position - 1] if position else -1, self._tokens[position])

    def _append(self, token: int, forward: int) -> None:
        limit = self._engine.invariant_from
        rounding = self._roundings[-1] if self._roundings else 0
        if limit is None or forward < limit:
            rounding = (rounding * _MIX + forward) & _MASK
        self._tokens.append(token)
        self._roundings.append(rounding)
        position = len(self._tokens) - 1
        self._ends.setdefault(self._pair(position), []).append(position)

    def _write_logits(self, row: Logits) -> None:
        """Logits after the tokens so far, [vocab]."""
        pair = self._pair(len(self._tokens) - 1)
        row[:] = self._engine.preference(pair, self._roundings[-1])
        ends = self._ends[pair]
        if len(ends) > 1:
            row[self._tokens[ends[-2] + 1]] += self._engine._pull


class FakeTokenizer:
    """Bytes as tokens 0 … 255, then control tokens, one of which ends a generation."""

    CONTROL = ("<|end|>", "<|im_start|>", "<|im_end|>", "<|fim_prefix|>", "<|fim_suffix|>",
               "<|fim_middle|>", "<|pad|>", "<|endoftext|>")  # fmt: skip
    ENDS = frozenset({256, 258, 263})

    @property
    def vocab_size(self) -> int:
        """264: 256 bytes and 8 control tokens."""
        return 256 + len(self.CONTROL)

    def encode(self, text: str, special: bool = False) -> list[int]:
        """See `redraft.protocols.Tokenizer.encode`."""
        if not special:
            return list(text.encode("utf-8", "replace"))
        ids: list[int] = []
        while text:
            found = min(
                ((text.find(mark), number) for number, mark in enumerate(self.CONTROL)
                 if mark in text), default=(len(text), -1),
            )  # fmt: skip
            ids.extend(text[: found[0]].encode("utf-8", "replace"))
            if found[1] >= 0:
                ids.append(256 + found[1])
                text = text[found[0] + len(self.CONTROL[found[1]]) :]
            else:
                text = ""
        return ids

    def piece(self, token: int) -> bytes:
        """One byte, or nothing for a control token."""
        check_token(token, self.vocab_size)
        return bytes([token]) if token < 256 else b""

    def decode(self, tokens: Tokens[int]) -> str:
        """See `redraft.protocols.Tokenizer.decode`."""
        return b"".join(self.piece(token) for token in tokens).decode("utf-8", "replace")

    def is_end(self, token: int) -> bool:
        """Whether the token ends a generation."""
        check_token(token, self.vocab_size)
        return token in self.ENDS


FAKE_METADATA = Metadata(
    path=Path("fake"),
    architecture="fake",
    name="fake",
    quantization="",
    context_length=4096,
    block_count=0,
    tensor_count=0,
    vocabulary_size=264,
    tokenizer_model="bytes",
    pretokenizer="",
    chat_template=(
        "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}"
        "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    ),
    fim=MarkerTokens(prefix=259, suffix=260, middle=261, pad=262),
    bos=None,
    eos=263,
    eot=258,
    bos_text="",
    eos_text="<|endoftext|>",
    add_bos=False,
    end_tokens=FakeTokenizer.ENDS,
    specials=FakeTokenizer.CONTROL,
    size=0,
)


def open_fake(opening: Opening) -> Opened:
    """The registry's factory; the path is ignored."""
    return Opened(FakeEngine(context_length=opening.context_length), FakeTokenizer())
