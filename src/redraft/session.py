"""The front door: edit, complete and generate with loaded weights.

Terminal, server, language server and bench all come through here, so all give the same
guarantees. It knows settings and puts the parts together; it holds no decoding logic of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from time import perf_counter
from types import TracebackType
from typing import Literal

from redraft import drafters as drafter_registry
from redraft.config import Settings, check_settings
from redraft.context import Prompt, complete_prompt, edit_prompt, generate_prompt
from redraft.cost import CostCurve
from redraft.decode import Plan, decode
from redraft.ends import Endings
from redraft.errors import Cancelled, ContextFull, UsageError
from redraft.loading import Loaded, Loading, Notify, load
from redraft.models import completion_ends
from redraft.protocols import Drafter, Engine, Policy, Sequence
from redraft.pruning import PruningPolicy
from redraft.runs import RunHeader, RunOutcome, RunWriter
from redraft.sampling import make_sampler
from redraft.schedule import SeedRule, make_policy, open_gate
from redraft.statistics import Statistics, Tally
from redraft.streaming import TextStream
from redraft.syntax import Syntax
from redraft.tokens import FinishReason, Prefill, Step, shared_length

Kind = Literal["edit", "complete", "generate"]

MEASURED_BUSY = 0.6
"""Forwards faster than this share of the measured times say that the machine was busy when it was
measured, so that the curve's shape is not to be trusted either: the next session measures again."""


@dataclass(frozen=True, slots=True)
class EditRequest:
    """Change a whole file as instructed."""

    text: str
    instruction: str
    name: str = "file"
    language: str = ""


@dataclass(frozen=True, slots=True)
class CompleteRequest:
    """Fill in what stands between prefix and suffix."""

    prefix: str
    suffix: str = ""
    language: str = ""
    single_line: bool = False


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """Write code by instruction. `source` is code the answer will mostly repeat, if any."""

    instruction: str
    language: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """One event of a run, and the text that became visible with it."""

    event: Prefill | Step
    text: str


@dataclass(frozen=True, slots=True)
class Result:
    """What came out."""

    kind: Kind
    text: str
    tokens: tuple[int, ...]
    finish_reason: FinishReason
    exact: bool
    exact_because: str
    """Why the tokens are those the target alone would give, or why that is not promised."""
    statistics: Statistics
    plain_seconds: float
    """What one token a forward would have taken about for these tokens, by the cost curve as this
    run corrected it; an estimate, to be compared with `statistics.decode_seconds`."""
    run_id: str | None = None


class Session:
    """Loaded weights with drafters. Use as a context manager, from one thread at a time.

    `notify(stage, share)` is told what takes long while opening. Raises UsageError for settings
    that are not allowed, ModelError and EngineError when the weights cannot be opened.
    """

    def __init__(self, settings: Settings, notify: Notify | None = None) -> None:
        check_settings(settings)
        self.settings = settings
        say = notify or (lambda stage, share: None)
        for name in settings.drafters:
            drafter_registry.find(name)  # a mistake is told before the weights are loaded
        self.loaded = load(_loading(settings, settings.model), say)
        self.syntax = self._make_syntax(say)
        self._small: Engine | None = None
        if "model" in settings.drafters:
            self._small = load(_loading(settings, settings.small_model), say).engine
        self._sequence: Sequence | None = None
        self._cached: list[int] = []
        self._running: Run | None = None
        self.forget()
        self._policy_for(settings.policy)

    def edit(self, request: EditRequest) -> Run:
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
        title = f"{request.name}: {request.instruction}"
        return self._run("edit", title, prompt, usual_room=2 * len(prompt.context.source) + 512)

    def complete(self, request: CompleteRequest) -> Run:
        """A run whose result is what goes between prefix and suffix."""
        loaded = self.loaded
        prompt = complete_prompt(
            loaded.metadata, loaded.tokenizer, request.prefix, request.suffix, request.language
        )
        stop = ("\n",) if request.single_line else ()
        title = "after " + request.prefix[-60:].strip().rsplit("\n", 1)[-1]
        return self._run("complete", title, replace(prompt, stop=stop), usual_room=256)

    def generate(self, request: GenerateRequest) -> Run:
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
        return self._run("generate", request.instruction, prompt, usual_room=room)

    def forget(self, keep_prompt: bool = False) -> None:
        """Empty every store: drafters with what they learned, corrections of the cost curve, and
        the prefix cache, unless `keep_prompt` asks for that to stay (it saves time only)."""
        resources = drafter_registry.Resources(
            tokenizer=self.loaded.tokenizer,
            corpus=self.settings.corpus_directory,
            small_engine=self._small,
            syntax=self.syntax,
        )
        names = self.settings.drafters
        self.drafters: tuple[Drafter, ...] = tuple(
            drafter_registry.build(name, resources) for name in names
        )
        self._curve = CostCurve(self.loaded.calibration.seconds_by_rows)
        gated = self.settings.policy == "gate"
        self._gate = open_gate(self.settings.gate_weights) if gated else None
        if not keep_prompt:
            self._cached = []

    def close(self) -> None:
        """Free the weights."""
        store = self.loaded.store
        if store is not None and self._curve.speed < MEASURED_BUSY:
            store.forget()
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

    def _make_syntax(self, say: Notify) -> Syntax | None:
        """What follows the output's syntax, where a setting or a drafter asks for it."""
        if not self.settings.syntax and "forced" not in self.settings.drafters:
            return None
        tokenizer = self.loaded.tokenizer
        return Syntax(tokenizer, lambda why: say(f"going on without syntax: {why}", None))

    def _policy_for(self, name: str) -> Policy:
        asked = self.settings
        rule = SeedRule(deep=asked.seed_depth, low=asked.seed_low, high=asked.seed_high)
        policy = make_policy(
            name,
            self._curve,
            self._fewest(),
            syntax=self.syntax,
            rule=rule,
            model=self._gate,
        )
        return policy if self.syntax is None else PruningPolicy(policy, self.syntax)

    def _fewest(self) -> int:
        if self.settings.numerics == "fast":
            return 1
        return self.loaded.calibration.invariance.invariant_from or 1

    def _run(self, kind: Kind, title: str, prompt: Prompt, usual_room: int) -> Run:
        context, loaded, settings = prompt.context, self.loaded, self.settings
        # one token of the context is kept free: a lone step carries a guess beside its token
        left = loaded.context_length - len(context.prompt) - 1
        if left < 1:
            raise ContextFull(
                f"the prompt has {len(context.prompt)} tokens and the context holds "
                f"{loaded.context_length}; raise --context or give a smaller file"
            )
        wanted = settings.max_tokens or usual_room
        sample = make_sampler(
            settings.temperature, settings.top_p, settings.top_k, settings.min_p, settings.seed
        )
        ends = Endings(
            loaded.tokenizer,
            prompt.stop,
            context.source,
            completion_ends(loaded.metadata) if kind == "complete" else (),
        )
        plan = Plan(context, sample, ends, min(wanted, left), self._fewest())
        policy = self._policy_for(settings.policy)
        full: FinishReason = "context" if left < wanted else "length"
        return Run(self, plan, policy, Asked(kind, title, prompt.stop, full))

    def _sequence_for(self, prompt: tuple[int, ...]) -> Sequence:
        """The session's sequence, cut back to what it shares with this prompt."""
        if self._sequence is None:
            self._sequence = self.loaded.engine.open_sequence()
            self._cached = []
        shared = shared_length(self._cached, prompt[:-1])
        self._sequence.truncate(min(shared, self._sequence.length))
        return self._sequence

    def _exactness(self) -> tuple[bool, str]:
        invariance = self.loaded.calibration.invariance
        if self.settings.numerics == "fast":
            return False, "numerics: one-token forwards round differently (--numerics fast)"
        if invariance.invariant_from is None:
            return False, (
                f"numerics: this engine rounds differently by batch size, which changed "
                f"{invariance.mismatch_rate:.0%} of the tokens when measured"
            )
        return True, (
            "every token is the target's own choice, and its logits do not depend on the draft"
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run was asked for, beyond its plan."""

    kind: Kind
    title: str
    stop: tuple[str, ...]
    full: FinishReason
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
        """Events, once. Raises UsageError the second time, and while another run of the session
        has begun and not ended: both would move one KV cache."""
        session, prompt = self._session, self.plan.context.prompt
        self._begin()
        sequence = session._sequence_for(prompt)
        tally = Tally(len(prompt), sequence.length)
        stream = TextStream(session.loaded.tokenizer, self._asked.stop)
        output: list[int] = []
        reason: FinishReason = "cancelled"
        writer = self._writer()
        begun = perf_counter()
        session._running = self
        try:
            for event in decode(sequence, self.plan, session.drafters, self._policy):
                text = ""
                if isinstance(event, Step):
                    output.extend(event.tokens)
                    text = stream.add(event.tokens)
                    if event.finish_reason is not None:
                        reason = event.finish_reason
                        text += stream.finish()
                tally.add(event, perf_counter() - begun)
                if writer is not None:
                    writer.step(event)
                yield Progress(event, text)
        except Cancelled:
            stream.finish()
        finally:
            session._running = None
            session._cached = [*prompt, *output][: sequence.length]
            reason = self._asked.full if reason == "length" else reason
            self._finish(output, stream.shown, reason, tally.statistics(), writer)

    def _begin(self) -> None:
        if self._begun:
            raise UsageError("a run is iterated once; ask the session for another one")
        if self._session._running is not None:
            raise UsageError(
                "another run of this session is under way; iterate it to its end or close its"
                " iterator first"
            )
        self._begun = True

    def _finish(
        self,
        output: list[int],
        text: str,
        reason: FinishReason,
        statistics: Statistics,
        writer: RunWriter | None,
    ) -> None:
        kind = self._asked.kind
        exact, because = self._session._exactness()
        if writer is not None:
            writer.close(RunOutcome(reason, exact, because, asdict(statistics)))
        self._result = Result(
            kind=kind,
            # the stop string of an answer in a fence begins with the line end of the last line
            text=text + "\n" if kind != "complete" and text else text,
            tokens=tuple(output),
            finish_reason=reason,
            exact=exact,
            exact_because=because,
            statistics=statistics,
            plain_seconds=len(output) * self._session._curve.seconds(1),
            run_id=writer.run_id if writer is not None and writer.problem is None else None,
        )

    def _writer(self) -> RunWriter | None:
        session, settings = self._session, self._session.settings
        if not settings.record:
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
    "CompleteRequest",
    "EditRequest",
    "GenerateRequest",
    "Loaded",
    "Progress",
    "Result",
    "Run",
    "Session",
]
