"""What crosses the pipe between the HTTP process and the engine's: requests, steps' text, results.

Never logits, which are 0.6 MB a row. A message is a pickle behind its length; both ends are ours,
and the pipe is a pair of sockets that nobody else can reach. It does not know who sends what when.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from redraft.config import Settings
from redraft.models import Message
from redraft.requests import Options, Request
from redraft.results import Result

_LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Open:
    """Open the weights; the first message to the engine's process."""

    settings: Settings


@dataclass(frozen=True, slots=True)
class Begin:
    """Start a run. An urgent one goes before others that are under way, between two steps."""

    number: int
    request: Request
    options: Options
    urgent: bool


@dataclass(frozen=True, slots=True)
class Cancel:
    """End a run soon, in whatever phase it is; it is answered by Finished or Failed as any."""

    number: int


@dataclass(frozen=True, slots=True)
class Tokenize:
    """Ask for the tokens of a text, as a tuple of `Piece`."""

    number: int
    text: str
    special: bool
    begin: bool
    """Whether the beginning-of-text token is wanted, where the model has one."""


@dataclass(frozen=True, slots=True)
class Detokenize:
    """Ask for the text of tokens."""

    number: int
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ApplyTemplate:
    """Ask for a conversation in the model's own form, as a text."""

    number: int
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """Opening the weights has come so far."""

    text: str
    share: float | None


@dataclass(frozen=True, slots=True)
class Model:
    """What clients may know of the loaded weights."""

    name: str
    path: str
    engine: str
    architecture: str
    quantization: str
    size: int
    context_length: int
    trained_length: int
    vocabulary_size: int
    chat_template: str
    bos_text: str
    eos_text: str
    missing_markers: tuple[str, ...]
    """Fill-in-the-middle tokens that the vocabulary lacks, out of prefix, suffix and middle."""
    slots: int


@dataclass(frozen=True, slots=True)
class Ready:
    """The weights are open."""

    model: Model


@dataclass(frozen=True, slots=True)
class Refused:
    """The weights cannot be opened."""

    message: str
    exit_code: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A token, its bytes, and the logarithm of its probability."""

    id: int
    bytes: bytes
    logprob: float = 0.0


@dataclass(frozen=True, slots=True)
class Chosen:
    """A token of the output, and the most probable ones in its place if they were asked for."""

    piece: Piece
    top: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class Advanced:
    """A piece of the prompt was evaluated, or a step brought tokens."""

    number: int
    slot: int
    text: str
    """The output that became sure."""
    chosen: tuple[Chosen, ...]
    drafted: int
    """Proposed tokens of the step, fillers aside."""
    accepted: int
    prompt_done: int
    """Tokens of the prompt that are evaluated."""
    prompt_total: int


@dataclass(frozen=True, slots=True)
class Finished:
    """A run has ended by itself or by Cancel."""

    number: int
    slot: int
    result: Result
    predicted: int = 0
    """Tokens of the prediction that came with the request, if one did."""
    came: int = 0
    """Those of them that the output has."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A run or a question could not be done. `kind` is the exception's class name."""

    number: int
    kind: str
    message: str
    prompt_tokens: int = 0
    context_length: int = 0
    """Both are there where the one exceeds the other."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question asked for."""

    number: int
    value: Any


ToEngine: TypeAlias = Open | Begin | Cancel | Tokenize | Detokenize | ApplyTemplate
FromEngine: TypeAlias = Stage | Ready | Refused | Advanced | Finished | Failed | Answer


def packed(message: ToEngine | FromEngine) -> bytes:
    """The message as it goes through the pipe."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data


def read_message(read: Callable[[int], bytes]) -> Any:
    """The next message. `read(n)` gives n bytes, or fewer at the end; then raises EOFError."""
    (length,) = _LENGTH.unpack(_exactly(read, _LENGTH.size))
    return pickle.loads(_exactly(read, length))


HEADER = _LENGTH.size
"""Bytes before a message."""


def length_of(header: bytes) -> int:
    """Bytes of the message behind this header."""
    return int(_LENGTH.unpack(header)[0])


def unpacked(data: bytes) -> Any:
    """The message in these bytes, without its header."""
    return pickle.loads(data)


def _exactly(read: Callable[[int], bytes], count: int) -> bytes:
    data = read(count)
    if len(data) < count:
        raise EOFError
    return data
