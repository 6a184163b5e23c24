"""The `forced` drafter: what language, layout and the names in scope leave little choice in.

It asks the session's `Syntax`, which others keep up with the output, and turns what that expects
into tokens. It does not know grammars.
"""

from __future__ import annotations

from redraft.drafters import Resources
from redraft.protocols import DraftContext, Tokenizer
from redraft.survival import SurvivalTable
from redraft.syntax import REASONS, Expected, Syntax
from redraft.tokens import NO_DRAFT, Draft, Verdict

PRIORS = (
    *(0.70, 0.80),  # name
    *(0.90, 0.97),  # opener
    *(0.95, 0.95),  # block_indent
    *(0.60, 0.60),  # line_indent
    *(0.95, 0.95),  # ending
    *(0.40, 0.40),  # end
)
"""Acceptance of the first token and of later ones, by reason."""
_MARK = "x"
"""Written behind an indentation: the last space before a word belongs to the word's token."""


class ForcedDrafter:
    """Proposes what `syntax` expects most surely; nothing where there is no syntax."""

    name = "forced"

    def __init__(self, tokenizer: Tokenizer, syntax: Syntax | None) -> None:
        self._tokenizer = tokenizer
        self._syntax = syntax
        self._survival = SurvivalTable(PRIORS)
        self._encoded: dict[str, tuple[int, ...]] = {}
        self._end: int | None = None

    @staticmethod
    def build(resources: Resources) -> ForcedDrafter:
        """The registry's factory."""
        return ForcedDrafter(resources.tokenizer, resources.syntax)

    def start(self, context: DraftContext) -> None:
        """Texts of the generation before will not come again."""
        self._encoded = {}

    def propose(self, limit: int, after: tuple[int, ...] = ()) -> Draft:
        """The surest of what is expected behind the output and these tokens."""
        if self._syntax is None or limit < 1:
            return NO_DRAFT
        best, surest = NO_DRAFT, 0.0
        for expected in self._syntax.expected(after):
            draft = self._draft(expected)
            if draft and draft.survival[0] > surest:
                best, surest = draft, draft.survival[0]
        return best.first(limit)

    def commit(self, verdict: Verdict) -> None:
        """Learn how own tokens fared, and which token ends an output."""
        self._survival.observe(verdict, self.name)
        for token in verdict.tokens:
            if self._tokenizer.is_end(token):
                self._end = token

    def _draft(self, expected: Expected) -> Draft:
        tokens = self._tokens(expected.text) if expected.text else self._end_tokens()
        first = 2 * REASONS.index(expected.reason)
        evidence = tuple(first + (number > 0) for number in range(len(tokens)))
        survival = tuple(self._survival.estimate(bin_) for bin_ in evidence)
        return Draft(tokens, survival, (self.name,) * len(tokens), evidence)

    def _tokens(self, text: str) -> tuple[int, ...]:
        tokens = self._encoded.get(text)
        if tokens is None:
            spaced = text[-1] in " \t"
            found = self._tokenizer.encode(text + _MARK if spaced else text)
            tokens = self._encoded[text] = tuple(found[:-1] if spaced else found)
        return tokens

    def _end_tokens(self) -> tuple[int, ...]:
        """The token that ended an output before; at first the lowest one that can, which is the
        end of text in the vocabularies of code models (the end of a turn was added later)."""
        if self._end is None:
            ends = filter(self._tokenizer.is_end, range(self._tokenizer.vocab_size))
            self._end = next(ends, -1)
        return (self._end,) if self._end >= 0 else ()
