"""What goes into a prompt: the wording around a file, an instruction, a place in a file.

It does not know engines or settings; the model's own form comes from `redraft.models.templates`.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    return _fenced_answer(metadata, tokenizer, (_EDIT, question), fence, language, source)


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
    metadata: Metadata, tokenizer: Tokenizer, prefix: str, suffix: str, language: str = ""
) -> Prompt:
    """Asks for what stands between prefix and suffix, by the model's fill-in-the-middle tokens."""
    before, after = tokenizer.encode(prefix), tokenizer.encode(suffix)
    tokens = fill_in_middle(metadata, before, after)
    return Prompt(DraftContext(tuple(tokens), suffix=tuple(after), language=language), ())


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
