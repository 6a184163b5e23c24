"""Prompts in the model's own form: chat templates from the weights file, and fill-in-the-middle.

A chat template is a Jinja program written by whoever made the file, so it runs in a sandbox; and
what a user wrote goes around it, so that a `<|im_end|>` in a source file stays plain text. This
module knows a tokenizer by its protocol only, and no prompt wording.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from redraft.errors import ModelUnsupported
from redraft.models.catalogue import shown
from redraft.models.metadata import Metadata
from redraft.protocols import Tokenizer

Role = Literal["system", "user", "assistant"]
_ROOM_FOR_TEMPLATE = 1 << 20
"""Characters that a template may add to what it is given."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a prompt."""

    text: str
    special: bool
    """Whether the text is a marker of the template, to be encoded as its control token. All
    else, the user's text above all, is plain whatever it looks like."""


def render_chat(
    metadata: Metadata, messages: Sequence[Message], answer: bool = True
) -> list[Segment]:
    """The conversation as the model's chat template has it, the turn of the assistant opened if
    `answer`. The segments' texts joined are what the template gives; no two plain ones adjoin.

    Each content goes through the template as a placeholder with the content's own white space
    around, so a template that trims it does so. Raises ModelUnsupported where the file has no
    chat template, or one that fails, rejects the messages or changes what they say.
    """
    # jinja2 is slow to load, and whoever only completes does not need it.
    from redraft.models.sandbox import TemplateFailed, TemplateRefused, run_template

    if metadata.chat_template is None:
        raise ModelUnsupported(
            f"model file {shown(metadata.path)} has no chat template, so it cannot follow"
            " instructions; use 'redraft complete', or an instruct model such as"
            " qwen2.5-coder-1.5b"
        )
    placeholders = _placeholders(messages)
    try:
        variables, room = _variables(metadata, messages, placeholders)
        variables["add_generation_prompt"] = answer
        text = run_template(metadata.chat_template, variables, room)
    except TemplateRefused as refusal:
        merged = _without_system(messages)
        if merged is None:
            raise _unusable(metadata, str(refusal)) from None
        return render_chat(metadata, merged, answer)
    except TemplateFailed as failure:
        raise _unusable(metadata, str(failure)) from None
    return _segments(metadata, text, dict(zip(placeholders, messages, strict=True)))


def encode_segments(tokenizer: Tokenizer, segments: Sequence[Segment]) -> list[int]:
    """Token ids of a rendered prompt; only the markers can become control tokens."""
    tokens: list[int] = []
    for segment in segments:
        tokens += tokenizer.encode(segment.text, special=segment.special)
    return tokens


def fill_in_middle(
    metadata: Metadata,
    prefix: Sequence[int],
    suffix: Sequence[int],
    order: Literal["psm", "spm"] = "psm",
    context: Sequence[int] = (),
) -> list[int]:
    """The prompt that asks for what stands between `prefix` and `suffix`, all as token ids.

    `psm` puts the prefix first, as nearly all models were trained; `spm` the suffix. `context`
    stands before both, such as other files behind `metadata.fim.file_separator`. Raises
    ModelUnsupported where the vocabulary has no such markers.
    """
    fim = metadata.fim
    if fim.prefix is None or fim.suffix is None or fim.middle is None:
        parts = {"prefix": fim.prefix, "suffix": fim.suffix, "middle": fim.middle}
        missing = ", ".join(part for part, token in parts.items() if token is None)
        raise ModelUnsupported(
            f"model file {shown(metadata.path)} has no fill-in-the-middle tokens ({missing});"
            " use 'redraft generate' or 'redraft edit', or a code model such as"
            " qwen2.5-coder-1.5b"
        )
    begin = [metadata.bos] if metadata.add_bos and metadata.bos is not None else []
    first, second = [fim.prefix, *prefix], [fim.suffix, *suffix]
    if order == "spm":
        first, second = second, first
    return [*begin, *context, *first, *second, fim.middle]


def completion_ends(metadata: Metadata) -> frozenset[int]:
    """Tokens that end a completion: those that end an answer, and all fill-in-the-middle markers,
    which a model puts out when it goes on to another file or begins anew."""
    fim = metadata.fim
    markers = (fim.prefix, fim.suffix, fim.middle, fim.pad, fim.repository, fim.file_separator)
    return metadata.end_tokens | {token for token in markers if token is not None}


def _placeholders(messages: Sequence[Message]) -> list[str]:
    """A text for each message that occurs nowhere else: private-use characters around a number
    and a random key, so that no file can be written to contain one."""
    key = secrets.token_hex(8)
    return [f"\ue000{key}-{index}\ue001" for index in range(len(messages))]


def _variables(
    metadata: Metadata, messages: Sequence[Message], placeholders: Sequence[str]
) -> tuple[dict[str, object], int]:
    """What a template may use, and the characters that it may put out."""
    shaped = []
    room = _ROOM_FOR_TEMPLATE
    for message, placeholder in zip(messages, placeholders, strict=True):
        lead, core, trail = _parts(message.content)
        content = f"{lead}{placeholder}{trail}" if core else message.content
        shaped.append({"role": message.role, "content": content})
        room += 2 * len(content)
    variables: dict[str, object] = {
        "messages": shaped,
        "bos_token": metadata.bos_text,
        "eos_token": metadata.eos_text,
        "enable_thinking": False,  # a code edit wants the answer only
        "tools": None,
        "documents": None,
    }
    return variables, room


def _parts(content: str) -> tuple[str, str, str]:
    """Leading white space, the rest, trailing white space."""
    core = content.strip()
    if not core:
        return "", "", ""
    start = content.index(core)
    return content[:start], core, content[start + len(core) :]


def _segments(metadata: Metadata, text: str, messages: dict[str, Message]) -> list[Segment]:
    for placeholder, message in messages.items():
        count = text.count(placeholder)
        if count != 1 and _parts(message.content)[1]:
            fate = "leaves out" if count == 0 else f"repeats {count} times"
            raise _unusable(metadata, f"it {fate} the text of the {message.role} message")
    if metadata.add_bos and not text.startswith(metadata.bos_text):
        text = metadata.bos_text + text
    markers = _markers(metadata, text)
    pattern = "|".join(re.escape(part) for part in (*messages, *markers))
    pieces = re.split(f"({pattern})", text) if pattern else [text]
    segments: list[Segment] = []
    for piece in pieces:
        if piece in messages:
            _add(segments, Segment(_parts(messages[piece].content)[1], special=False))
        else:
            _add(segments, Segment(piece, special=piece in markers))
    return segments


def _markers(metadata: Metadata, text: str) -> list[str]:
    """The control tokens that the template put out, longest first as the tokenizer has it."""
    known = {*metadata.specials, metadata.bos_text, metadata.eos_text} - {""}
    return sorted((marker for marker in known if marker in text), key=len, reverse=True)


def _add(segments: list[Segment], segment: Segment) -> None:
    """Append; plain text is joined to plain text before it, since a tokenizer that is given the
    pieces one by one cuts otherwise than at the whole."""
    if not segment.text:
        return
    if segments and not segment.special and not segments[-1].special:
        segments[-1] = replace(segments[-1], text=segments[-1].text + segment.text)
    else:
        segments.append(segment)


def _without_system(messages: Sequence[Message]) -> list[Message] | None:
    """The same said without a system message, for templates that reject one; None if that
    cannot be done."""
    if len(messages) < 2 or messages[0].role != "system" or messages[1].role != "user":
        return None
    joined = Message("user", f"{messages[0].content}\n\n{messages[1].content}")
    return [joined, *messages[2:]]


def _unusable(metadata: Metadata, why: str) -> ModelUnsupported:
    return ModelUnsupported(
        f"the chat template of {shown(metadata.path)} cannot be used: {why}; choose another model"
    )
