"""What rows of a comparison amount to. Pure arithmetic; every name here is a key of the JSON.

A peer's time for a task is its median time per token times the tokens that redraft gave there, so
that both sides are compared over equally many.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from redraft.bench.peers.compare import Row
from redraft.bench.peers.specs import Contender

PLAIN = "plain"


def summarise(rows: Sequence[Row], contenders: Sequence[Contender]) -> dict[str, Any]:
    """All figures over the rows that count."""
    counted = [row for row in rows if row["excluded"] is None]
    ours = sum(map(_our_seconds, counted))
    tokens = sum(row["output_tokens"] for row in counted)
    return {
        "tasks": len(counted),
        "output_tokens": tokens,
        "tokens_per_second": tokens / ours if ours else None,
        "tokens_per_forward": _weighted(counted, "tokens_per_forward"),
        "by_peer": {one.name: _mode_figures(counted, one) for one in contenders},
        "best_in_hindsight": {
            peer: _best(counted, [one.name for one in contenders if one.peer.name == peer])
            for peer in dict.fromkeys(one.peer.name for one in contenders)
        },
        "excluded": [
            {"task": row["name"], "cause": row["excluded"], "reason": row["reason"]}
            for row in rows
            if row["excluded"] is not None
        ],
    }


def _mode_figures(counted: Sequence[Row], contender: Contender) -> dict[str, Any]:
    name = contender.name
    plain = f"{contender.peer.name} {PLAIN}"
    answered = [row for row in counted if _answered(row, name)]
    beside = [row for row in answered if _answered(row, plain)]
    peers = [row["peers"][name] for row in answered]
    return {
        **_against_us(answered, {row["name"]: name for row in answered}),
        "over_own_plain": _ratio(
            (_their_seconds(row, plain) for row in beside),
            (_their_seconds(row, name) for row in beside),
        ),
        "tokens_per_forward": _per_forward(peers),
        "equal_tokens_share": _ratio(
            (peer["equal_tokens"] for peer in peers), (row["output_tokens"] for row in answered)
        ),
        "equal_outputs": sum(
            row["peers"][name]["equal_tokens"] == row["output_tokens"] for row in answered
        ),
        "proposed": sum(peer["proposed"] or 0 for peer in peers),
        "accepted": sum(peer["accepted"] or 0 for peer in peers),
        "problems": {
            row["name"]: row["peers"][name]["problem"]
            for row in counted
            if row["peers"][name]["problem"] is not None
        },
    }


def _best(counted: Sequence[Row], names: Sequence[str]) -> dict[str, Any]:
    """Each task by the mode that turned out fastest on it, which nobody can know before."""
    chosen = {
        row["name"]: min(able, key=lambda name: _their_seconds(row, name))
        for row in counted
        if (able := [name for name in names if _answered(row, name)])
    }
    return {
        **_against_us([row for row in counted if row["name"] in chosen], chosen),
        "modes": chosen,
    }


def _against_us(rows: Sequence[Row], modes: Mapping[str, str]) -> dict[str, Any]:
    """`modes` says by task's name which contender is meant."""
    ratios = {
        row["name"]: _their_seconds(row, modes[row["name"]]) / _our_seconds(row) for row in rows
    }
    worst = min(ratios, key=lambda name: ratios[name], default=None)
    theirs = [_their_seconds(row, modes[row["name"]]) for row in rows]
    return {
        "tasks": len(rows),
        "tokens_per_second": _ratio((row["output_tokens"] for row in rows), theirs),
        "redraft_over_it": _ratio(theirs, map(_our_seconds, rows)),
        "median": median(ratios.values()) if ratios else None,
        "worst": ratios[worst] if worst is not None else None,
        "worst_task": worst,
    }


def _answered(row: Row, name: str) -> bool:
    return bool(row["peers"].get(name, {}).get("seconds_per_token"))


def _our_seconds(row: Row) -> float:
    return float(median(row["seconds_per_token"]) * row["output_tokens"])


def _their_seconds(row: Row, name: str) -> float:
    return float(median(row["peers"][name]["seconds_per_token"]) * row["output_tokens"])


def _weighted(rows: Sequence[Row], key: str) -> float | None:
    """Tokens ÷ forwards over all rows, from each row's own ratio."""
    return _ratio(
        (row["output_tokens"] for row in rows), (row["output_tokens"] / row[key] for row in rows)
    )


def _per_forward(peers: Sequence[Mapping[str, Any]]) -> float | None:
    told = [peer for peer in peers if peer["tokens_per_forward"] is not None]
    timed = [peer["tokens"] - 1 for peer in told]
    forwards = [(peer["tokens"] - 1) / peer["tokens_per_forward"] for peer in told]
    return _ratio(timed, forwards)


def _ratio(part: Iterable[float], whole: Iterable[float]) -> float | None:
    total = sum(whole)
    return sum(part) / total if total else None
