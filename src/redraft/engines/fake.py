"""The `fake` engine: a tiny deterministic model without weights, for tests and protocol demos.

Its logits are a pure function of the tokens so far: a fixed pseudo-random preference by the last
two tokens, plus a pull towards what followed the same two tokens before. So it repeats and
varies its context like a language model, and drafters have something to find. It can also be made
to have the numerics of quantised kernels, where short forwards differ. It does not know text.
"""

from __future__ import annotations

from collections.abc import Sequence as Tokens
from pathlib import Path

import numpy as np

from redraft.engines import Opened, Opening
from redraft.errors import BadToken, Cancelled, ContextFull, SequenceClosed
from redraft.models import MarkerTokens, Metadata
from redraft.protocols import MAX_ROWS, Logits
from redraft.protocols import Cancelled as CancelledCallback

_MIX = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


class FakeEngine:
    """`vocab_size` token ids; `invariant_from` is the numerics to imitate.

    With `invariant_from=2` the logits of one-token forwards differ, with None those of every
    forward depend on its size.
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
        return FakeSequence(self, [])

    def close(self) -> None:
        """Refuse further calls."""
        self._closed = True


class FakeSequence:
    """A list of tokens and an index of what followed each pair."""

    def __init__(self, engine: FakeEngine, tokens: list[int]) -> None:
        self._engine = engine
        self._tokens = tokens
        self._closed = False

    @property
    def length(self) -> int:
        """Tokens in the sequence."""
        return len(self._tokens)

    def evaluate(
        self, tokens: Tokens[int], rows: int, cancelled: CancelledCallback | None = None
    ) -> Logits:
        """See `redraft.protocols.Sequence.evaluate`."""
        self._validate(tokens, rows)
        before = len(self._tokens)
        logits = np.empty((rows, self._engine.vocab_size), dtype=np.float32)
        for position, token in enumerate(tokens):
            if cancelled is not None and cancelled():
                del self._tokens[before:]
                raise Cancelled("the forward was cancelled; the sequence is as it was before")
            self._tokens.append(int(token))
            row = position - (len(tokens) - rows)
            if row >= 0:
                logits[row] = self._logits(len(tokens))
        return logits

    def truncate(self, length: int) -> None:
        """Forget all tokens from position `length` on."""
        self._require_open()
        if not 0 <= length <= len(self._tokens):
            raise BadToken(f"cannot truncate a sequence of {self.length} tokens to {length}")
        del self._tokens[length:]

    def fork(self) -> FakeSequence:
        """An independent copy."""
        self._require_open()
        return FakeSequence(self._engine, list(self._tokens))

    def close(self) -> None:
        """Refuse further calls."""
        self._closed, self._tokens = True, []

    def _require_open(self) -> None:
        if self._closed or self._engine._closed:
            raise SequenceClosed("the sequence is closed; open another one")

    def _validate(self, tokens: Tokens[int], rows: int) -> None:
        self._require_open()
        if len(tokens) == 0:
            raise BadToken("a forward needs at least one token")
        for token in tokens:
            if not isinstance(token, (int, np.integer)) or not 0 <= token < self._engine.vocab_size:
                raise BadToken(f"token {token} is outside 0 … {self._engine.vocab_size - 1}")
        if not 0 <= rows <= min(MAX_ROWS, len(tokens)):
            raise BadToken(
                f"{rows} rows of {len(tokens)} tokens; 0 … {min(MAX_ROWS, len(tokens))} go"
            )
        if len(self._tokens) + len(tokens) > self._engine.context_length:
            raise ContextFull(
                f"{self.length} + {len(tokens)} tokens do not fit the context of "
                f"{self._engine.context_length}; raise --context or shorten the input"
            )

    def _logits(self, forward: int) -> Logits:
        """Logits after the tokens so far, [vocab], in a forward of `forward` tokens."""
        engine, tokens = self._engine, self._tokens
        pair = tokens[-2:]
        key = engine._seed
        for token in pair:
            key = ((key ^ token) * _MIX + len(pair)) & _MASK
        row = np.random.Generator(np.random.PCG64(key)).random(engine.vocab_size, np.float32) * 4
        for position in range(len(tokens) - 2, 0, -1):
            if tokens[position - 1 : position + 1] == pair:
                row[tokens[position + 1]] += engine._pull
                break
        limit = engine.invariant_from
        if limit is None or forward < limit:
            noise = np.random.Generator(np.random.PCG64(key ^ forward)).random(engine.vocab_size)
            row += noise.astype(np.float32)
        return row


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
        if not 0 <= token < self.vocab_size:
            raise BadToken(f"token {token} is outside 0 … {self.vocab_size - 1}")
        return bytes([token]) if token < 256 else b""

    def decode(self, tokens: Tokens[int]) -> str:
        """See `redraft.protocols.Tokenizer.decode`."""
        return b"".join(self.piece(token) for token in tokens).decode("utf-8", "replace")

    def is_end(self, token: int) -> bool:
        """Whether the token ends a generation."""
        if not 0 <= token < self.vocab_size:
            raise BadToken(f"token {token} is outside 0 … {self.vocab_size - 1}")
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
