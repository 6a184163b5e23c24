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
    *(0.72, 0.92),  # name
    *(0.85, 0.95),  # opener
    *(0.95, 0.95),  # block_indent
    *(0.55, 0.55),  # line_indent
    *(0.90, 0.90),  # ending
    *(0.65, 0.65),  # end
)
"""Acceptance of the first token and of later ones, by reason. Counted over source files taken for
output (`redraft bench syntax`: the standard library and packages in 12 languages, 127,000 tokens),
and for `end` over 280 gaps of 1 to 6 lines cut from such files, 123 proposals; rounded, towards
caution where there were few. Closing brackets and `;` were right in 0 to 12 %, since vocabularies
join them with what follows, and so are not proposed."""
_ENDS = ("<|endoftext|>", "<|end_of_text|>", "<eos>", "</s>")
"""What vocabularies call the end of a text; the end of a gap, until one was seen to be another."""
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
        self._fills = False

    @staticmethod
    def build(resources: Resources) -> ForcedDrafter:
        """The registry's factory."""
        return ForcedDrafter(resources.tokenizer, resources.syntax)

    def start(self, context: DraftContext) -> None:
        """Texts of the generation before will not come again."""
        self._encoded = {}
        self._fills = bool(context.suffix)

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
        """Learn how own tokens fared, and which token ends what fills a gap."""
        self._survival.observe(verdict, self.name)
        if self._fills and verdict.choices and self._tokenizer.is_end(verdict.choices[-1].token):
            self._end = verdict.choices[-1].token

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
        if self._end is None:
            spelled = (self._tokenizer.encode(text, special=True) for text in _ENDS)
            ends = (tokens[0] for tokens in spelled if len(tokens) == 1)
            self._end = next(filter(self._tokenizer.is_end, ends), -1)
        return (self._end,) if self._end >= 0 else ()
