"""One generation under way: the loop's events with their text, limits, and the result.

It knows the session that it belongs to; it does not know how prompts are made.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING

from redraft.decode import Plan, decode, prefill
from redraft.ends import Endings
from redraft.errors import Cancelled, UsageError
from redraft.limits import Deadlines
from redraft.requests import Kind, Options
from redraft.results import Progress, Result, exactness
from redraft.runs import RunHeader, RunOutcome, RunWriter
from redraft.slots import Slot
from redraft.statistics import PlainEstimate, Statistics, Tally
from redraft.streaming import TextStream
from redraft.tokens import FinishReason, Prefill, Step

if TYPE_CHECKING:
    from redraft.session import Session


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run was asked for, beyond its plan."""

    kind: Kind
    title: str
    options: Options
    stop: tuple[str, ...] = ()
    full: FinishReason = "length"
    """What `length` means here: the room asked for, or all that the context had left."""


class Run:
    """One generation: iterate it once for its events, then read `result`."""

    def __init__(self, session: Session, plan: Plan, asked: Asked) -> None:
        self._session = session
        self._asked = asked
        self._cancel = threading.Event()
        self.plan = replace(plan, cancelled=self._cancel.is_set)
        self._begun = False
        self._result: Result | None = None
        self.slot: int | None = None
        """The session's slot that it works in, once it is iterated."""

    def cancel(self) -> None:
        """Stop soon, from any thread: iteration ends with finish_reason `cancelled`."""
        self._cancel.set()

    @property
    def result(self) -> Result:
        """The result, once iteration has ended. Raises UsageError before."""
        if self._result is None:
            raise UsageError("a run has no result before it was iterated to its end")
        return self._result

    def __iter__(self) -> Iterator[Progress]:
        """Events, once. Raises UsageError the second time, and while as many runs of the session
        have begun and not ended as it has slots: two would move one KV cache."""
        if self._begun:
            raise UsageError("a run is iterated once; ask the session for another one")
        session, plan, options = self._session, self.plan, self._asked.options
        prompt = plan.context.prompt
        slot = session.slots.take(prompt)
        self._begun, self.slot = True, slot.index
        tally, plain = Tally(len(prompt), slot.sequence.length), PlainEstimate(session.curve)
        stream = TextStream(session.loaded.tokenizer, self._asked.stop, options.indent)
        deadlines = Deadlines(options, plan.fewest)
        output: list[int] = []
        reason: FinishReason = "cancelled" if plan.room else "length"
        writer = self._writer()
        worked, resumed = 0.0, perf_counter()
        try:
            for event in self._events(slot):
                text = ""
                if isinstance(event, Step):
                    plain.add(event)
                    output.extend(event.tokens)
                    text = stream.add(event.tokens)
                    if event.finish_reason is not None:
                        reason = event.finish_reason
                        text += stream.finish()
                late = deadlines.passed(event, stream.shown)
                if late:
                    reason, text = "time", text + stream.finish()
                worked += perf_counter() - resumed
                tally.add(event, worked)
                if writer is not None:
                    writer.step(event)
                yield Progress(event, text)
                if late:
                    break
                resumed = perf_counter()
        except Cancelled:
            reason = "cancelled"
            stream.finish()
        finally:
            slot.give_back([*prompt, *output])
            reason = self._asked.full if reason == "length" else reason
            self._finish(output, stream.shown, reason, tally.statistics(), plain.seconds, writer)

    def _events(self, slot: Slot) -> Iterator[Prefill | Step]:
        if self.plan.room:
            policy = self._session.policy_for(slot.equipment.syntax)
            return decode(slot.sequence, self.plan, slot.equipment.drafters, policy)
        return prefill(slot.sequence, self.plan)

    def _finish(
        self,
        output: list[int],
        text: str,
        reason: FinishReason,
        statistics: Statistics,
        plain_seconds: float,
        writer: RunWriter | None,
    ) -> None:
        kind, ends = self._asked.kind, self.plan.ends
        loaded = self._session.loaded
        exact, because = exactness(loaded.calibration.invariance, self._session.settings.numerics)
        if writer is not None:
            writer.close(RunOutcome(reason, exact, because, asdict(statistics)))
        self._result = Result(
            kind=kind,
            # the stop string of an answer in a fence begins with the line end of the last line
            text=text + "\n" if kind in ("edit", "generate") and text else text,
            tokens=tuple(output),
            finish_reason=reason,
            stopped_by=ends.stopped_by if isinstance(ends, Endings) else None,
            exact=exact,
            exact_because=because,
            statistics=statistics,
            plain_seconds=plain_seconds,
            run_id=writer.run_id if writer is not None and writer.problem is None else None,
        )

    def _writer(self) -> RunWriter | None:
        session, settings = self._session, self._session.settings
        if not settings.record or not self.plan.room:
            return None
        loaded = session.loaded
        what_matters = ("policy", "drafters", "numerics", "temperature", "top_p", "top_k", "min_p")
        header = RunHeader(
            self._asked.kind,
            self._asked.title,
            loaded.metadata.name or settings.model,
            loaded.engine_name,
            loaded.sha256,
            len(self.plan.context.prompt),
            {name: getattr(settings, name) for name in (*what_matters, "seed", "threads")},
        )
        return RunWriter(settings.runs_folder, header, loaded.tokenizer.piece, settings.keep_runs)
