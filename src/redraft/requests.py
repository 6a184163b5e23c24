"""What a session can be asked for: requests, and options that go with any of them.

Frozen values that can cross a process border. It does not know how they are carried out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from redraft.context import OtherFile
from redraft.models import Message

Kind = Literal["edit", "complete", "generate", "chat", "text"]


@dataclass(frozen=True, slots=True)
class EditRequest:
    """Change a whole file as instructed."""

    text: str
    instruction: str
    name: str = "file"
    language: str = ""


@dataclass(frozen=True, slots=True)
class CompleteRequest:
    """Fill in what stands between prefix and suffix."""

    prefix: str
    suffix: str = ""
    language: str = ""
    single_line: bool = False
    others: tuple[OtherFile, ...] = ()
    """Other files that the model is to know, the least important first."""


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """Write code by instruction. `source` is code the answer will mostly repeat, if any."""

    instruction: str
    language: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """Go on with a conversation. `prediction` is text the answer will mostly repeat, if any."""

    messages: tuple[Message, ...]
    prediction: str = ""


@dataclass(frozen=True, slots=True)
class TextRequest:
    """Go on with a prompt: texts, in which markers such as `<|im_end|>` are control tokens, and
    token ids, in any order. `prediction` is text the answer will mostly repeat, if any."""

    prompt: tuple[str | int, ...]
    prediction: str = ""


Request: TypeAlias = EditRequest | CompleteRequest | GenerateRequest | ChatRequest | TextRequest


@dataclass(frozen=True, slots=True)
class Options:
    """What one request may ask for beside its kind. None: as the session's settings say."""

    max_tokens: int | None = None
    """Most tokens of the output; 0 only brings the prompt into the KV cache."""
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    seed: int | None = None
    index: int = 0
    """Tells the choices of one prompt apart: each draws its own random numbers."""
    top: int = 0
    """Alternatives that each Choice carries."""
    stop: tuple[str, ...] = ()
    """Strings that end the output, beside those that belong to the request's kind."""
    indent: int = 0
    """Ends the output at the first line with fewer spaces and tabs before its text; 0: nowhere."""
    schema: str | None = None
    """A JSON schema, as JSON: only text that it allows can come out."""
    prompt_seconds: float | None = None
    """Time limit of prompt evaluation. The KV cache keeps what was evaluated."""
    decode_seconds: float | None = None
    """Time limit from the first output token, which counts once a line of output is whole."""


AS_SET = Options()
"""Everything as the settings say."""
