"""Text to token ids and back by the vocabulary of loaded weights. It does not know the library."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence as Tokens
from itertools import pairwise

from redraft.engines.native import NativeEngine, NativeWeights
from redraft.engines.validation import check_token


class NativeTokenizer:
    """The vocabulary of an engine's weights; see `redraft.protocols.Tokenizer`."""

    def __init__(self, engine: NativeEngine) -> None:
        self._engine = engine
        self._pieces: dict[int, bytes] = {}
        self._plain: set[int] = set()
        """Tokens that were looked up and are no marker."""
        self._markers: dict[int, str] = {}
        """Those that are one, with their texts."""

    @property
    def vocab_size(self) -> int:
        """Number of token ids."""
        return self._engine.vocab_size

    def encode(self, text: str, special: bool = False) -> list[int]:
        """Token ids. A lone surrogate, which UTF-8 cannot hold, becomes a question mark."""
        if not text:
            return []
        data = text.encode("utf-8", "replace")
        weights = self._engine.weights
        return weights.tokenize(data, True) if special else self._as_text(data, weights)

    def _as_text(self, data: bytes, weights: NativeWeights) -> list[int]:
        """Token ids without a marker among them.

        The libraries take user-defined tokens such as `<tool_call>` for themselves even in plain
        text, so a text with one is cut inside it, where a pre-tokeniser would cut as well.
        A vocabulary that puts a space before each piece would then give another text; there the
        library's ids stay.
        """
        ids = weights.tokenize(data, False)
        markers = {self._markers[token] for token in self._markers_among(ids, weights)}
        if not markers:
            return ids
        text = data.decode()
        pieces = cut_inside(text, markers)
        if len(pieces) == 1:
            return ids
        plain = [token for piece in pieces for token in self._as_text(piece.encode(), weights)]
        return plain if self.decode(plain) == text else ids

    def _markers_among(self, ids: Tokens[int], weights: NativeWeights) -> set[int]:
        """Those of `ids` that are markers; each token is looked up once."""
        for token in set(ids) - self._plain - self._markers.keys():
            text = self.piece(token).decode("utf-8", "replace")
            # White space and single letters are user-defined in some vocabularies, and harmless.
            if weights.is_user_defined(token) and len(text.strip()) > 1:
                self._markers[token] = text
            else:
                self._plain.add(token)
        return set(ids) & self._markers.keys() if self._markers else set()

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


def cut_inside(text: str, markers: Collection[str]) -> list[str]:
    """`text` in pieces, cut once inside each place where one of `markers` stands (each at least
    two characters long): behind a run of letters where there is one, else in the middle."""
    cuts = {0, len(text)}
    for marker in markers:
        ends = (at for at in range(1, len(marker)) if marker[at - 1].isalpha())
        inside = next((at for at in ends if not marker[at].isalpha()), len(marker) // 2)
        start = text.find(marker)
        while start >= 0:
            cuts.add(start + inside)
            start = text.find(marker, start + 1)
    return [text[start:end] for start, end in pairwise(sorted(cuts))]
