"""The gate: replaces drafters' survival estimates by those of the learned model.

What is done with the estimates is the `cost` policy's affair.
"""

from __future__ import annotations

from redraft.protocols import DraftContext, SyntaxView
from redraft.schedule.features import JUDGED, FeatureReader, Features
from redraft.schedule.survival_model import SurvivalModel
from redraft.tokens import Draft, Step


class Gate:
    """Judges drafts by a model, which learns from what becomes of them."""

    def __init__(self, model: SurvivalModel, syntax: SyntaxView | None = None) -> None:
        self._model = model
        self._reader = FeatureReader(syntax)
        self._seen: dict[tuple[int, ...], Features] = {}
        """What was judged in this step, since the policy takes a part of one of these drafts."""

    def start(self, context: DraftContext) -> None:
        """A new generation; what the model has learned stays."""
        self._reader.start(context)
        self._seen.clear()

    def judge(self, draft: Draft) -> Draft:
        """The draft with the model's survival for its first JUDGED tokens."""
        if not draft:
            return draft
        features = self._reader.read(draft.first(JUDGED))
        self._seen[draft.tokens[:JUDGED]] = features
        survival = (*self._model.survival(features).tolist(), *draft.survival[JUDGED:])
        return Draft(draft.tokens, survival, draft.drafters, draft.evidence)

    def commit(self, step: Step) -> None:
        """Learn from the judged tokens of a finished step."""
        accepted = self._reader.commit(step)
        taken = step.verdict.draft.tokens
        for tokens, features in self._seen.items():
            count = min(len(accepted), len(tokens))
            if count and tokens[:count] == taken[:count]:
                self._model.learn(features.first(count), accepted[:count])
                break
        self._seen.clear()
