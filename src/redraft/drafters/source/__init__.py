"""The `source` drafter: copies from the text being edited, and follows the edit.

It knows the source as a view (see `view`) and where the output is in it (see `place`). From the
edit itself it learns which words were replaced and how far lines were shifted, and drafts the rest
of the source so; what the instruction says of a rename it believes until it is wrong. It does not
know the cost of a draft.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from redraft.drafters import Resources
from redraft.drafters.source.place import CONVINCED, START, Aligner, Place
from redraft.drafters.source.view import View, indentation
from redraft.protocols import DraftContext, Tokenizer
from redraft.survival import SurvivalTable
from redraft.tokens import NO_DRAFT, Draft, Verdict

_RUNS = (1, 2, 4, 8, 16, 32)
_INSIDE, _LINE_START, _MENTIONED = 0, 6, 12
_MATCH_ONE, _MATCH_TWO, _NEW_LINE, _GUESS = 18, 19, 20, 21
PRIORS = (
    *(0.45, 0.80, 0.93, 0.97, 0.985, 0.995),
    *(0.40, 0.60, 0.85, 0.95, 0.97, 0.985),
    *(0.35, 0.55, 0.65, 0.75, 0.80, 0.95),
    *(0.22, 0.55, 0.30, 0.04),
)
"""Acceptance by run length within a line, at a line's first token and at words the instruction
mentions; then of the first token after a match of one or two tokens, at a new line of inserted
text, and after a replaced token. Counted over replayed edits of the bench's package, half of whose
new text is docstrings; rounded towards caution where fewer than 20 tokens were seen."""
_TAIL = 32
_WORD = re.compile(r"[^\W\d]\w*")
_QUOTED = re.compile(r"[`'\"]([^\W\d]\w*)(?:\(\))?[`'\"]")
_RENAME = re.compile(r"\brenam\w*\b([^.\n]*)", re.IGNORECASE)
_TO = re.compile(r"\b(?:to|into|as)\s+$")


class SourceDrafter:
    """Proposes the source's continuation at the point the output has reached."""

    name = "source"

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._survival = SurvivalTable(PRIORS)
        self._begin("", "")

    @staticmethod
    def build(resources: Resources) -> SourceDrafter:
        """The registry's factory."""
        return SourceDrafter(resources.tokenizer)

    def _begin(self, text: str, instruction: str) -> None:
        self._view = View(self._tokenizer, text)
        self._aligner = Aligner(self._view, self._tokenizer)
        self._mentioned = frozenset(_WORD.findall(instruction)) if text else frozenset()
        self._mentioned_tokens: dict[int, bool] = {}
        self._output: list[int] = []
        self._place = START
        self._copied: set[int] = set()
        self._broke_at = 0
        for word, replacement in _renames(instruction):
            if any(re.search(rf"\b{word}\b", line) for line in self._view.raw):
                self._view.substitute(word, replacement)

    def start(self, context: DraftContext) -> None:
        """Read the source, and what the prompt says around it."""
        text = self._tokenizer.decode(context.source)
        prompt = self._tokenizer.decode(context.prompt) if text else ""
        body = text.rsplit("\n", 1)[0]
        self._begin(text, prompt.replace(body, "", 1))

    def propose(self, limit: int, after: tuple[int, ...] = ()) -> Draft:
        """The source from the output's place on, transformed as this edit taught."""
        place = self._place
        if after:
            tail = self._output[-_TAIL:]
            for token in after:
                tail.append(token)
                place = self._aligner.advance(place, tail, self._copied)
        view = self._view
        end = place.position + max(0, limit - len(place.rest))
        tokens = (*place.rest, *view.tokens[place.position : end])[: max(0, limit)]
        if not tokens:
            return NO_DRAFT
        evidence = tuple(self._bin(place, number, token) for number, token in enumerate(tokens))
        survival = tuple(self._survival.estimate(bin_) for bin_ in evidence)
        return Draft(tokens, survival, (self.name,) * len(tokens), evidence)

    def _bin(self, place: Place, number: int, token: int) -> int:
        """The calibration bin of the draft's token of this number."""
        run = place.run + number
        if number == 0 and place.how != "copy" and run < CONVINCED:
            if place.how == "match":
                return _MATCH_ONE if run <= 1 else _MATCH_TWO
            return _NEW_LINE if place.how == "line" else _GUESS
        bucket = max(0, bisect_right(_RUNS, run) - 1)
        if self._is_mentioned(token):
            return _MENTIONED + bucket
        position = place.position + number - len(place.rest)
        at_start = 0 <= position < len(self._view.tokens) and (
            self._view.starts[self._view.line_of(position)] == position
        )
        return (_LINE_START if at_start else _INSIDE) + bucket

    def _is_mentioned(self, token: int) -> bool:
        known = self._mentioned_tokens.get(token)
        if known is None:
            word = self._tokenizer.piece(token).decode("utf-8", "replace").strip(" .(\t")
            known = self._mentioned_tokens[token] = len(word) > 1 and word in self._mentioned
        return known

    def commit(self, verdict: Verdict) -> None:
        """Follow the committed tokens; learn survival, replaced words and shifts."""
        self._survival.observe(verdict, self.name)
        if not self._view.tokens:
            return
        for token in verdict.tokens:
            before = self._place
            self._output.append(token)
            self._place = self._aligner.advance(before, self._output[-_TAIL:], self._copied)
            self._learn(before, self._place)

    def _learn(self, before: Place, now: Place) -> None:
        if not before.lost and now.position == before.position + 1:
            line = self._view.line_of(before.position)
            if now.position == self._view.line_end(line):
                self._copied.add(line)
            return
        if not before.lost and (now.lost or now.position != before.position):
            self._broke_at = len(self._output) - 1
            self._doubt_words(before)
        if before.lost and not now.lost:
            self._learn_word(before.anchor, now)
            self._learn_shift(now)

    def _doubt_words(self, before: Place) -> None:
        """The copy broke off: where the raw source would have been right, stop substituting."""
        line = self._view.line_of(before.position)
        if line >= len(self._view.raw):
            return
        words = self._view.words_in(line)
        if not words:
            return
        begun = self._output_line()
        if self._view.raw[line].startswith(begun) and not self._view.text(line).startswith(begun):
            offset = before.position - self._view.starts[line]
            self._view.restore(words)
            self._place = Place(
                min(self._view.starts[line] + offset + 1, self._view.line_end(line)),
                1,
                self._view.starts[line] + offset,
                1,
                "guess",
            )

    def _output_line(self) -> str:
        """The output's text from the start of its current line."""
        return self._tokenizer.decode(self._output[-64:]).rsplit("\n", 1)[-1]

    def _learn_word(self, anchor: int, now: Place) -> None:
        """The copy goes on after a replacement: if one word took another's place, remember."""
        view, decode = self._view, self._tokenizer.decode
        resumed = now.position - now.run
        if now.rest or not anchor <= resumed <= anchor + 6:
            return
        inserted = self._output[self._broke_at : len(self._output) - now.run]
        if not inserted or len(inserted) > 8:
            return
        line = view.starts[view.line_of(min(anchor, len(view.tokens) - 1))]
        left = re.search(r"\w*$", decode(view.tokens[line:anchor]))
        right = re.match(r"\w*", decode(view.tokens[resumed : resumed + 4]))
        assert left is not None and right is not None  # both patterns match the empty string
        old = left.group() + decode(view.tokens[anchor:resumed]) + right.group()
        new = left.group() + decode(inserted) + right.group()
        old, new = _without_common_signs(old, new)
        if old == new or not (_WORD.fullmatch(old) and _WORD.fullmatch(new)):
            return
        source_word = next((key for key, value in view.words.items() if value == old), old)
        self._substitute(source_word, new)

    def _substitute(self, word: str, replacement: str) -> None:
        """Change the view, keeping our place in its line."""
        view, place = self._view, self._place
        line = view.line_of(min(place.position, len(view.tokens) - 1))
        from_end = view.line_end(line) - place.position
        if word == replacement:
            view.restore([word])
        else:
            view.substitute(word, replacement)
        position = max(view.starts[line], view.line_end(line) - from_end)
        self._place = Place(position, place.run, position)

    def _learn_shift(self, now: Place) -> None:
        """The copy goes on in another column: expect the lines of its block there too."""
        view = self._view
        line = view.line_of(min(max(now.position - 1, 0), len(view.tokens) - 1))
        begun = self._output_line()
        following = line + 1
        if not begun.strip() or following >= len(view.raw):
            return
        columns = indentation(begun) - indentation(view.raw[line])
        if abs(columns) > 24 or now.position >= view.line_end(line) + 1:
            return
        if indentation(view.raw[following]) >= indentation(view.raw[line]):
            from_end = view.line_end(line) - now.position
            if view.shift(following, columns):
                self._place = Place(view.line_end(line) - from_end, now.run, now.anchor)


def _renames(instruction: str) -> list[tuple[str, str]]:
    """Pairs (old, new) of quoted words that sentences about renaming name, in order."""
    pairs = []
    for sentence in _RENAME.findall(instruction):
        old, end = "", 0
        for quoted in _QUOTED.finditer(sentence):
            if old and _TO.search(sentence, end, quoted.start()):
                pairs.append((old, quoted.group(1)))
                old = ""
            else:
                old = old or quoted.group(1)
            end = quoted.end()
    return pairs


def _without_common_signs(old: str, new: str) -> tuple[str, str]:
    """Both without the non-word characters that they share at their ends."""
    while old and new and old[0] == new[0] and not (old[0].isalnum() or old[0] == "_"):
        old, new = old[1:], new[1:]
    while old and new and old[-1] == new[-1] and not (old[-1].isalnum() or old[-1] == "_"):
        old, new = old[:-1], new[:-1]
    return old, new
