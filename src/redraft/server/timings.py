"""The counts and times of a run as llama.cpp's server tells them. It does not know dialects."""

from __future__ import annotations

from redraft.server.generation import Outcome


def prompt_tokens(outcome: Outcome) -> int:
    """Tokens of the prompt."""
    return outcome.result.statistics.prompt_tokens if outcome.result is not None else 0


def reused_tokens(outcome: Outcome) -> int:
    """Tokens of the prompt that were in the KV cache."""
    return outcome.result.statistics.reused_tokens if outcome.result is not None else 0


def cached_tokens(outcome: Outcome) -> int:
    """Tokens in the KV cache when the run has ended: the newest is not evaluated yet."""
    return reused_tokens(outcome) + outcome.evaluated + max(0, len(outcome.tokens) - 1)


def timings(outcome: Outcome) -> dict[str, object]:
    """Tokens and milliseconds of prompt and output."""
    count = outcome.result.statistics if outcome.result is not None else None
    prompt_ms = 1000 * count.prefill_seconds if count is not None else 0.0
    predicted_ms = 1000 * count.decode_seconds if count is not None else 0.0
    reused, predicted = reused_tokens(outcome), len(outcome.tokens)
    evaluated = outcome.evaluated
    return {
        "cache_n": reused,
        "prompt_n": evaluated,
        "prompt_ms": prompt_ms,
        "prompt_per_token_ms": _share(prompt_ms, evaluated),
        "prompt_per_second": _share(1000 * evaluated, prompt_ms),
        "predicted_n": predicted,
        "predicted_ms": predicted_ms,
        "predicted_per_token_ms": _share(predicted_ms, predicted),
        "predicted_per_second": _share(1000 * predicted, predicted_ms),
        "draft_n": count.proposed if count is not None else 0,
        "draft_n_accepted": count.accepted if count is not None else 0,
    }


def _share(whole: float, parts: float) -> float:
    return whole / parts if parts > 0 else 0.0
