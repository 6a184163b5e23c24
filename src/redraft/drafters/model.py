"""The `model` drafter: a small model with the target's vocabulary writes ahead, greedily.

It keeps a sequence of its own on the small engine and brings it up to date when it is asked, so an
unasked drafter costs nothing; the first proposal evaluates the whole prompt. It does not know
whether its time pays: policies measure that.
"""

from __future__ import annotations

import weakref
from contextlib import suppress

import numpy as np

from redraft.drafters import Resources
from redraft.errors import ContextFull, UsageError
from redraft.protocols import DraftContext, Engine, Sequence
from redraft.survival import SurvivalTable
from redraft.tokens import NO_DRAFT, Draft, Verdict, shared_length

_BOUNDS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
PRIORS = (0.25, 0.40, 0.55, 0.70, 0.80, 0.88, 0.94, 0.98)
"""Acceptance by the small model's own probability of the token, in bins between `_BOUNDS`."""
_PIECE = 256
_STOP_BELOW = 0.3


class ModelDrafter:
    """Drafts what a small model finds most probable.

    Raises UsageError at construction when the small vocabulary is not the target's.
    """

    name = "model"

    def __init__(self, engine: Engine, vocab_size: int) -> None:
        if engine.vocab_size != vocab_size:
            raise UsageError(
                f"the small model has {engine.vocab_size} token ids and the target {vocab_size}; "
                "a drafter must share the target's vocabulary: choose another --small-model"
            )
        self._engine = engine
        self._survival = SurvivalTable(PRIORS)
        self._sequence: Sequence | None = None
        self._held: list[int] = []
        self._seen: list[int] = []

    @staticmethod
    def build(resources: Resources) -> ModelDrafter:
        """The registry's factory. Raises UsageError where no small model was opened."""
        if resources.small_engine is None:
            raise UsageError("the model drafter needs a small model; name one with --small-model")
        return ModelDrafter(resources.small_engine, resources.tokenizer.vocab_size)

    def start(self, context: DraftContext) -> None:
        """Remember the prompt; nothing is evaluated before a proposal is asked for."""
        self._seen = list(context.prompt)

    def propose(self, limit: int, after: tuple[int, ...] = ()) -> Draft:
        """Greedy tokens of the small model, until it is unsure."""
        text = [*self._seen, *after]
        if limit < 1 or not text:
            return NO_DRAFT
        tokens: list[int] = []
        evidence: list[int] = []
        # the small context may be shorter than the target's: then draft what there was room for
        with suppress(ContextFull):
            logits = self._catch_up(text)
            while True:
                token = int(logits.argmax())
                probability = float(1.0 / np.exp(logits - logits[token]).sum(dtype=np.float64))
                if tokens and probability < _STOP_BELOW:
                    break
                tokens.append(token)
                evidence.append(int(np.searchsorted(_BOUNDS, probability)))
                if len(tokens) == limit:
                    break
                logits = self._catch_up([*text, *tokens])
        survival = tuple(self._survival.estimate(bin_) for bin_ in evidence)
        return Draft(tuple(tokens), survival, (self.name,) * len(tokens), tuple(evidence))

    def _catch_up(self, text: list[int]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        """Logits after `text`, [vocab], with the sequence brought to it."""
        if self._sequence is None:
            self._sequence = self._engine.open_sequence()
            # the engine keeps live sequences, so one nobody can use any more must be closed
            weakref.finalize(self, self._sequence.close)
        shared = shared_length(self._held, text[:-1])
        self._sequence.truncate(shared)
        del self._held[shared:]
        logits = np.empty((0, 0), dtype=np.float32)
        for start in range(shared, len(text), _PIECE):
            piece = text[start : start + _PIECE]
            logits = self._sequence.evaluate(piece, rows=1)
            self._held.extend(piece)
        row: np.ndarray[tuple[int], np.dtype[np.float32]] = logits[0]
        return row

    def commit(self, verdict: Verdict) -> None:
        """Learn survival; the sequence is mended at the next proposal."""
        self._survival.observe(verdict, self.name)
        self._seen.extend(verdict.tokens)
