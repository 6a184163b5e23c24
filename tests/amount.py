"""How much tests with random input try: a quarter by default, all of it in `make test`, and in
`make fuzz` as much as fits in REDRAFT_FUZZ_SECONDS a test."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from time import monotonic
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

SECONDS = float(os.environ.get("REDRAFT_FUZZ_SECONDS", "0"))
"""Read here, once: tests of settings remove such variables."""
THOROUGH_EXAMPLES = 100
"""Of a test that names no number, in `make test` and on build machines."""
FAST_EXAMPLES = 25
ROUND = 200
"""Examples between two looks at the clock."""

thorough = pytest.mark.thorough
"""For what is tried by default too, with fewer examples."""


def examples(count: int) -> int:
    """So many examples in `make test`, and a quarter of them by default."""
    return max(1, count * settings.default.max_examples // THOROUGH_EXAMPLES)


def fuzzing(count: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Goes above `given`: so many examples, or new ones for REDRAFT_FUZZ_SECONDS. Fixtures are not
    set up anew for each example, so what one writes the next must overwrite."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        limited = settings(
            max_examples=ROUND if SECONDS else examples(count),
            suppress_health_check=[HealthCheck.function_scoped_fixture],
        )(test)
        return pytest.mark.fuzz(_for_a_while(limited) if SECONDS else limited)

    return decorate


def _for_a_while(test: Callable[..., None]) -> Callable[..., None]:
    @wraps(test)
    def rounds(*given: Any, **named: Any) -> None:  # pytest passes fixtures by name
        begun, count = monotonic(), 0
        while monotonic() < begun + SECONDS:
            test(*given, **named)
            count += ROUND
        print(f"{count:,} examples in {monotonic() - begun:.0f} s")

    return rounds
