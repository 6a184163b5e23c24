"""Text to token ids and back by the vocabulary of loaded weights. It does not know the library."""

from __future__ import annotations

from collections.abc import Sequence as Tokens

from redraft.engines.native import NativeEngine
from redraft.engines.validation import check_token


class NativeTokenizer:
    """The vocabulary of an engine's weights; see `redraft.protocols.Tokenizer`."""

    def __init__(self, engine: NativeEngine) -> None:
        self._engine = engine
        self._pieces: dict[int, bytes] = {}

    @property
    def vocab_size(self) -> int:
        """Number of token ids."""
        return self._engine.vocab_size

    def encode(self, text: str, special: bool = False) -> list[int]:
        """Token ids. A lone surrogate, which UTF-8 cannot hold, becomes a question mark."""
        if not text:
            return []
        return self._engine.weights.tokenize(text.encode("utf-8", "replace"), special)

    def piece(self, token: int) -> bytes:
        """The bytes of one token, none for a control token. Raises BadToken for another id."""
        found = self._pieces.get(token)
        if found is None:
            check_token(token, self.vocab_size)
            found = self._pieces[token] = self._engine.weights.piece(token)
        return found

    def decode(self, tokens: Tokens[int]) -> str:
        """The text of `tokens`; bytes that are not UTF-8 become U+FFFD."""
        return b"".join(self.piece(token) for token in tokens).decode("utf-8", "replace")

    def is_end(self, token: int) -> bool:
        """Whether the token ends a generation. Raises BadToken outside the vocabulary."""
        check_token(token, self.vocab_size)
        return self._engine.weights.is_end(token)
