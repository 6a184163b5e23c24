"""Cores: affinity, shared cores and the limits of control groups."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from redraft import cores


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eight logical processors on four cores, no limit."""
    for number in range(8):
        topology = tmp_path / "cpu" / f"cpu{number}" / "topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(f"{number % 4},{number % 4 + 4}\n")
    (tmp_path / "group" / "slice" / "unit").mkdir(parents=True)
    (tmp_path / "own").write_text("0::/slice/unit\n")
    monkeypatch.setattr(cores, "_PROCESSORS", tmp_path / "cpu")
    monkeypatch.setattr(cores, "_GROUPS", tmp_path / "group")
    monkeypatch.setattr(cores, "_OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    return tmp_path


def test_siblings_count_once(machine: Path) -> None:
    assert cores.available_cores() == 4


def test_affinity_counts(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 4, 5})
    assert cores.available_cores() == 2


def test_without_topology_every_processor_is_a_core(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cores, "_PROCESSORS", machine / "none")
    assert cores.available_cores() == 8


@pytest.mark.parametrize(
    ("group", "limit", "expected"),
    [
        ("slice/unit", "250000 100000", 2),
        ("slice", "100000 100000", 1),
        ("", "50000 100000", 1),
        ("slice/unit", "max 100000", 4),
        ("slice/unit", "900000 100000", 4),
        ("slice/unit", "broken", 4),
    ],
)
def test_a_group_or_one_around_it_limits(
    machine: Path, group: str, limit: str, expected: int
) -> None:
    (machine / "group" / group / "cpu.max").write_text(limit)
    assert cores.available_cores() == expected


def test_version_1_groups_limit_too(machine: Path) -> None:
    (machine / "own").write_text("4:cpu,cpuacct:/box\n3:memory:/box\n")
    box = machine / "group" / "cpu" / "box"
    box.mkdir(parents=True)
    (box / "cpu.cfs_quota_us").write_text("300000")
    (box / "cpu.cfs_period_us").write_text("100000")
    assert cores.available_cores() == 3
    (box / "cpu.cfs_quota_us").write_text("-1")
    assert cores.available_cores() == 4


def test_this_machine_has_at_least_one() -> None:
    assert 1 <= cores.available_cores() <= (os.cpu_count() or 1)
