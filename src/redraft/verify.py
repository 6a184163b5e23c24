"""Verification by sample and compare: the draft stands while the target would say the same.

Sampling the target at each row and comparing makes greedy and seeded output equal to plain
decoding, token for token. It is the acceptance rule of Leviathan et al. (arXiv 2211.17192) with a
one-hot draft and the randomness of the target fixed in advance. It does not know engines.
"""

from __future__ import annotations

from collections.abc import Sequence as Tokens

from redraft.protocols import Logits, Sampler
from redraft.tokens import Draft, Verdict


def verify(draft: Draft, logits: Logits, sample: Sampler, before: Tokens[int]) -> Verdict:
    """The accepted prefix of `draft` and the target's own next token.

    `logits` is float32[len(draft) + 1, vocab]: row i follows `before` and the first i draft
    tokens. Pure: nothing but the arguments counts and nothing is changed.
    """
    seen = list(before)
    choices = []
    for position in range(len(draft) + 1):
        choice = sample(logits[position], seen)
        choices.append(choice)
        if position == len(draft) or choice.token != draft.tokens[position]:
            break
        seen.append(choice.token)
    return Verdict(draft, accepted=len(choices) - 1, choices=tuple(choices))
