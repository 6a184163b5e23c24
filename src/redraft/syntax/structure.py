"""How one leaf changes what is open: blocks, brackets, strings, statements.

Everything is decided by the leaves so far, so that the beginning of a text has the same structure
whatever follows. It does not know trees or text beyond its leaves.
"""

from __future__ import annotations

from redraft.syntax.languages import Language
from redraft.syntax.leaves import HEREDOC_STARTS, HEREDOCS, TEXTS, Leaf
from redraft.syntax.state import (
    BOILERPLATE,
    BRACKETS,
    DATA,
    DECLARATION,
    DEFINITIONS,
    DOCUMENTATION,
    ERROR,
    IMPORT,
    NO_STATEMENT,
    TEST,
    UNCOUNTED,
    Frame,
    State,
    Statement,
)
from redraft.syntax.statements import ASSIGNMENTS, TEST_NAME, Statements
from redraft.syntax.values import Kind

_BEFORE_DATA = ASSIGNMENTS | frozenset(
    ("(", "[", ",", "?", "&&", "||", "??", "return", "in", "of", "::", "${", "&", "+", "...")
)
"""After these a curly bracket opens data whatever the statement is."""
_CLOSED = frozenset({")", "]", "}", "++", "--", "end", "?", "!"})
"""Signs that may end a statement, besides words and literals."""
_JUMPS = frozenset({"return", "next", "break"})
# the grammar of Python takes these for keywords of its second version
_CALLED = frozenset({")", "]", ">", "}", "print", "exec"})
_LISTING = BRACKETS | {"type", "branch"}
"""Where a comma begins something new: in brackets, among members and among the arms of a match."""
_DEFAULT_BRACKETS = {"(": ")", "[": "]", "{": "}"}


class Structure:
    """The rules of one language."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._statements = Statements(language)
        self._brackets = {**_DEFAULT_BRACKETS, **language.brackets}
        closers = {*self._brackets.values(), *(word for _, word in language.words.values())}
        self._closers = frozenset(closers)

    def is_text(self, state: State, leaf: Leaf) -> bool:
        """Whether a leaf that follows inside a string can belong to it. If not, the string has no
        end yet, and what follows is no code."""
        frame = state.frames[-1]
        return (
            leaf.type == frame.closer
            or leaf.type in TEXTS
            or leaf.type in self.language.inside
            or (frame.interpolates and leaf.type == "{")
        )

    def expects_value(self, state: State) -> bool:
        """Whether what stands before is no value, so that a slash does not divide it."""
        if state.previous_class in ("", "keyword"):
            return state.previous not in _CLOSED
        return state.previous_class in ("operator", "bracket") and state.previous not in _CLOSED

    def in_heredoc(self, state: State, row: int) -> bool:
        """Whether what stands in this row is text that no word has ended yet."""
        return bool(state.heredoc) and row > state.heredoc_row

    def arrive(self, state: State, leaf: Leaf) -> State:
        """Where a leaf stands may end blocks and statements, before it is known what it is."""
        if leaf.token_class == "comment" or state.frames[-1].kind == "string":
            return state
        frame = state.frames[-1]
        if frame.kind in BRACKETS or leaf.row == state.row:
            return state
        if self.language.layout == "indentation":
            return self._dedent(state, leaf)
        if self._line_ends(state, leaf):
            return state._replace(statement=NO_STATEMENT)
        return state

    def line_ends_statement(self, state: State, row: int) -> bool:
        """Whether a cursor in this row, behind the last leaf, is behind its statement for sure."""
        return (
            self.language.ending == "newline"
            and row > state.row
            and state.frames[-1].kind not in BRACKETS
        )

    def _line_ends(self, state: State, leaf: Leaf) -> bool:
        """Whether the line end before this leaf ends the statement."""
        language, statement = self.language, state.statement
        first = statement.first
        if language.ending == "newline" or (len(first) > 1 and first[0] == "#" and first[1] != "["):
            return True
        if language.ending == "semicolon" or not statement.leaves:
            return False
        if leaf.token_class not in ("identifier", "keyword", "literal") and leaf.type not in "@#[":
            return False
        if state.previous_class == "keyword" and first == state.previous:
            return True  # a lone `return` or `break`
        ends = state.previous_class in ("identifier", "literal") or state.previous in _CLOSED
        return ends and (statement.head is None or language.layout == "words")

    def _dedent(self, state: State, leaf: Leaf) -> State:
        """Close the blocks that a line's column ends, and begin a statement."""
        frames, misplaced = list(state.frames), state.misplaced
        while True:
            frame = frames[-1]
            if frame.column < 0 and state.end == frame.start + 1:  # its first line
                if leaf.column > frames[-2].column:
                    frames[-1] = frame._replace(column=leaf.column)
                    break
                misplaced += 1
            elif 0 <= frame.column <= leaf.column:
                misplaced += leaf.column > frame.column
                break
            frames.pop()
        return state._replace(frames=tuple(frames), statement=NO_STATEMENT, misplaced=misplaced)

    def absorb(self, state: State, leaf: Leaf) -> State:
        """The state after a whole leaf, which has arrived."""
        if leaf.token_class == "comment":
            return state
        frame = state.frames[-1]
        if frame.kind == "string":
            return self._in_string(state, leaf)
        opened = self._opened(state, leaf)
        if opened is not None:
            return opened
        sign = leaf.text if leaf.type == "interpolation_brace" else leaf.type
        if sign in self._closers and leaf.token_class in ("bracket", "keyword", "literal"):
            return self._close(state, leaf, sign)
        if leaf.type in HEREDOC_STARTS:
            word = leaf.text.strip("<-~\"'`\\")
            state = state._replace(heredoc=word, heredoc_row=leaf.row)
        elif state.heredoc and leaf.type in HEREDOCS:
            lines = leaf.text.rsplit("\n", 1)
            ended = lines[-1].strip() == state.heredoc
            return state._replace(heredoc="", row=leaf.end_row) if ended else state
        if leaf.type in TEXTS:
            statement = self._statements.extended(state, leaf)
            return _after(state._replace(statement=statement), leaf)
        return self._plain(state, leaf)

    def _plain(self, state: State, leaf: Leaf) -> State:
        """A word or sign that opens and closes nothing at once."""
        frame, kind = state.frames[-1], leaf.type
        if kind in (";", "php_tag") or (kind == "," and frame.kind in _LISTING):
            return _after(state._replace(statement=self._next_statement(state.statement)), leaf)
        statement = self._statements.extended(state, leaf)
        state = state._replace(statement=statement)
        if kind == ":" and frame.kind not in BRACKETS:
            if self.language.layout == "indentation" and statement.head is not None:
                return _after(self._push(state, statement.head, "", leaf), leaf)
            if statement.first in self.language.labels:
                return _after(state._replace(statement=NO_STATEMENT), leaf)
        if self.language.layout == "words":
            state = _with_top(state, _within_words(frame, statement, kind))
        return _after(state, leaf)

    def _next_statement(self, statement: Statement) -> Statement:
        """What a semicolon or comma leaves: the head goes on where it may hold semicolons."""
        if self.language.semicolons_in_heads and statement.head in ("branch", "loop"):
            return Statement(1, statement.first, head=statement.head, flags=statement.flags)
        return NO_STATEMENT

    def _opened(self, state: State, leaf: Leaf) -> State | None:
        """The state in what this leaf opens, if it opens anything."""
        kind, language = leaf.type, self.language
        if kind in language.quotes:
            return self._open_string(state, leaf)
        if kind in language.words:
            return self._open_word(state, leaf)
        if kind == "interpolation_brace":
            return self._bracket(state, leaf, "}") if leaf.text == "{" else None
        closer = self._brackets.get(kind)
        if closer is None or leaf.token_class not in ("bracket", "literal", "operator"):
            return None
        if kind == "{" and language.layout != "indentation":
            return self._brace(state, leaf)
        return self._bracket(state, leaf, closer)

    def _open_string(self, state: State, leaf: Leaf) -> State:
        statement = self._statements.extended(state, leaf)
        state = state._replace(statement=statement)
        documents = statement.leaves == 1 and self.language.layout == "indentation"
        flags = DOCUMENTATION if documents and state.frames[-1].kind not in BRACKETS else 0
        prefix = leaf.text.rstrip("\"'").lower()
        state = self._push(state, "string", self.language.quotes[leaf.type], leaf, flags)
        if "f" in prefix or "t" in prefix:
            state = _with_top(state, state.frames[-1]._replace(interpolates=True))
        return _after(state, leaf)

    def _in_string(self, state: State, leaf: Leaf) -> State:
        frame = state.frames[-1]
        if leaf.type == frame.closer:
            return _after(state._replace(frames=state.frames[:-1], statement=frame.outer), leaf)
        inside = self.language.inside
        if leaf.type == "interpolation_brace" or (frame.interpolates and leaf.type == "{"):
            return self._bracket(state, leaf, "}") if leaf.text == "{" else state
        if leaf.type in inside and leaf.type in self._brackets and leaf.type not in "([":
            return self._bracket(state, leaf, self._brackets[leaf.type])
        return _after(state, leaf)

    def _open_word(self, state: State, leaf: Leaf) -> State | None:
        """A word that opens a block, unless it stands behind what it governs."""
        kind, statement = leaf.type, state.statement
        role, closer = self.language.words[kind]
        if kind in self.language.modifiers and statement.leaves and leaf.row == state.row:
            ended = state.previous_class in ("identifier", "literal")
            if ended or state.previous in _CLOSED or state.previous in _JUMPS:
                return None
        if kind == "do" and statement.head == "loop":
            return _after(state._replace(statement=NO_STATEMENT), leaf)
        state = self._push(state, role, closer, leaf)
        begun = Statement(1, kind, "statement", role, naming=role in DEFINITIONS)
        if kind in ("do", "begin"):
            begun = NO_STATEMENT
        return _after(state._replace(statement=begun), leaf)

    def _bracket(self, state: State, leaf: Leaf, closer: str) -> State:
        statement, adjacent = state.statement, leaf.start == state.end
        if statement.kind == "import" and (statement.head or (adjacent and closer == ")")):
            flags = statement.flags & ~IMPORT  # it calls something, or is no import at all
            statement = statement._replace(kind="statement", flags=flags)
        after_name = state.previous_class == "identifier" or state.previous in _CALLED
        kind: Kind
        if closer in (")", "))"):
            kind = "arguments" if after_name else "parentheses"
            if after_name and not statement.called:
                statement = statement._replace(called=statement.last_name)
        elif closer in ("]", "]]"):
            kind = "index" if after_name and adjacent else "list"
        else:
            kind = "braces"
        if state.frames[-1].kind != "string":
            statement = self._statements.begun(statement, leaf)
        else:
            kind = "braces"
        state = state._replace(statement=statement)
        return _after(self._push(state, kind, closer, leaf), leaf)

    def _brace(self, state: State, leaf: Leaf) -> State:
        kind = self._brace_kind(state)
        if kind == "braces":
            return self._bracket(state, leaf, "}")
        return _after(self._push(state, kind, "}", leaf), leaf)

    def _brace_kind(self, state: State) -> Kind:
        """What a curly bracket opens: by the statement's words, then by what stands before it."""
        language, statement, previous = self.language, state.statement, state.previous
        top = state.frames[-1].kind
        if previous in language.functions_after:
            return "function"
        if previous == "=>":
            return "scope"
        if previous in _BEFORE_DATA or (previous == ":" and statement.leaves):
            return "braces"
        if statement.head is not None:
            typed = language.declared_types and statement.head == "type"
            called = statement.called and (typed or statement.head == "scope")
            return "function" if called else statement.head
        if previous == ")" and statement.created:
            return "type" if language.anonymous_types else "braces"
        if statement.called and (not statement.assigned or language.declared_types):
            return "function"
        if previous == "}" and top in BRACKETS:
            return "braces"
        if not statement.leaves:
            return "braces" if top in BRACKETS else "scope"
        if top == "type" and not statement.assigned:
            return "function"
        if language.layout == "words" and state.previous_class == "identifier":
            return "scope"
        return "braces"

    def _push(self, state: State, kind: Kind, closer: str, leaf: Leaf, flags: int = 0) -> State:
        """Open a frame; what it is for follows from where it is and from its statement."""
        top, statement = state.frames[-1], state.statement
        definition = top.definition
        inherited = top.flags & (TEST | ERROR)
        if kind in BRACKETS or kind == "string":
            inherited = top.flags | statement.flags
            if statement.head in DEFINITIONS:
                inherited |= DECLARATION
            if kind in ("list", "braces"):
                inherited |= DATA
            if self._is_test_call(statement, kind):
                inherited |= TEST
        elif kind in DEFINITIONS:
            named = statement.name if statement.head == kind else ""
            member = statement.last_name if top.kind == "type" else ""
            definition = named or statement.called or statement.target or member or definition
            inherited |= statement.flags & TEST
            if TEST_NAME.match(definition):
                inherited |= TEST
            if kind == "type":
                inherited |= DECLARATION
        else:
            inherited |= statement.flags & (ERROR | BOILERPLATE)
            if kind in ("try", "handler"):
                inherited |= ERROR
            if statement.first in self.language.test_calls:
                inherited |= TEST
        depth = top.depth + (kind not in UNCOUNTED)
        frame = Frame(
            kind, closer, depth, definition, inherited | flags, statement, leaf.start, leaf.row
        )
        return state._replace(frames=(*state.frames, frame), statement=NO_STATEMENT)

    def _is_test_call(self, statement: Statement, kind: Kind) -> bool:
        calls = self.language.test_calls
        return kind == "arguments" and (statement.first in calls or statement.last_name in calls)

    def _close(self, state: State, leaf: Leaf, sign: str) -> State:
        """Close the innermost frame that this leaf closes, and brackets left open inside it."""
        frames = state.frames
        index = len(frames) - 1
        while index > 0 and frames[index].closer != sign:
            if frames[index].kind not in BRACKETS and sign not in ("}", "end", "done", "fi"):
                index = 0
                break
            index -= 1
        if index <= 0:
            stray = not (sign == ")" and frames[-1].closer == "esac")
            return _after(state._replace(stray=state.stray + stray), leaf)
        frame = frames[index]
        outer = frame.outer
        if frame.kind in BRACKETS:
            if outer.marking and TEST_NAME.match(state.statement.last_name):
                outer = outer._replace(flags=outer.flags | TEST)
        elif frames[index - 1].kind in BRACKETS or outer.assigned:
            outer = outer._replace(head=None)
        else:
            outer = NO_STATEMENT
        return _after(state._replace(frames=frames[:index], statement=outer), leaf)


def _within_words(frame: Frame, statement: Statement, word: str) -> Frame:
    """A block that a word opened, which later words name or turn into another."""
    if word in ("rescue", "ensure"):
        kind: Kind = "handler" if frame.kind == "try" else frame.kind
        return frame._replace(kind=kind, flags=frame.flags | ERROR)
    if statement.head == frame.kind and statement.name and frame.kind in DEFINITIONS:
        flags = frame.flags | TEST if TEST_NAME.match(statement.name) else frame.flags
        return frame._replace(definition=statement.name, flags=flags)
    return frame


def _with_top(state: State, frame: Frame) -> State:
    return state._replace(frames=(*state.frames[:-1], frame))


def _after(state: State, leaf: Leaf) -> State:
    return state._replace(
        previous=leaf.text if leaf.type == "interpolation_brace" else leaf.type,
        previous_class=leaf.token_class,
        end=leaf.end,
        row=leaf.end_row,
    )
