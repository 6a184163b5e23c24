"""The source as the drafter expects to see it again: renamed and re-indented, cut into lines.

A view is the source's lines with what this edit has taught applied: words replaced, stretches
shifted. Tokens of a line are those the vocabulary gives it, so a rename that tokenises otherwise
is no obstacle. It does not know the output or where in it we are.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from redraft.protocols import Tokenizer

_LINES = re.compile(r"[^\n]*\n(?:[ \t]*\n)*|[^\n]+$")
"""A line with the blank lines behind it: byte-pair vocabularies join runs of line ends into one
token, but never a line end with the text of the next line."""


class View:
    """Lines of the source with substitutions and shifts, as one flat list of tokens."""

    def __init__(self, tokenizer: Tokenizer, text: str) -> None:
        self._tokenizer = tokenizer
        self.raw: list[str] = _LINES.findall(text)
        self._shifts = [0] * len(self.raw)
        self.words: dict[str, str] = {}
        self._encoded: dict[str, tuple[int, ...]] = {}
        self._lines: list[tuple[int, ...]] = []
        self.tokens: list[int] = []
        self.starts: list[int] = []
        self._positions: dict[int, list[int]] | None = None
        self._rebuild()

    def _rebuild(self) -> None:
        pattern = self._pattern()
        self._lines = [self._encode(self.text(line, pattern)) for line in range(len(self.raw))]
        self.tokens, self.starts = [], []
        for tokens in self._lines:
            self.starts.append(len(self.tokens))
            self.tokens.extend(tokens)
        self._positions = None

    def _pattern(self) -> re.Pattern[str] | None:
        if not self.words:
            return None
        return re.compile(r"\b(?:" + "|".join(map(re.escape, self.words)) + r")\b")

    def _encode(self, text: str) -> tuple[int, ...]:
        tokens = self._encoded.get(text)
        if tokens is None:
            tokens = self._encoded[text] = tuple(self._tokenizer.encode(text))
        return tokens

    def text(self, line: int, pattern: re.Pattern[str] | None = None) -> str:
        """The line as it is expected in the output."""
        text = self.raw[line]
        if self.words:
            pattern = pattern or self._pattern()
            assert pattern is not None
            text = pattern.sub(lambda found: self.words[found.group()], text)
        shift = self._shifts[line]
        if shift > 0:
            return " " * shift + text
        return text[min(-shift, indentation(text)) :]

    def positions(self, token: int) -> list[int]:
        """Where `token` stands in `tokens`, ascending."""
        if self._positions is None:
            self._positions = {}
            for position, found in enumerate(self.tokens):
                self._positions.setdefault(found, []).append(position)
        return self._positions.get(token, [])

    def line_of(self, position: int) -> int:
        """The line that holds the token at `position`; past the end, the last line."""
        return max(0, bisect_right(self.starts, position) - 1)

    def line_end(self, line: int) -> int:
        """The position after the line's last token."""
        return self.starts[line + 1] if line + 1 < len(self.starts) else len(self.tokens)

    def substitute(self, word: str, replacement: str) -> None:
        """Expect `replacement` wherever the source says `word`."""
        self.words[word] = replacement
        self._rebuild()

    def restore(self, words: list[str]) -> None:
        """Expect these words as the source has them again."""
        for word in words:
            self.words.pop(word, None)
        self._rebuild()

    def words_in(self, line: int) -> list[str]:
        """The substituted words that occur in the source's line."""
        pattern = self._pattern()
        return list(dict.fromkeys(pattern.findall(self.raw[line]))) if pattern else []

    def shift(self, line: int, columns: int) -> bool:
        """Expect `line` and the block it opens `columns` further right (left if negative) than
        the source has it. Returns whether that changed anything."""
        floor = indentation(self.raw[line])
        end = line
        while end < len(self.raw) and indentation(self.raw[end]) >= floor:
            end += 1
        wanted = [columns] * (end - line)
        if self._shifts[line:end] == wanted:
            return False
        self._shifts[line:end] = wanted
        self._rebuild()
        return True


def indentation(line: str) -> int:
    """Columns before the first character that is no space or tab."""
    return len(line) - len(line.lstrip(" \t"))
