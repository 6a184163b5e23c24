"""What is said of a finished run: one line for a human, an object for a program."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from redraft.terminal.screen import say

if TYPE_CHECKING:
    from redraft.config import Settings
    from redraft.session import Result

INCOMPLETE = {
    "length": "the output reached the limit of tokens; raise --max-tokens",
    "context": "the output no longer fits the context; raise --context or give a smaller file",
    "loop": "the model began to repeat itself; word the instruction otherwise",
    "time": "the time was over",
    "indent": "a line left the indentation",
    "cancelled": "it was interrupted",
}
"""Why an output is not whole, and what to do, by finish reason."""


def say_summary(result: Result, settings: Settings, name: str = "") -> None:
    """Say what a run brought, of `name` where there are several, and that it is not recorded where
    it should have been."""
    say(f"{name}: {_summary(result)}" if name else _summary(result))
    if settings.record and result.run_id is None:
        folder = settings.runs_folder
        hint = "make room there or make it writable, or use --no-record"
        say(f"this run could not be recorded in {folder}; {hint}")


def _summary(result: Result) -> str:
    """Tokens, time, speed, acceptance and exactness, on one line."""
    count = result.statistics
    seconds = count.decode_seconds
    noun = "token" if count.output_tokens == 1 else "tokens"
    parts = [f"{count.output_tokens} {noun} in {seconds:.1f} s"]
    if seconds > 0 and count.output_tokens:
        parts[0] += f" ({count.output_tokens / seconds:.1f}/s)"
    parts[0] += f" after {count.prefill_seconds:.1f} s for the prompt"
    if seconds > 0 and count.output_tokens:
        parts.append(f"about {result.plain_seconds / seconds:.1f}x plain decoding")
    if count.tokens_per_forward is not None:
        parts.append(f"{count.tokens_per_forward:.1f} tokens per forward")
    if count.accepted_of_proposed is not None:
        parts.append(f"{count.accepted_of_proposed:.0%} of drafts accepted")
    parts.append("exact" if result.exact else f"not exact ({result.exact_because})")
    return ", ".join(parts)


def as_json(result: Result) -> dict[str, object]:
    """The fields every command's JSON object has."""
    return {
        "kind": result.kind,
        "text": result.text,
        "finish_reason": result.finish_reason,
        "complete": result.finish_reason == "stop",
        "exact": result.exact,
        "exact_because": result.exact_because,
        "statistics": asdict(result.statistics),
        "plain_seconds": result.plain_seconds,
        "run_id": result.run_id,
    }
