"""The front door: edit, complete and generate with loaded weights.

Terminal, server, language server and bench all come through here, so all give the same
guarantees. It knows settings and puts the parts together; it holds no decoding logic of its own.
"""

from __future__ import annotations

from dataclasses import replace
from types import TracebackType

from redraft import drafters as drafter_registry
from redraft.config import Settings, check_settings
from redraft.context import (
    Prompt,
    chat_prompt,
    complete_prompt,
    edit_prompt,
    generate_prompt,
    text_prompt,
)
from redraft.cost import CostCurve
from redraft.decode import Plan
from redraft.ends import Endings
from redraft.errors import ContextFull
from redraft.grammar import Grammars
from redraft.loading import Loaded, Loading, Notify, load
from redraft.models import completion_ends
from redraft.protocols import Engine, Policy, Sampler
from redraft.pruning import PruningPolicy
from redraft.requests import (
    AS_SET,
    ChatRequest,
    CompleteRequest,
    EditRequest,
    GenerateRequest,
    Options,
    Request,
    TextRequest,
)
from redraft.results import Progress, Result
from redraft.sampling import make_sampler
from redraft.schedule import READ_SYNTAX, SeedRule, make_policy, open_gate
from redraft.session.run import Asked, Run
from redraft.slots import Equipment, Slots
from redraft.syntax import Syntax
from redraft.tokens import FinishReason

MEASURED_BUSY = 0.6
"""Forwards faster than this share of the measured times say that the machine was busy when it was
measured, so that the curve's shape is not to be trusted either: the next session measures again."""


class Session:
    """Loaded weights with drafters. Use as a context manager, from one thread at a time.

    `notify(stage, share)` is told what takes long while opening. At most `slots` runs may be under
    way at once; each has a KV cache and drafters of its own. Raises UsageError for settings that
    are not allowed, ModelError and EngineError when the weights cannot be opened.
    """

    def __init__(self, settings: Settings, notify: Notify | None = None, slots: int = 1) -> None:
        check_settings(settings)
        self.settings = settings
        self._say = say = notify or (lambda stage, share: None)
        for name in settings.drafters:
            drafter_registry.find(name)  # a mistake is told before the weights are loaded
        self.loaded = load(_loading(settings, settings.model), say)
        self._small: Engine | None = None
        if "model" in settings.drafters:
            self._small = load(_loading(settings, settings.small_model), say).engine
        self._learn_anew()
        self.slots = Slots(slots, self.loaded.engine.open_sequence, self._equip)
        self._grammars = Grammars(self.loaded.tokenizer, self.loaded.metadata.end_tokens)

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
        self.slots.forget(keep_tokens=keep_prompt)
        self._learn_anew()

    def close(self) -> None:
        """Free the weights."""
        store = self.loaded.store
        if store is not None and self.curve.speed < MEASURED_BUSY:
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

    def policy_for(self, syntax: Syntax | None) -> Policy:
        """A policy as set, for one run beside this syntax."""
        asked = self.settings
        rule = SeedRule(deep=asked.seed_depth, low=asked.seed_low, high=asked.seed_high)
        policy = make_policy(
            asked.policy, self.curve, self._fewest(), syntax=syntax, rule=rule, model=self._gate
        )
        return policy if syntax is None else PruningPolicy(policy, syntax)

    def _learn_anew(self) -> None:
        """What runs teach about this machine and about drafts, as it was before any."""
        self.curve = CostCurve(self.loaded.calibration.seconds_by_rows)
        gated = self.settings.policy == "gate"
        self._gate = open_gate(self.settings.gate_weights) if gated else None

    def _fewest(self) -> int:
        if self.settings.numerics == "fast":
            return 1
        return self.loaded.calibration.invariance.invariant_from or 1

    def _equip(self) -> Equipment:
        """What works beside a sequence. Syntax is followed where a setting, a drafter or the policy
        asks for it."""
        asked, syntax = self.settings, None
        if asked.syntax or "forced" in asked.drafters or asked.policy in READ_SYNTAX:
            syntax = Syntax(self.loaded.tokenizer, self._without_syntax)
        resources = drafter_registry.Resources(
            tokenizer=self.loaded.tokenizer,
            corpus=self.settings.corpus_directory,
            small_engine=self._small,
            syntax=syntax,
        )
        names = self.settings.drafters
        return Equipment(tuple(drafter_registry.build(name, resources) for name in names), syntax)

    def _without_syntax(self, why: str) -> None:
        self._say(f"going on without syntax: {why}", None)

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
        full: FinishReason = "context" if left < wanted else "length"
        return Run(self, plan, replace(asked, stop=stop, full=full))

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
