"""What goes into a prompt: the wording around a file, an instruction, a place in a file.

It does not know engines or settings; the model's own form comes from `redraft.models.templates`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from redraft.ends import AT_START
from redraft.errors import BadToken
from redraft.models import Message, Metadata, encode_segments, fill_in_middle, render_chat
from redraft.protocols import DraftContext, Tokenizer

_EDIT = (
    "You are a careful programmer. Reply with the complete edited file in one fenced code block"
    " and nothing else."
)
_GENERATE = (
    "You are a careful programmer. Reply with the complete code in one fenced code block and"
    " nothing else."
)


_THIS_FILE = "filename\n"
"""Stands for the name of the file at hand behind other files, as llama.cpp's server has it."""
_MARKERS = 16
"""Tokens of a fill-in-the-middle prompt beside what is in the files, at most."""


@dataclass(frozen=True, slots=True)
class OtherFile:
    """A file, or a part of one, beside the one at hand."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt and how its answer ends."""

    context: DraftContext
    stop: tuple[str, ...]
    """Strings that end the answer."""


def edit_prompt(
    metadata: Metadata, tokenizer: Tokenizer, text: str, instruction: str, name: str, language: str
) -> Prompt:
    """Asks for the whole file again, changed as instructed.

    The file stands before the instruction: small models then carry out more of the bench's edits,
    and a second instruction for the same file finds it in the KV cache. The answer is opened with
    the code fence, so it starts with the file's first token, and ends with the closing fence,
    which is longer than any run of backquotes in the file.
    """
    fence = _fence(text + instruction)
    question = (
        f"The file `{name}`:\n\n{fence}{language}\n{_with_newline(text)}{fence}\n\n"
        f"Edit it as follows: {instruction.strip()}"
    )
    # the answer ends as the fenced file does, so the closing fence is part of what to copy
    source = _with_newline(text) + fence
    prompt = _fenced_answer(metadata, tokenizer, (_EDIT, question), fence, language, source)
    # where the file is empty no line comes before the closing fence, which is then no content
    return prompt if text else replace(prompt, stop=(*prompt.stop, AT_START + fence))


def generate_prompt(
    metadata: Metadata, tokenizer: Tokenizer, instruction: str, language: str, source: str = ""
) -> Prompt:
    """Asks for code by instruction; `source` is code that the answer is expected to begin with."""
    fence = _fence(instruction + source)
    wanted = f" Use {language}." if language and not source else ""
    question = instruction.strip() + wanted
    if source:
        question += f"\n\n{fence}{language}\n{_with_newline(source)}{fence}"
    messages = (_GENERATE, question)
    return _fenced_answer(metadata, tokenizer, messages, fence, language, _with_newline(source))


def complete_prompt(
    metadata: Metadata,
    tokenizer: Tokenizer,
    prefix: str,
    suffix: str,
    language: str = "",
    others: Sequence[OtherFile] = (),
    room: int = 0,
) -> Prompt:
    """Asks for what stands between prefix and suffix, by the model's fill-in-the-middle tokens.

    Of the other files as many, from the last, stand before them as fit a prompt of `room` tokens;
    none where the vocabulary has no token to part files by.
    """
    before, after = tokenizer.encode(prefix), tokenizer.encode(suffix)
    separator = metadata.fim.file_separator
    context: list[int] = []
    if separator is not None:
        left = room - len(before) - len(after) - _MARKERS
        for other in reversed(dict.fromkeys(others)):
            name = f"{other.name}\n" if other.name else ""
            tokens = [separator, *tokenizer.encode(f"{name}{_with_newline(other.text)}")]
            if len(context) + len(tokens) > left:
                break
            context = tokens + context
        if context:
            context += [separator, *tokenizer.encode(_THIS_FILE)]
    tokens = fill_in_middle(metadata, before, after, context=context)
    return Prompt(DraftContext(tuple(tokens), suffix=tuple(after), language=language), ())


def chat_prompt(
    metadata: Metadata, tokenizer: Tokenizer, messages: Sequence[Message], prediction: str = ""
) -> Prompt:
    """A conversation, with the assistant's turn opened."""
    tokens = encode_segments(tokenizer, render_chat(metadata, messages))
    return Prompt(DraftContext(tuple(tokens), tuple(tokenizer.encode(prediction))), ())


def text_prompt(
    metadata: Metadata, tokenizer: Tokenizer, parts: Sequence[str | int], prediction: str = ""
) -> Prompt:
    """A raw prompt of texts and token ids; markers in the texts are control tokens. Raises
    BadToken for an id outside the vocabulary, and for no tokens at all."""
    tokens = [metadata.bos] if metadata.add_bos and metadata.bos is not None else []
    for part in parts:
        tokens += [part] if isinstance(part, int) else tokenizer.encode(part, special=True)
    wrong = [token for token in tokens if not 0 <= token < tokenizer.vocab_size]
    if wrong:
        raise BadToken(f"token {wrong[0]} is outside 0 … {tokenizer.vocab_size - 1}")
    if not tokens:
        raise BadToken("the prompt is empty; it needs at least one token")
    return Prompt(DraftContext(tuple(tokens), tuple(tokenizer.encode(prediction))), ())


def _fenced_answer(
    metadata: Metadata,
    tokenizer: Tokenizer,
    messages: tuple[str, str],
    fence: str,
    language: str,
    source: str,
) -> Prompt:
    system, user = messages
    segments = render_chat(metadata, [Message("system", system), Message("user", user)])
    tokens = encode_segments(tokenizer, segments) + tokenizer.encode(f"{fence}{language}\n")
    context = DraftContext(tuple(tokens), tuple(tokenizer.encode(source)), language=language)
    return Prompt(context, stop=(f"\n{fence}",))


def _fence(text: str) -> str:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return "`" * max(3, longest + 1)


def _with_newline(text: str) -> str:
    return text if text.endswith("\n") or not text else text + "\n"
