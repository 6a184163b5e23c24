"""What a test does when a program or file from outside is missing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

ON_CI = os.environ.get("CI", "").lower() in ("1", "true")
"""On a build machine everything has to be there."""


def unavailable(reason: str) -> NoReturn:
    """End the test: skipped and listed at the end of the run, or failed on a build machine."""
    if ON_CI:
        pytest.fail(f"not available, and required on a build machine: {reason}", pytrace=False)
    pytest.skip(reason)


@contextmanager
def small_disk_at(folder: Path, kilobytes: int) -> Iterator[Path]:
    """A new folder that is a disk of its own, of this size. Skips where it cannot be mounted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    mounted = os.geteuid() == 0 and subprocess.run(command, check=False).returncode == 0
    if not mounted:
        pytest.skip("mounting a small tmpfs needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
