"""What a test does when a program or file from outside is missing."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

ON_CI = os.environ.get("CI", "").lower() in ("1", "true")
"""On a build machine everything has to be there."""


def unavailable(reason: str) -> NoReturn:
    """End the test: skipped and listed at the end of the run, or failed on a build machine."""
    if ON_CI:
        pytest.fail(f"not available, and required on a build machine: {reason}", pytrace=False)
    pytest.skip(reason)
