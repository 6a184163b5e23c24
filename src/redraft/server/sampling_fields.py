"""Reads the fields that all dialects share: sampling, stops, and what is not supported.

What a request does not say is as the server's settings say, so it is greedy by default.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping

from redraft.config import Settings
from redraft.requests import Options
from redraft.server.fields import Fields, invalid

MOST_TOKENS = 1 << 40
"""More than any context holds; the session cuts it to what is left."""
RANDOM_SEEDS = (-1, 0xFFFFFFFF)
"""Seeds that ask for another one each time."""

NEUTRAL: Mapping[str, float] = {
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "repeat_penalty": 1,
    "mirostat": 0,
    "dry_multiplier": 0,
    "xtc_probability": 0,
    "dynatemp_range": 0,
    "typical_p": 1,
}
"""Fields that change which tokens come out and that redraft lacks, with the value that does not."""


def refuse_unsupported(fields: Fields) -> None:
    """Raise Refusal where a field asks for something that would be ignored in silence."""
    for name, neutral in NEUTRAL.items():
        value = fields.number(name, float("-inf"))
        if value is not None and value != neutral:
            raise invalid(f"Field '{name}' is not supported; leave it out or send {neutral}")
    for name in ("logit_bias", "grammar", "lora"):
        if fields.raw(name):
            raise invalid(f"Field '{name}' is not supported; leave it out")
    if fields.flag("ignore_eos"):
        raise invalid("Field 'ignore_eos' is not supported; leave it out or send false")


def max_tokens(fields: Fields, *names: str) -> int | None:
    """The most tokens of an output by the first of these fields that is there; None where it
    is -1 or no field is."""
    for name in names:
        if fields.has(name):
            wanted = fields.integer(name, -1, -2, MOST_TOKENS)
            return None if wanted < 0 else wanted
    return None


def sampling(fields: Fields, settings: Settings) -> Options:
    """Options with the sampling that the fields ask for."""
    temperature = fields.number("temperature", float("-inf"), 100)
    if temperature is not None:
        temperature = max(0.0, temperature)  # llama.cpp takes what is below 0 for greedy too
    applies = _applying(fields)
    top_p = fields.number("top_p", 0, 1) if applies("top_p") else None
    has_top_k = applies("top_k") and fields.has("top_k")
    greedy = not (settings.temperature if temperature is None else temperature)
    return Options(
        temperature=temperature,
        top_p=None if top_p is None else max(top_p, 1e-9),
        top_k=max(0, fields.integer("top_k", 0, -(1 << 31), 1 << 31)) if has_top_k else None,
        min_p=fields.number("min_p", 0, 1) if applies("min_p") else None,
        seed=_seed(fields, settings, greedy),
        stop=fields.stops(),
    )


def _applying(fields: Fields) -> Callable[[str], bool]:
    """Tells of a truncation whether it applies: `samplers` may list those that do, by name or by
    letter as llama.cpp has them."""
    given = fields.raw("samplers")
    listed = list(given) if isinstance(given, str) else fields.items("samplers")
    letters = {"top_k": "k", "top_p": "p", "min_p": "m"}
    return lambda name: not listed or name in listed or letters[name] in listed


def _seed(fields: Fields, settings: Settings, greedy: bool) -> int | None:
    """A seed, drawn where sampling is asked for without one. Greedy decoding needs none."""
    given = fields.integer("seed", -1, -1, 2**64 - 1)
    if given not in RANDOM_SEEDS:
        return given
    if greedy:
        return None
    return settings.seed if settings.seed else secrets.randbits(63)
