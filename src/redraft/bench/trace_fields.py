"""What each field of a trace's lines may hold, so that a wrong value is found when it is read.

A trace may come from another machine or be cut and mended by hand. It does not know files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard, get_args

from redraft.bench.rows import Cause
from redraft.protocols import MAX_ROWS
from redraft.tokens import FinishReason

Check = Callable[[Any], bool]
_LARGEST_ID = 2**31 - 1
_MOST_SECONDS = 1e6
_TYPES_OF_A_PLACE = (str, int, str, str, str)


def check_line(line: object, checks: Mapping[str, Check]) -> Mapping[str, Any]:
    """The line, which has all of these fields with values that pass. Raises ValueError."""
    if not isinstance(line, dict):
        raise ValueError("a line is no object")
    for name, passes in checks.items():
        if name not in line:
            raise ValueError(f"it has no {name}")
        if not passes(line[name]):
            raise ValueError(f"{name} is {_short(line[name])}")
    return line


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _whole(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= _LARGEST_ID


def _number(value: Any) -> TypeGuard[float]:
    return type(value) in (int, float)


def _seconds(value: Any) -> bool:
    return _number(value) and 0 <= value <= _MOST_SECONDS


def _share(value: Any) -> bool:
    return _number(value) and 0 <= value <= 1


def _list_of(passes: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(passes, value))


def _or_none(passes: Check) -> Check:
    return lambda value: value is None or passes(value)


def _one_of(choices: tuple[str, ...]) -> Check:
    return lambda value: isinstance(value, str) and value in choices


def _sampling(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_number, value.values()))


def _curve(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and bool(value)
        and all(re.fullmatch("[1-9][0-9]{0,5}", rows) for rows in value)
        and all(_seconds(took) and took > 0 for took in value.values())
    )


def _place(value: Any) -> bool:
    return isinstance(value, list) and tuple(map(type, value)) == _TYPES_OF_A_PLACE


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"


HEADER: Mapping[str, Check] = {
    "workload": _text,
    "engine": _text,
    "model": _text,
    "weights_sha256": _or_none(_text),
    "commit": _text,
    "policy": _text,
    "drafters": _list_of(_text),
    "sampling": _sampling,
    "fewest": lambda value: _whole(value) and 1 <= value <= MAX_ROWS,
    "cost_curve": _curve,
    "task": _text,
    "kind": _text,
    "language": _text,
    "prompt": lambda value: _list_of(_whole)(value) and len(value) > 0,
    "source": _list_of(_whole),
    "suffix": _list_of(_whole),
    "room": lambda value: _whole(value) and value >= 1,
}
STEP: Mapping[str, Check] = {
    "tokens": _list_of(_whole),
    "drafters": _list_of(_text),
    "evidence": _list_of(lambda value: type(value) is int),
    "survival": _list_of(_share),
    "accepted": _whole,
    "committed": _whole,
    "rows": _whole,
    "propose_seconds": _seconds,
    "evaluate_seconds": _seconds,
    "verify_seconds": _seconds,
    "syntax": _list_of(_or_none(_place)),
}
OUTCOME: Mapping[str, Check] = {
    "output": _list_of(_whole),
    "finish_reason": _one_of(get_args(FinishReason)),
    "excluded": _or_none(_one_of(get_args(Cause))),
    "seconds": _seconds,
    "plain_seconds": _or_none(_seconds),
}
