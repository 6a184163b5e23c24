"""How much of a prediction came true, whoever drafted it. Token ids only."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence as Tokens

ANCHOR = 3
"""Tokens that must agree before a place further on in the prediction is taken for the same."""


def tokens_that_came(prediction: Tokens[int], output: Tokens[int]) -> int:
    """How many tokens of the prediction are in the output, in order.

    The output is followed through the prediction; where it leaves that, it is met again at the next
    place that has its next three tokens. Takes time in proportion to both.
    """
    places: dict[tuple[int, ...], list[int]] = {}
    for place in range(len(prediction) - ANCHOR + 1):
        places.setdefault(tuple(prediction[place : place + ANCHOR]), []).append(place)
    came = position = 0
    for index, token in enumerate(output):
        if position >= len(prediction) or prediction[position] != token:
            known = places.get(tuple(output[index : index + ANCHOR]), [])
            following = bisect_left(known, position)
            if following == len(known):
                continue
            position = known[following]
        came, position = came + 1, position + 1
    return came
