"""The front door: edit, complete and generate with loaded weights.

Terminal, server, language server and bench all come through here, so all give the same
guarantees. It knows settings and puts the parts together; it holds no decoding logic of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from time import perf_counter
from types import TracebackType

from redraft import drafters as drafter_registry
from redraft.config import Settings
from redraft.context import (
    Prompt,
    chat_prompt,
    complete_prompt,
    edit_prompt,
    generate_prompt,
    text_prompt,
)
from redraft.cost import CostCurve
from redraft.decode import Plan, decode, prefill
from redraft.ends import Endings
from redraft.errors import Cancelled, ContextFull, UsageError
from redraft.grammar import Grammars
from redraft.limits import Deadlines
from redraft.loading import Loaded, Loading, Notify, load
from redraft.models import completion_ends
from redraft.protocols import Drafter, Engine, Policy, Sampler
from redraft.requests import (
    AS_SET,
    ChatRequest,
    CompleteRequest,
    EditRequest,
    GenerateRequest,
    Kind,
    Options,
    Request,
    TextRequest,
)
from redraft.results import Progress, Result, exactness
from redraft.runs import RunHeader, RunOutcome, RunWriter
from redraft.sampling import make_sampler
from redraft.schedule import make_policy
from redraft.slots import Slot, Slots
from redraft.statistics import Statistics, Tally
from redraft.streaming import TextStream
from redraft.tokens import FinishReason, Prefill, Step

MEASURED_BUSY = 0.6
"""Forwards faster than this share of the measured times say that the machine was busy when it was
measured, so that the curve's shape is not to be trusted either: the next session measures again."""


class Session:
    """Loaded weights with drafters. Use as a context manager, from one thread at a time.

    `notify(stage, share)` is told what takes long while opening. At most `slots` runs may be under
    way at once; each has a KV cache and drafters of its own. Raises ModelError and EngineError
    when the weights cannot be opened, UsageError for unknown drafters or policies.
    """

    def __init__(self, settings: Settings, notify: Notify | None = None, slots: int = 1) -> None:
        self.settings = settings
        say = notify or (lambda stage, share: None)
        for name in settings.drafters:
            drafter_registry.find(name)  # a mistake is told before the weights are loaded
        self.loaded = load(_loading(settings, settings.model), say)
        self._small: Engine | None = None
        if "model" in settings.drafters:
            self._small = load(_loading(settings, settings.small_model), say).engine
        self._curve = CostCurve(self.loaded.calibration.seconds_by_rows)
        self._slots = Slots(slots, self.loaded.engine.open_sequence, self._build_drafters)
        self._grammars = Grammars(self.loaded.tokenizer, self.loaded.metadata.end_tokens)
        self._policy_for(settings.policy)

    def start(self, request: Request, options: Options = AS_SET) -> Run:
        """A run of whatever kind the request is."""
        match request:
            case EditRequest():
                return self.edit(request, options)
            case CompleteRequest():
                return self.complete(request, options)
            case GenerateRequest():
                return self.generate(request, options)
            case ChatRequest():
                return self.chat(request, options)
            case TextRequest():
                return self.text(request, options)

    def edit(self, request: EditRequest, options: Options = AS_SET) -> Run:
        """A run whose result is the edited file's text."""
        loaded = self.loaded
        prompt = edit_prompt(
            loaded.metadata,
            loaded.tokenizer,
            request.text,
            request.instruction,
            request.name,
            request.language,
        )
        asked = Asked("edit", f"{request.name}: {request.instruction}", options)
        return self._run(asked, prompt, usual_room=2 * len(prompt.context.source) + 512)

    def complete(self, request: CompleteRequest, options: Options = AS_SET) -> Run:
        """A run whose result is what goes between prefix and suffix."""
        loaded, room = self.loaded, options.max_tokens or self.settings.max_tokens or 256
        prompt = complete_prompt(
            loaded.metadata,
            loaded.tokenizer,
            request.prefix,
            request.suffix,
            request.language,
            request.others,
            loaded.context_length - room,
        )
        stop = ("\n",) if request.single_line else ()
        title = "after " + request.prefix[-60:].strip().rsplit("\n", 1)[-1]
        asked = Asked("complete", title, options)
        return self._run(asked, replace(prompt, stop=stop), usual_room=256)

    def generate(self, request: GenerateRequest, options: Options = AS_SET) -> Run:
        """A run whose result is code."""
        loaded = self.loaded
        prompt = generate_prompt(
            loaded.metadata,
            loaded.tokenizer,
            request.instruction,
            request.language,
            request.source,
        )
        room = 1024 + 2 * len(prompt.context.source)
        return self._run(Asked("generate", request.instruction, options), prompt, usual_room=room)

    def chat(self, request: ChatRequest, options: Options = AS_SET) -> Run:
        """A run whose result is the assistant's next turn."""
        loaded = self.loaded
        prompt = chat_prompt(
            loaded.metadata, loaded.tokenizer, request.messages, request.prediction
        )
        title = request.messages[-1].content if request.messages else ""
        return self._run(Asked("chat", title, options), prompt, usual_room=loaded.context_length)

    def text(self, request: TextRequest, options: Options = AS_SET) -> Run:
        """A run whose result continues a raw prompt."""
        loaded = self.loaded
        prompt = text_prompt(loaded.metadata, loaded.tokenizer, request.prompt, request.prediction)
        title = "after " + loaded.tokenizer.decode(prompt.context.prompt[-20:]).strip()
        return self._run(Asked("text", title, options), prompt, usual_room=loaded.context_length)

    def forget(self, keep_prompt: bool = False) -> None:
        """Empty every store: drafters with what they learned, corrections of the cost curve, and
        the prefix cache, unless `keep_prompt` asks for that to stay (it saves time only)."""
        self._slots.forget(keep_tokens=keep_prompt)
        self._curve = CostCurve(self.loaded.calibration.seconds_by_rows)

    def close(self) -> None:
        """Free the weights."""
        measurement = self.loaded.measurement
        if measurement is not None and self._curve.speed < MEASURED_BUSY:
            with suppress(OSError):  # then the old measurement serves again, as it did now
                measurement.unlink()
        self.loaded.engine.close()
        if self._small is not None:
            self._small.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _policy_for(self, name: str) -> Policy:
        return make_policy(name, self._curve, self._fewest())

    def _fewest(self) -> int:
        if self.settings.numerics == "fast":
            return 1
        return self.loaded.calibration.invariance.invariant_from or 1

    def _build_drafters(self) -> tuple[Drafter, ...]:
        resources = drafter_registry.Resources(
            tokenizer=self.loaded.tokenizer,
            corpus=self.settings.corpus_directory,
            small_engine=self._small,
        )
        return tuple(drafter_registry.build(name, resources) for name in self.settings.drafters)

    def _run(self, asked: Asked, prompt: Prompt, usual_room: int) -> Run:
        context, loaded, options = prompt.context, self.loaded, asked.options
        # one token of the context is kept free: a lone step carries a guess beside its token
        left = loaded.context_length - len(context.prompt) - 1
        if left < 1:
            raise ContextFull(
                f"the prompt has {len(context.prompt)} tokens and the context holds "
                f"{loaded.context_length}; raise --context or give a smaller file",
                len(context.prompt),
                loaded.context_length,
            )
        wanted = options.max_tokens
        if wanted is None:
            wanted = self.settings.max_tokens or usual_room
        stop = (*prompt.stop, *options.stop)
        ends = Endings(
            loaded.tokenizer,
            stop,
            context.source,
            completion_ends(loaded.metadata) if asked.kind == "complete" else (),
            options.indent,
        )
        sample = self._sampler(options, len(context.prompt))
        plan = Plan(context, sample, ends, min(wanted, left), self._fewest())
        policy = self._policy_for(self.settings.policy)
        full: FinishReason = "context" if left < wanted else "length"
        return Run(self, plan, policy, replace(asked, stop=stop, full=full))

    def _sampler(self, options: Options, start: int) -> Sampler:
        names = ("temperature", "top_p", "top_k", "min_p", "seed")
        asked = {name: getattr(options, name) for name in names}
        chosen = {
            name: getattr(self.settings, name) if value is None else value
            for name, value in asked.items()
        }
        sample = make_sampler(**chosen, index=options.index, top=options.top)
        if options.schema is None:
            return sample
        return self._grammars.constrained(sample, options.schema, start)


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

    def __init__(self, session: Session, plan: Plan, policy: Policy, asked: Asked) -> None:
        self._session = session
        self._asked = asked
        self._cancel = threading.Event()
        self.plan = replace(plan, cancelled=self._cancel.is_set)
        self._policy = policy
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
        slot = session._slots.take(prompt)
        self._begun, self.slot = True, slot.index
        tally = Tally(len(prompt), slot.sequence.length)
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
            self._finish(output, stream.shown, reason, tally.statistics(), writer)

    def _events(self, slot: Slot) -> Iterator[Prefill | Step]:
        if self.plan.room:
            return decode(slot.sequence, self.plan, slot.drafters, self._policy)
        return prefill(slot.sequence, self.plan)

    def _finish(
        self,
        output: list[int],
        text: str,
        reason: FinishReason,
        statistics: Statistics,
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
            plain_seconds=len(output) * self._session._curve.seconds(1),
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


def _loading(settings: Settings, model: str) -> Loading:
    return Loading(
        settings.engine,
        model,
        settings.context,
        settings.threads,
        settings.live_sequences,
        settings.home,
    )


__all__ = [
    "ChatRequest",
    "CompleteRequest",
    "EditRequest",
    "GenerateRequest",
    "Loaded",
    "Options",
    "Progress",
    "Result",
    "Run",
    "Session",
    "TextRequest",
]
