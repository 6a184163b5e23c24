"""One task on both sides in turns: redraft, each mode of each peer, redraft again, and so on.

Both sides get the same token ids, greedy; a peer is asked for as many tokens as redraft gave. Each
timed run of a peer has a new process, since its modes learn from what they wrote before. Numerics
differ, so that outputs part sooner or later: how far they agree is told, and speed is time over
the tokens that a side really produced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from redraft.bench.measure import Measuring, Timed, first_difference
from redraft.bench.peers.messages import PeerAnswer, PeerOpening
from redraft.bench.peers.process import PeerFailed, PeerProcess
from redraft.bench.peers.specs import DRAFT, Contender
from redraft.bench.task_run import exclusion
from redraft.bench.tasks import BenchTask
from redraft.errors import ContextFull

Row = Mapping[str, Any]
"""A finished task as in the journal and in the JSON."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What both sides have in common."""

    model: str
    small_model: str
    context: int
    threads: int

    def opening(self, mode: str) -> PeerOpening:
        """For one mode."""
        small = self.small_model if mode == DRAFT else ""
        return PeerOpening(mode, self.model, small, self.context, self.threads)


@dataclass(frozen=True, slots=True)
class PeerRow:
    """What came of one mode on one task."""

    problem: str | None
    """Why there are no figures: the mode is not supported, or its process died."""
    tokens: int
    seconds_per_token: tuple[float, ...]
    """One per repeat."""
    prompt_seconds: tuple[float, ...]
    tokens_per_forward: float | None
    proposed: int | None
    accepted: int | None
    equal_tokens: int
    """So many first tokens agree with redraft's."""


def compare_task(
    measuring: Measuring,
    task: BenchTask,
    contenders: Sequence[Contender],
    ground: Ground,
    repeats: int,
    done: Callable[[], None],
) -> Row:
    """Measure a task; `done` is called after each decode. A prompt that does not fit is a row."""
    ours: list[Timed] = []
    theirs: dict[str, list[PeerAnswer]] = {one.name: [] for one in contenders}
    problems: dict[str, str] = {}
    try:
        prompt = measuring.prompt(task)
    except ContextFull as error:
        return _row(task, "context", str(error), {})
    for repeat in range(repeats):
        ours.append(measuring.drafted(task, keep_prompt=repeat > 0))
        done()
        cause, reason = exclusion(task, ours[0])
        if cause is not None:
            return _row(task, cause, reason.replace("plain output", "the output"), {})
        for contender in contenders:
            if contender.name not in problems:
                try:
                    answer = _asked(contender, ground, prompt, len(ours[0].tokens))
                    theirs[contender.name].append(answer)
                except PeerFailed as error:
                    problems[contender.name] = str(error)
            done()
    peers = {
        name: asdict(_peer_row(answers, problems.get(name), ours[0]))
        for name, answers in theirs.items()
    }
    return _row(task, None, "", {**_ours(ours, len(prompt)), "peers": peers})


def _asked(contender: Contender, ground: Ground, prompt: Sequence[int], tokens: int) -> PeerAnswer:
    peer = contender.peer
    with PeerProcess(peer.module, peer.class_name, ground.opening(contender.mode)) as process:
        answer = process.ask(prompt, tokens)
    if answer.seconds_per_token is None:
        raise PeerFailed(f"it gave {len(answer.tokens)} tokens, too few to time")
    return answer


def _row(task: BenchTask, excluded: str | None, reason: str, found: Row) -> Row:
    return {
        "name": task.name,
        "kind": task.kind,
        "language": task.request.language,
        "excluded": excluded,
        "reason": reason,
        **found,
    }


def _ours(runs: Sequence[Timed], prompt_tokens: int) -> Row:
    first = runs[0]
    return {
        "prompt_tokens": prompt_tokens,
        "output_tokens": len(first.tokens),
        "seconds_per_token": [run.statistics.decode_seconds / len(run.tokens) for run in runs],
        "prompt_seconds": [first.statistics.prefill_seconds],
        "tokens_per_forward": median(len(run.tokens) / run.statistics.forwards for run in runs),
    }


def _peer_row(answers: Sequence[PeerAnswer], problem: str | None, ours: Timed) -> PeerRow:
    """The counts of the first answer: greedy, so that others are equal but for their times."""
    if not answers:
        return PeerRow(problem or "it was not asked", 0, (), (), None, None, None, 0)
    first = answers[0]
    place = first_difference(ours.tokens, first.tokens)
    return PeerRow(
        problem=problem,
        tokens=len(first.tokens),
        seconds_per_token=tuple(one.seconds_per_token or 0.0 for one in answers),
        prompt_seconds=tuple(one.prompt_seconds for one in answers),
        tokens_per_forward=first.tokens_per_forward,
        proposed=first.proposed,
        accepted=first.accepted,
        equal_tokens=len(first.tokens) if place is None else place,
    )
