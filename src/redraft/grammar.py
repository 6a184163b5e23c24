"""Constraints: samplers that choose only among tokens that a JSON schema allows next.

The rules of schemas are llguidance's. A constrained sampler is still a pure function of the row
and the tokens before it, so drafts are verified against the constrained choice and output stays
what plain constrained decoding would give. It does not know drafts, engines or settings.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence as Tokens
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft.errors import UsageError
from redraft.protocols import Sampler, Tokenizer
from redraft.tokens import Choice, shared_length


class Grammars:
    """Makes constraints over one vocabulary, which is read at the first."""

    def __init__(self, tokenizer: Tokenizer, end_tokens: Collection[int]) -> None:
        self._tokenizer = tokenizer
        self._end_tokens = sorted(end_tokens)
        self._vocabulary: Any = None

    def constrained(self, sample: Sampler, schema: str, start: int) -> Sampler:
        """`sample`, among tokens that continue JSON of this schema, which begins after `start`
        tokens. Raises UsageError for a schema that cannot be followed."""
        # a quarter of a second to load, for what few requests ask
        from llguidance import LLMatcher

        try:
            grammar = LLMatcher.grammar_from_json_schema(schema)
        except ValueError as error:
            raise _refused(str(error)) from None
        matcher = LLMatcher(self._read_vocabulary(), grammar, log_level=0)
        if matcher.is_error():
            raise _refused(matcher.get_error())
        mask = _Mask(matcher, start)

        def choose(row: NDArray[np.float32], tokens_before: Tokens[int]) -> Choice:
            allowed = mask.allowed(tokens_before)
            masked = np.full_like(row, -np.inf)
            masked[allowed] = row[allowed]
            return sample(masked, tokens_before)

        return choose

    def _read_vocabulary(self) -> Any:
        if self._vocabulary is None:
            from llguidance import LLTokenizer, TokenizerWrapper

            source = _Vocabulary(self._tokenizer, self._end_tokens[0])
            self._vocabulary = LLTokenizer(
                TokenizerWrapper(source), eos_token=self._end_tokens, slices=None
            )
        return self._vocabulary


class _Vocabulary:
    """A tokenizer as llguidance wants to see it."""

    bos_token_id = None

    def __init__(self, tokenizer: Tokenizer, end: int) -> None:
        self._tokenizer = tokenizer
        self.eos_token_id = end
        self.tokens = [tokenizer.piece(token) for token in range(tokenizer.vocab_size)]
        self.special_token_ids = [
            token for token, piece in enumerate(self.tokens) if not piece or tokenizer.is_end(token)
        ]

    def __call__(self, text: str) -> list[int]:
        return self._tokenizer.encode(text)


class _Mask:
    """Follows the output and says what may come next."""

    def __init__(self, matcher: Any, start: int) -> None:
        self._matcher = matcher
        self._start = start
        self._read: list[int] = []

    def allowed(self, tokens_before: Tokens[int]) -> NDArray[np.intp]:
        """The tokens that may follow these."""
        output = list(tokens_before[self._start :])
        shared = shared_length(self._read, output)
        if shared < len(self._read):
            self._matcher.rollback(len(self._read) - shared)
        self._matcher.consume_tokens(output[shared:])
        self._read = output
        bits = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        return np.flatnonzero(np.unpackbits(bits, bitorder="little"))


def _refused(why: str) -> UsageError:
    return UsageError(f"the JSON schema cannot be followed: {' '.join(why.split())[:200]}")
