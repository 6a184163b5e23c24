"""One draft from several drafters: asked, checked, handed from one to the next.

It knows drafters by their proposals only. It does not know what a token costs: policies cut what
is composed here.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Tokens

from redraft.errors import DrafterFailed
from redraft.protocols import Drafter
from redraft.tokens import NO_DRAFT, Draft

SWITCH_BELOW = 0.5
"""A drafter surer than this is not interrupted: in replays, asking all others more often brought
no tokens and cost half of the drafting time."""
GIVE_UP_BELOW = 0.05
"""A draft whose tokens together survive with less than this is long enough."""

Ask = Callable[[Drafter, int, tuple[int, ...]], Draft]


def propose(drafter: Drafter, limit: int, after: tuple[int, ...]) -> Draft:
    """The drafter's proposal, with its name and bin 0 where it leaves them out.

    Raises DrafterFailed for a proposal that cannot be used and for whatever the drafter raises.
    """
    try:
        draft = drafter.propose(limit, after)
    except DrafterFailed:
        raise
    except Exception as error:
        raise DrafterFailed.by(drafter.name, error) from error
    count = len(draft.tokens)
    if len(draft.survival) != count:
        raise DrafterFailed(
            f"drafter {drafter.name!r} gave {count} tokens with {len(draft.survival)} survivals;"
            " a draft has one for each token"
        )
    if len(draft.drafters) == len(draft.evidence) == count:
        return draft
    names = draft.drafters if len(draft.drafters) == count else (drafter.name,) * count
    evidence = draft.evidence if len(draft.evidence) == count else (0,) * count
    return Draft(draft.tokens, draft.survival, names, evidence)


def compose(drafters: Tokens[Drafter], limit: int, ask: Ask = propose) -> Draft:
    """One draft of at most `limit` tokens, handed from drafter to drafter.

    The surest about the next tokens drafts until it is unsure; then all are asked again for what
    would follow, until nobody knows more or the whole is unlikely to survive.
    """
    draft, survival = NO_DRAFT, 1.0
    while len(draft) < limit and survival >= GIVE_UP_BELOW:
        proposals = [ask(drafter, limit - len(draft), draft.tokens) for drafter in drafters]
        proposals = [proposal for proposal in proposals if proposal]
        if not proposals:
            break
        part = max(proposals, key=_promise)
        if len(proposals) > 1:
            part = part.first(_sure_tokens(part))
        for probability in part.survival:
            survival *= probability
        draft += part
    return draft.first(limit)


def _promise(draft: Draft) -> float:
    """Expected accepted tokens among the first four: sureness first, length second."""
    total, survival = 0.0, 1.0
    for probability in draft.survival[:4]:
        survival *= probability
        total += survival
    return total


def _sure_tokens(draft: Draft) -> int:
    """How many tokens to take before others are asked: at least one."""
    for position in range(1, len(draft)):
        if draft.survival[position] < SWITCH_BELOW:
            return position
    return len(draft)
