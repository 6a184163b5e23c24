"""What a set of rows amounts to: the figures at the top of a bench's JSON.

Pure arithmetic on rows; every name here is a key of the JSON.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from statistics import median
from typing import Any

from redraft.bench.rows import TaskRow, Timings

LEAST_OVER_SAME_NUMERICS = 0.97
"""A task below this, against plain decoding in the same numerics, is a loss."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """A row that takes part in the speed figures, with its times at hand."""

    row: TaskRow
    timings: Timings


def summarise(rows: Sequence[TaskRow]) -> dict[str, Any]:
    """All figures over `rows`. Those of speed are None when no row counts."""
    counted = [_Counted(row, row.timings) for row in rows if row.counts and row.timings]
    return {
        "tasks": len(counted),
        **_equality(rows),
        **_speed(counted),
        **_acceptance([one.row for one in counted]),
        **_excluded(rows),
        **_unchanged([one.row for one in counted]),
        "by_kind": _by_kind(counted),
    }


def _equality(rows: Sequence[TaskRow]) -> dict[str, Any]:
    compared = [row for row in rows if row.equal is not None]
    return {
        "equal": all(row.equal for row in compared) if compared else None,
        "compared": len(compared),
        "unequal": [
            {"task": row.name, "differs_at": row.differs_at} for row in compared if not row.equal
        ],
        "exact": all(row.exact for row in compared) if compared else None,
    }


def _speed(counted: Sequence[_Counted]) -> dict[str, Any]:
    ratios = _ratios(counted)
    worst = min(counted, key=lambda one: one.timings.speedup, default=None)
    slow = min(counted, key=lambda one: one.timings.over_same_numerics, default=None)
    return {
        **ratios,
        "worst": worst and worst.timings.speedup,
        "worst_task": worst and worst.row.name,
        "worst_over_same_numerics": slow and slow.timings.over_same_numerics,
        "worst_over_same_numerics_task": slow and slow.row.name,
        "losses": [_loss(one) for one in counted if _is_loss(one.timings)],
        "time_outside_engine": _outside(counted),
        "control": _control(counted),
        "spread": median(one.timings.spread for one in counted) if counted else None,
    }


def _ratios(counted: Sequence[_Counted]) -> dict[str, Any]:
    """Sums of medians, plain ÷ drafted."""
    drafted = sum(median(one.timings.drafted) for one in counted)
    plain = sum(median(one.timings.plain) for one in counted)
    same = sum(median(one.timings.same_numerics) for one in counted)
    drafted_total = drafted + sum(one.timings.drafted_prompt for one in counted)
    plain_total = plain + sum(one.timings.plain_prompt for one in counted)
    tokens = sum(one.row.output_tokens for one in counted)
    return {
        "speedup": _share(plain, drafted),
        "speedup_total": _share(plain_total, drafted_total),
        "speedup_over_same_numerics": _share(same, drafted),
        "tokens_per_second": _share(tokens, drafted),
        "tokens_per_second_plain": _share(tokens, plain),
        "seconds": drafted,
        "seconds_plain": plain,
        "seconds_same_numerics": same,
    }


def _is_loss(timings: Timings) -> bool:
    return timings.speedup < 1.0 or timings.over_same_numerics < LEAST_OVER_SAME_NUMERICS


def _loss(one: _Counted) -> dict[str, Any]:
    return {
        "task": one.row.name,
        "speedup": one.timings.speedup,
        "over_same_numerics": one.timings.over_same_numerics,
        "output_tokens": one.row.output_tokens,
    }


def _outside(counted: Sequence[_Counted]) -> float | None:
    """Share of all drafted seconds that passed outside target forwards."""
    seconds = sum(sum(one.timings.drafted) for one in counted)
    engine = sum(sum(one.timings.drafted_engine) for one in counted)
    return _share(seconds - engine, seconds)


def _control(counted: Sequence[_Counted]) -> dict[str, float] | None:
    """The spread of control ÷ plain over all repeats: what no difference looks like here."""
    ratios = [ratio for one in counted for ratio in one.timings.control_ratios]
    if not ratios:
        return None
    return {"median": median(ratios), "lowest": min(ratios), "highest": max(ratios)}


def _acceptance(rows: Sequence[TaskRow]) -> dict[str, Any]:
    drafting = [row.drafting for row in rows if row.drafting is not None]
    proposed, accepted = (
        sum(one.proposed for one in drafting),
        sum(one.accepted for one in drafting),
    )
    tokens, forwards = sum(row.output_tokens for row in rows), sum(one.forwards for one in drafting)
    reached = _summed(one.reached for one in drafting)
    survived = _summed(one.survived for one in drafting)
    names: Counter[str] = Counter()
    good: Counter[str] = Counter()
    for one in drafting:
        for name, (count, right) in one.by_drafter.items():
            names[name] += count
            good[name] += right
    return {
        "output_tokens": tokens,
        "forwards": forwards,
        "tokens_per_forward": _share(tokens, forwards),
        "numerics_drift": _share(sum(row.drift for row in rows), tokens),
        "proposed": proposed,
        "accepted": accepted,
        "accepted_of_proposed": _share(accepted, proposed),
        "survival_by_position": [s / r for s, r in zip(survived, reached, strict=True)],
        "reached_by_position": reached,
        "by_drafter": {
            name: {"proposed": names[name], "accepted": good[name]} for name in sorted(names)
        },
    }


def _excluded(rows: Sequence[TaskRow]) -> dict[str, Any]:
    left_out = [row for row in rows if row.excluded is not None]
    return {
        "excluded": [
            {"task": row.name, "cause": row.excluded, "reason": row.reason} for row in left_out
        ],
        "excluded_by_cause": dict(Counter(row.excluded for row in left_out)),
    }


def _unchanged(rows: Sequence[TaskRow]) -> dict[str, Any]:
    shares = [row.unchanged_share for row in rows if row.unchanged_share is not None]
    return {
        "unchanged_share": sum(shares) / len(shares) if shares else None,
        "unchanged_below_60_percent": _share(sum(share < 0.6 for share in shares), len(shares)),
    }


def _by_kind(counted: Sequence[_Counted]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for kind in sorted({one.row.kind for one in counted}):
        inside = [one for one in counted if one.row.kind == kind]
        acceptance = _acceptance([one.row for one in inside])
        result[kind] = {
            "tasks": len(inside),
            "speedup": _ratios(inside)["speedup"],
            "speedup_total": _ratios(inside)["speedup_total"],
            "worst": min(one.timings.speedup for one in inside),
            "tokens_per_forward": acceptance["tokens_per_forward"],
            "accepted_of_proposed": acceptance["accepted_of_proposed"],
        }
    return result


def _summed(lists: Iterable[Sequence[int]]) -> list[int]:
    return [sum(column) for column in zip_longest(*lists, fillvalue=0)]


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
