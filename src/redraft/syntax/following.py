"""`Syntax`: follows one generation at a time by its tokens.

Whoever owns the generation calls `start` and `commit`; all others only ask. Where syntax cannot be
had, every question is answered with nothing, and `unavailable` says why. It does not know who asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Tokens
from contextlib import contextmanager
from time import thread_time

from redraft.protocols import DraftContext, Tokenizer
from redraft.syntax.expectations import Expected, Surroundings, expectations
from redraft.syntax.grammar import Grammar, ParseFailed
from redraft.syntax.languages import LANGUAGES, dialect, find_language
from redraft.syntax.place import Cursor, describe, open_constructs
from redraft.syntax.reading import WINDOW, Reading
from redraft.syntax.scope import names_in_scope
from redraft.syntax.values import OpenConstruct, Place

MOST_BYTES = 8 * WINDOW
"""Bytes before the cursor that are read when a generation starts: the last ones."""
STEP_SECONDS = 0.005
"""What a question may take of the processor on average, a tenth of a usual step: what takes more
costs more than it can bring."""
FIRST_SECONDS = 0.5
"""What all questions may take beyond that, since some take long without being many."""
_REMEMBERED = 64
_TAIL = 512
_INDENT = re.compile(rb"^([ \t]*)\S.*[:{]\n\1([ \t]+)\S", re.MULTILINE)


class Syntax:
    """Where one generation is, by its text so far; a session has one.

    `say` is told when a grammar or a text fails, once.
    """

    def __init__(self, tokenizer: Tokenizer, say: Callable[[str], None] | None = None) -> None:
        self._tokenizer = tokenizer
        self._say = say
        self._grammars: dict[str, Grammar] = {}
        self._pieces: dict[int, bytes] = {}
        self._reading: Reading | None = None
        self._waiting = b""
        self._indent = ""
        self._closes: int | None = None
        self._cursors: dict[tuple[int, ...], Cursor] = {}
        self._spent = 0.0
        self.unavailable: str | None = "no generation has begun"
        """Why no question can be answered, or None."""

    def start(self, context: DraftContext) -> None:
        """A new generation begins: the output continues what stands before the cursor."""
        self._reading, self._waiting, self.unavailable = None, b"", None
        self._cursors, self._spent, self._closes = {}, 0.0, None
        found = find_language(context.language)
        if found is None:
            named = f"for {context.language!r}" if context.language else "without a language"
            self.unavailable = f"there is no grammar {named}"
            return
        before = self._bytes(context.before_cursor(self._is_marker))[-MOST_BYTES:]
        suffix = self._bytes(context.suffix)[: WINDOW + 1]
        with self._guarded(0):
            sample = before + b"\n" + self._bytes(context.source) + b"\n" + suffix
            name = dialect(found[0], sample)
            language = LANGUAGES[name]
            if name not in self._grammars:
                self._grammars[name] = Grammar(language)
            grammar = self._grammars[name]
            indent = _INDENT.search(sample)
            self._indent = indent.group(2).decode() if indent else language.indent
            if suffix.startswith(b"\n") and len(suffix) <= WINDOW:
                self._closes = Reading(language, grammar, suffix).states[-1].stray
            text, self._waiting = _whole(before)
            self._reading = Reading(language, grammar, text)

    def commit(self, tokens: Tokens[int]) -> None:
        """These tokens were appended to the output."""
        self._cursors = {}
        if self._reading is None:
            return
        with self._guarded(len(tokens)):
            text, self._waiting = _whole(self._waiting + self._bytes(tokens))
            self._reading.append(text)

    def place(self, after: tuple[int, ...] = ()) -> Place | None:
        """Where the cursor would be after these uncommitted tokens; None where nobody knows."""
        with self._guarded():
            if (cursor := self._cursor(after)) is not None and self._reading is not None:
                return describe(self._reading.structure, cursor)
        return None

    def expected(self, after: tuple[int, ...] = ()) -> tuple[Expected, ...]:
        """What the language, the layout and the names in scope let expect next."""
        with self._guarded():
            reading, cursor = self._reading, self._cursor(after)
            more, waiting = _whole(self._waiting + self._bytes(after))
            if reading is None or cursor is None or waiting:
                return ()
            around = Surroundings(
                reading.structure,
                (reading.tail(_TAIL) + more).decode("utf-8", "replace"),
                self._indent,
                lambda begun: names_in_scope(reading.leaves, reading.states, cursor.before, begun),
                self._closes,
            )
            return expectations(cursor, around)
        return ()

    def names(self, after: tuple[int, ...] = ()) -> tuple[str, ...]:
        """Names in scope at the cursor, the latest used first."""
        with self._guarded():
            reading, cursor = self._reading, self._cursor(after)
            if reading is not None and cursor is not None:
                return names_in_scope(reading.leaves, reading.states, cursor.before)
        return ()

    def open(self, after: tuple[int, ...] = ()) -> tuple[OpenConstruct, ...]:
        """Blocks, brackets and strings that are open at the cursor, from outside in."""
        with self._guarded():
            reading, cursor = self._reading, self._cursor(after)
            if reading is not None and cursor is not None:
                return open_constructs(reading.structure, cursor)
        return ()

    def sound(self, draft: tuple[int, ...]) -> int:
        """How many of these uncommitted tokens can stand: fewer than all where one closes what is
        not open, or begins a line in a column that no block has, and the text so far never did."""
        with self._guarded():
            if self._reading is None or not draft or self._reading.is_broken:
                return len(draft)
            waiting = len(self._waiting)
            more, _ = _whole(self._waiting + self._bytes(draft))
            broken = self._reading.broken_at(more)
            if broken is None:
                return len(draft)
            for count, token in enumerate(draft):
                waiting += len(self._piece(token))
                if waiting > broken:
                    return count
        return len(draft)

    def _cursor(self, after: tuple[int, ...]) -> Cursor | None:
        """The cursor after these tokens; asked for more than once in most steps."""
        if self._reading is None:
            return None
        cursor = self._cursors.get(after)
        if cursor is None:
            more, _ = _whole(self._waiting + self._bytes(after)) if after else (b"", b"")
            cursor = self._reading.cursor(more)
            if len(self._cursors) >= _REMEMBERED:
                self._cursors = {}
            self._cursors[after] = cursor
        return cursor

    @contextmanager
    def _guarded(self, tokens: int = 1) -> Iterator[None]:
        """Whatever fails inside, or takes too long for so many tokens, ends syntax for this
        generation. With 0 only a single parse can take too long."""
        begun = thread_time()
        try:
            yield
        except ParseFailed as error:
            self._give_up(str(error))
        except Exception as error:  # noqa: BLE001  a help must not end a generation
            self._give_up(f"{type(error).__name__}: {error}")
        if tokens and self._reading is not None:
            over = thread_time() - begun - STEP_SECONDS * tokens
            self._spent = max(0.0, self._spent + over)
            if self._spent > FIRST_SECONDS:
                self._give_up("this text takes too long to parse")

    def _give_up(self, reason: str) -> None:
        self._reading, self.unavailable = None, reason
        if self._say is not None:
            self._say(reason)
            self._say = None

    def _piece(self, token: int) -> bytes:
        piece = self._pieces.get(token)
        if piece is None:
            piece = self._pieces[token] = self._tokenizer.piece(token)
        return piece

    def _bytes(self, tokens: Tokens[int]) -> bytes:
        return b"".join(map(self._piece, tokens))

    def _is_marker(self, token: int) -> bool:
        return not self._piece(token)


def _whole(text: bytes) -> tuple[bytes, bytes]:
    """`text` up to its last whole character, and the bytes of one that is not whole yet."""
    for back in range(1, min(4, len(text) + 1)):
        lead = text[-back]
        if lead & 0xC0 != 0x80:
            length = 2 if lead >> 5 == 6 else 3 if lead >> 4 == 14 else 4 if lead >> 3 == 30 else 1
            return (text[:-back], text[-back:]) if length > back else (text, b"")
    return text, b""
