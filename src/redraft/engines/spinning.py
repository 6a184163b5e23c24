"""Keeps the OpenMP runtime from spinning long at barriers. It knows no library."""

from __future__ import annotations

import os

_SPINS = "3000"


def sleep_at_barriers() -> None:
    """Call before a library that uses OpenMP is loaded: the runtime reads it once, at loading.

    libgomp spins at every barrier by default. Where another program wants the same cores, a
    thread then burns its time slice waiting for one that cannot run: measured with two busy
    neighbours on two cores, a one-token forward of the 0.5B weights took 3.0 s spinning and
    0.025 s sleeping at once. 3,000 turns (some microseconds) keep an idle machine as fast as
    spinning without end, for one row and for many. A value that the user set is kept.
    """
    os.environ.setdefault("GOMP_SPINCOUNT", _SPINS)
