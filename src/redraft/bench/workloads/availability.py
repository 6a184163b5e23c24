"""The errors that a bench answers by skipping. Knows nothing else."""

from __future__ import annotations

from redraft.errors import InputError


class WorkloadMissing(InputError):
    """The data of a workload cannot be had here; the message says why. A bench skips it."""


class FileNotNamed(WorkloadMissing):
    """The data are in a file, and nobody said in which."""
