"""What every engine checks before a call may change anything. Pure; it knows no engine.

The native libraries abort the process on some bad input, so nothing reaches them unchecked.
"""

from __future__ import annotations

from collections.abc import Sequence as Tokens
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from redraft.errors import BadToken, ContextFull
from redraft.protocols import MAX_ROWS

Ids: TypeAlias = NDArray[np.int32]
"""Token ids that were checked: int32[tokens]."""


def checked_ids(tokens: Tokens[int], vocab_size: int) -> Ids:
    """`tokens` as an array of their own, at least one. Raises BadToken where one is not an integer
    or outside the vocabulary."""
    try:
        ids = np.asarray(tokens)
    except (OverflowError, TypeError, ValueError) as error:
        raise BadToken(f"token ids must be integers: {error}") from error
    if ids.ndim != 1 or len(ids) == 0:
        raise BadToken("a forward needs a flat sequence of at least one token")
    if ids.dtype.kind == "O" and all(isinstance(token, int) for token in tokens):
        worst = max(tokens, key=abs)  # so large that no integer type of numpy holds it
        raise BadToken(f"token {worst} is outside 0 … {vocab_size - 1}")
    if ids.dtype.kind not in "iu":
        raise BadToken(f"token ids must be integers, not {ids.dtype}")
    lowest, highest = int(ids.min()), int(ids.max())
    if lowest < 0 or highest >= vocab_size:
        worst = lowest if lowest < 0 else highest
        raise BadToken(f"token {worst} is outside 0 … {vocab_size - 1}")
    return ids.astype(np.int32)


def check_rows(rows: int, count: int) -> None:
    """Raises BadToken unless `rows` of `count` tokens may be asked for."""
    most = min(MAX_ROWS, count)
    if not _is_integer(rows) or not 0 <= rows <= most:
        raise BadToken(f"{rows} rows of {count} tokens were asked for; 0 … {most} go")


def check_room(length: int, count: int, context_length: int) -> None:
    """Raises ContextFull unless `count` more tokens fit behind `length`."""
    if length + count > context_length:
        raise ContextFull(
            f"{length} + {count} tokens do not fit the context of {context_length}; "
            "raise --context or shorten the input"
        )


def check_cut(length: int, now: int) -> None:
    """Raises BadToken unless a sequence of `now` tokens can be cut to `length`."""
    if not _is_integer(length) or not 0 <= length <= now:
        raise BadToken(f"cannot truncate a sequence of {now} tokens to {length}")


def check_token(token: int, vocab_size: int) -> None:
    """Raises BadToken unless `token` is in the vocabulary."""
    if not _is_integer(token) or not 0 <= token < vocab_size:
        raise BadToken(f"token {token} is outside 0 … {vocab_size - 1}")


def _is_integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
