"""What a replay is compared with: long-window prompt lookup, and a simulated small model.

Prompt lookup (Saxena, 2023) copies what followed the first earlier occurrence of the longest
n-gram at the output's end, here with the window and n-gram of the strongest published variant for
edits (128 and 10, Blazedit). It has a loop of its own, since a draft of 128 is longer than redraft
ever makes. Neither knows policies.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from redraft.bench.replay.recorded import SimulatedClock
from redraft.bench.replay.simulation import Counted, Machine
from redraft.bench.rows import Drafting
from redraft.bench.traces import Trace
from redraft.protocols import DraftContext
from redraft.tokens import NO_DRAFT, Draft, Verdict, shared_length

WINDOW, LONGEST_NGRAM = 128, 10


def look_up(
    trace: Trace, machine: Machine, window: int = WINDOW, longest: int = LONGEST_NGRAM
) -> Counted:
    """Decode the trace's output by prompt lookup. Looking up takes no time."""
    text, output = list(trace.context.prompt), trace.output
    followed: dict[tuple[int, ...], int] = {}
    indexed, position, seconds = 0, 0, 0.0
    lengths: list[tuple[int, int]] = []
    while position < len(output):
        indexed = _index(text, indexed, longest, followed)
        start = _find(text, longest, followed)
        room = min(window, trace.room - position - 1)
        draft = text[start : start + room] if start is not None else []
        accepted = shared_length(draft, output[position:])
        seconds += machine.curve.seconds(max(trace.origin.fewest, len(draft) + 1))
        seconds += machine.row_seconds * (accepted + 1)
        lengths.append((len(draft), accepted))
        text.extend(output[position : position + accepted + 1])
        position += accepted + 1
    return Counted(_drafting(lengths), seconds, seconds, tuple(text[len(trace.context.prompt) :]))


def _index(text: list[int], start: int, longest: int, followed: dict[tuple[int, ...], int]) -> int:
    """Note where each n-gram that ends before the text's last token was first followed."""
    for end in range(max(1, start), len(text)):
        for size in range(1, min(longest, end) + 1):
            followed.setdefault(tuple(text[end - size : end]), end)
    return len(text)


def _find(text: list[int], longest: int, followed: dict[tuple[int, ...], int]) -> int | None:
    """Where the text goes on after the first occurrence of its longest known ending."""
    for size in range(min(longest, len(text)), 0, -1):
        start = followed.get(tuple(text[-size:]))
        if start is not None:
            return start
    return None


def _drafting(lengths: list[tuple[int, int]]) -> Drafting:
    longest = max((drafted for drafted, _ in lengths), default=0)
    proposed = sum(drafted for drafted, _ in lengths)
    kept = sum(min(drafted, accepted) for drafted, accepted in lengths)
    return Drafting(
        forwards=len(lengths),
        proposed=proposed,
        accepted=kept,
        reached=tuple(sum(drafted > i for drafted, _ in lengths) for i in range(longest)),
        survived=tuple(sum(accepted > i for _, accepted in lengths) for i in range(longest)),
        by_drafter={"lookup": (proposed, kept)},
    )


@dataclass(frozen=True, slots=True)
class SmallModel:
    """A small model that nobody has here, by two figures."""

    acceptance: float
    """Probability that one of its tokens is the target's, given that those before it were."""
    seconds: float
    """For one token."""
    seed: int = 0


class SimulatedModel:
    """A drafter that is right at random places of a recorded output, the same ones each time.

    It is equally unsure everywhere. A real small model knows where it is likely to be right, so a
    policy could choose better than this allows.
    """

    name = "model"

    def __init__(self, trace: Trace, model: SmallModel, clock: SimulatedClock) -> None:
        random = Random(f"{model.seed}/{trace.task}")
        self._output = trace.output
        self._drafts = [
            token if random.random() < model.acceptance else _another(token)
            for token in trace.output
        ]
        self._model = model
        self._clock = clock
        self._done = 0

    def start(self, context: DraftContext) -> None:
        """Begin at the output's first token."""
        self._done = 0

    def propose(self, limit: int, after: tuple[int, ...] = ()) -> Draft:
        """The next tokens, and the time they take. After tokens that are not the output's, what
        it says does not matter: they are rejected before."""
        start = self._done + len(after)
        tokens = tuple(self._drafts[start : start + max(0, limit)])
        if not tokens:
            return NO_DRAFT
        count = len(tokens)
        self._clock.advance(count * self._model.seconds)
        return Draft(tokens, (self._model.acceptance,) * count, (self.name,) * count, (0,) * count)

    def commit(self, verdict: Verdict) -> None:
        """Go on after these."""
        self._done += len(verdict.tokens)


def _another(token: int) -> int:
    """A token that is not this one, and in every vocabulary."""
    return 0 if token else 1
