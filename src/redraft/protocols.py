"""The seams of redraft: engine, sequence, drafter, tokenizer, policy, sampler.

Each is small on purpose, so that another engine or drafter is one file. Tokens in, logits out: an
engine knows no text, no sampling and no drafting; a drafter knows no engine. This module does not
know any implementation.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Tokens
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from redraft.tokens import Choice, Draft, Step, Verdict

MAX_ROWS = 64
"""Most rows of logits a forward may be asked for. Longer text is scored in pieces."""

Logits: TypeAlias = NDArray[np.float32]
Cancelled: TypeAlias = Callable[[], bool]
Clock: TypeAlias = Callable[[], float]
"""Seconds since some moment, as `time.perf_counter` gives them."""
Progress: TypeAlias = Callable[[float], None]
"""Gets the share that is done, 0 … 1."""
Sampler: TypeAlias = Callable[[NDArray[np.float32], Tokens[int]], Choice]
"""`sample(row, tokens_before)`: the target's choice from `row` (float32[vocab]) after the tokens
before it (prompt and output). A pure function of its arguments."""


@runtime_checkable
class Sequence(Protocol):
    """One token stream with its KV cache."""

    @property
    def length(self) -> int:
        """Tokens in the KV cache."""
        ...

    def evaluate(
        self, tokens: Tokens[int], rows: int, cancelled: Cancelled | None = None
    ) -> Logits:
        """Append `tokens` and return logits for the last `rows` of them: float32[rows, vocab].

        `rows` is 0 … min(64, len(tokens)). The result is the caller's own copy.

        Raises ContextFull, BadToken or SequenceClosed before anything is changed, and Cancelled
        with `length` as it was when `cancelled()` turned true during the forward. `cancelled` may
        be called from another thread, every few milliseconds.
        """
        ...

    def truncate(self, length: int) -> None:
        """Forget all tokens from position `length` on. Raises BadToken unless 0 ≤ length ≤ now."""
        ...

    def fork(self) -> Sequence:
        """An independent sequence with the same content, which continues bitwise equal.

        The fork starts as a saved state and takes a context of its own at its first evaluate.
        """
        ...

    def close(self) -> None:
        """Free the KV cache. May be called twice."""
        ...


@runtime_checkable
class Engine(Protocol):
    """Loaded weights that can open sequences."""

    @property
    def vocab_size(self) -> int:
        """Columns of the logits."""
        ...

    @property
    def invariant_from(self) -> int | None:
        """Smallest number of tokens in a forward from which on logits do not depend, bitwise,
        on how a text is cut into forwards. None where no such number exists."""
        ...

    def open_sequence(self) -> Sequence:
        """An empty sequence. Raises EngineError when no memory is left for it."""
        ...

    def close(self) -> None:
        """Close all sequences and free the weights. May be called twice."""
        ...


@runtime_checkable
class Tokenizer(Protocol):
    """Text to token ids and back, by the weights' own vocabulary."""

    @property
    def vocab_size(self) -> int:
        """Number of token ids."""
        ...

    def encode(self, text: str, special: bool = False) -> list[int]:
        """Token ids of `text`. With `special`, markers such as `<|im_end|>` become their control
        tokens (templates); without, they are plain text (anything a user wrote)."""
        ...

    def piece(self, token: int) -> bytes:
        """The bytes of one token; a control token has none. May be part of a UTF-8 sequence."""
        ...

    def decode(self, tokens: Tokens[int]) -> str:
        """The text of `tokens`; bytes that are not UTF-8 become U+FFFD."""
        ...

    def is_end(self, token: int) -> bool:
        """Whether the token ends a generation (end of turn, end of text)."""
        ...


@dataclass(frozen=True, slots=True)
class DraftContext:
    """What a drafter may know when a generation starts."""

    prompt: tuple[int, ...]
    source: tuple[int, ...] = ()
    """The text being edited or predicted, if any."""
    suffix: tuple[int, ...] = ()
    """What follows the cursor in fill-in-the-middle, if anything."""
    language: str = ""
    """Lower-case name such as `python`; empty when not known."""

    def reading_order(self) -> tuple[int, ...]:
        """The prompt turned so that it ends at the cursor: what follows the cursor comes first.

        This differs from `prompt` in fill-in-the-middle alone, where the prompt ends in a marker,
        the suffix and another marker, and yet the output continues what stands before these.
        """
        cut = len(self.prompt) - len(self.suffix) - 2
        if self.suffix and cut >= 0 and self.prompt[cut + 1 : -1] == self.suffix:
            return self.prompt[cut:] + self.prompt[:cut]
        return self.prompt

    def before_cursor(self, is_marker: Callable[[int], bool]) -> tuple[int, ...]:
        """What stands before the cursor in fill-in-the-middle; nothing in any other prompt.

        `is_marker` tells control tokens, which no text holds.
        """
        prompt, cut = self.prompt, len(self.prompt) - len(self.suffix) - 2
        if cut < 0 or not (is_marker(prompt[cut]) and is_marker(prompt[-1])):
            return ()
        if prompt[cut + 1 : -1] != self.suffix:
            return ()
        begin = cut
        while begin and not is_marker(prompt[begin - 1]):
            begin -= 1
        return prompt[begin:cut]


@runtime_checkable
class Drafter(Protocol):
    """Proposes what comes next. Holds its own state and mends it from what was committed."""

    @property
    def name(self) -> str:
        """The name it is registered under, and signs its tokens with."""
        ...

    def start(self, context: DraftContext) -> None:
        """A new generation begins; the output is empty."""
        ...

    def propose(self, limit: int, after: tuple[int, ...] = ()) -> Draft:
        """At most `limit` tokens that would follow the output and these uncommitted tokens.

        May be empty, never fails, changes nothing that a later propose can see.
        """
        ...

    def commit(self, verdict: Verdict) -> None:
        """`verdict.tokens` were appended to the output. Tokens of `verdict.draft` that bear this
        drafter's name, up to and including the first rejected one, teach it its survival."""
        ...


class SyntaxPlace(Protocol):
    """Where in the code a token would stand, by the text before it."""

    @property
    def kind(self) -> str:
        """The innermost construct that is open."""
        ...

    @property
    def depth(self) -> int:
        """Definitions, control blocks and brackets around it."""
        ...

    @property
    def definition(self) -> str:
        """Name of the innermost definition; empty outside of all."""
        ...

    @property
    def token_class(self) -> str:
        """What the character before it belongs to."""
        ...

    @property
    def region(self) -> str:
        """What sort of code it is in."""
        ...


@runtime_checkable
class SyntaxView(Protocol):
    """The syntax of the output so far, which somebody else keeps up to date."""

    def place(self, after: tuple[int, ...] = ()) -> SyntaxPlace | None:
        """Where what follows the output and these uncommitted tokens would stand; None where
        that is not known. Changes nothing."""
        ...


@runtime_checkable
class Policy(Protocol):
    """Decides which drafter drafts how much next."""

    def start(self, context: DraftContext) -> None:
        """A new generation begins; the output is empty."""
        ...

    def choose(self, drafters: Tokens[Drafter], room: int) -> Draft:
        """The next draft, of at most `room` tokens; may be empty."""
        ...

    def commit(self, step: Step) -> None:
        """Learn from a finished step: acceptance and time."""
        ...
