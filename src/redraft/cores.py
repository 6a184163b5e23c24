"""How many threads are worth starting: physical cores that this process may use.

Looks at the processor affinity, at which logical processors share a core, and at the limits of
the control group (containers). It does not know engines.
"""

from __future__ import annotations

import os
from pathlib import Path

_PROCESSORS = Path("/sys/devices/system/cpu")
_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def available_cores() -> int:
    """Physical cores within the affinity and the control group's limit; at least 1.

    A limit of 2.5 processors counts as 2: threads that wait for each other at barriers lose more
    by being paused than a further half core brings.
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len({_siblings(processor) for processor in os.sched_getaffinity(0)})
    else:  # not Linux
        cores = os.cpu_count() or 1
    limit = _group_limit()
    return max(1, cores if limit is None else min(cores, int(limit)))


def _siblings(processor: int) -> str:
    """A name for the core that a logical processor is on; its own number when unknown."""
    topology = _PROCESSORS / f"cpu{processor}" / "topology" / "thread_siblings_list"
    return _content(topology) or str(processor)


def _group_limit() -> float | None:
    """Processors that the control groups around this process allow, if they limit them."""
    limits = []
    for line in _content(_OWN_GROUPS).splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers and "cpu" not in controllers.split(","):
            continue
        root = _GROUPS / "cpu" if controllers else _GROUPS
        own = root / path.lstrip("/")
        for group in (own, *own.parents):
            if not group.is_relative_to(root):
                break
            limits.append(_limit(group))
    known = [limit for limit in limits if limit is not None]
    return min(known, default=None)


def _limit(group: Path) -> float | None:
    """Processors one control group allows: `cpu.max` (version 2) or the quota (version 1)."""
    quota, period = [*_content(group / "cpu.max").split(), "", ""][:2]
    if not quota:
        quota = _content(group / "cpu.cfs_quota_us")
        period = _content(group / "cpu.cfs_period_us")
    if quota.isdecimal() and period.isdecimal() and int(period):
        return int(quota) / int(period)
    return None  # "max", "-1" or no such file: not limited


def _content(path: Path) -> str:
    """The file's text, or nothing where it cannot be read (another system, another version)."""
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:
        return ""
