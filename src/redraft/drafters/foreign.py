"""Somebody else's drafter, held to the contract: what it raises or gives never goes further.

The drafters asked after it trust what it proposes, and the loop trusts that it raises nothing; here
the one that is wrong is told by its name. It does not know what a drafter drafts from.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real

from redraft.errors import DrafterFailed
from redraft.protocols import DraftContext, Drafter
from redraft.tokens import Draft, Verdict


class ForeignDrafter:
    """The drafter that was registered as `entry`, for a vocabulary of `vocab_size` token ids.

    Each call raises DrafterFailed for whatever the drafter raises, and for a proposal that is no
    Draft of the vocabulary's token ids.
    """

    def __init__(self, entry: str, drafter: Drafter, vocab_size: int) -> None:
        self._entry = entry
        self._drafter = drafter
        self._vocab_size = vocab_size
        self._name = drafter.name

    @property
    def name(self) -> str:
        """The name that the drafter signs its tokens with."""
        return self._name

    def start(self, context: DraftContext) -> None:
        """See `Drafter`."""
        with _blamed(self._entry):
            self._drafter.start(context)

    def propose(self, limit: int, after: tuple[int, ...] = ()) -> Draft:
        """See `Drafter`; cut to the limit."""
        with _blamed(self._entry):
            draft = self._drafter.propose(limit, after)
            if not isinstance(draft, Draft):
                raise TypeError(f"propose gave {type(draft).__name__} and must give a Draft")
            draft = draft.first(limit)
            self._check(draft)
            return draft

    def commit(self, verdict: Verdict) -> None:
        """See `Drafter`."""
        with _blamed(self._entry):
            self._drafter.commit(verdict)

    def _check(self, draft: Draft) -> None:
        """Raises TypeError or ValueError for what is no tuple, id or number."""
        for part in (draft.tokens, draft.survival, draft.drafters, draft.evidence):
            if not isinstance(part, tuple):
                raise TypeError(f"a Draft holds tuples, not {type(part).__name__}")
        for token in draft.tokens:
            if not isinstance(token, Integral) or isinstance(token, bool):
                raise TypeError(f"token ids must be integers, not {type(token).__name__}")
            if not 0 <= token < self._vocab_size:
                raise ValueError(f"token {token} is outside 0 … {self._vocab_size - 1}")
        for survival in draft.survival:
            if not isinstance(survival, Real):
                raise TypeError(f"survivals must be numbers, not {type(survival).__name__}")


@contextmanager
def _blamed(entry: str) -> Iterator[None]:
    """Whatever is raised inside becomes DrafterFailed: SystemExit would end the command as if it
    were done. Ctrl-C stays what it is; Python raises it in the main thread alone."""
    try:
        yield
    except BaseException as error:
        in_main = threading.current_thread() is threading.main_thread()
        if isinstance(error, KeyboardInterrupt) and in_main:
            raise
        raise DrafterFailed.by(entry, error) from error
