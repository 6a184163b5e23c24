"""On real weights, what is drafted, by whom and how much never changes what comes out.

Compared are tokens and their log-probabilities, bit for bit, with plain decoding of the same
engine in the same numerics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from adversaries import Adversary
from redraft import drafters as registry
from redraft.context import Prompt, complete_prompt, edit_prompt, generate_prompt
from redraft.cost import CostCurve
from redraft.decode import Plan, decode
from redraft.drafters import Resources
from redraft.drafters.corpus.build import build_index
from redraft.drafters.corpus.files import project_segment
from redraft.ends import Endings
from redraft.engines import Opened
from redraft.models import Metadata, find, read_metadata
from redraft.protocols import Drafter, Policy, Sequence
from redraft.pruning import PruningPolicy
from redraft.sampling import make_sampler
from redraft.schedule import NonePolicy, make_policy
from redraft.syntax import Syntax
from redraft.tokens import Choice, Step

pytestmark = pytest.mark.models

ROOM = 40
CURVE = {rows: 0.02 * cost for rows, cost in {1: 1, 2: 1.2, 4: 2, 8: 3.4, 16: 6, 64: 24}.items()}
SAMPLINGS = {"greedy": {}, "seeded": {"temperature": 0.8, "seed": 1234}}
SOURCE = '''"""Stock of a small shop."""


class Stock:
    def __init__(self):
        self.items = {}

    def add(self, name, count):
        self.items[name] = self.items.get(name, 0) + count

    def remove(self, name, count):
        if self.items.get(name, 0) < count:
            raise ValueError(name)
        self.items[name] -= count
'''
MIXTURE = list(registry.BUILT_IN)
RUNS = [
    *((kind, [name]) for name in registry.BUILT_IN for kind in ("edit", "complete")),
    *((kind, MIXTURE) for kind in ("edit", "complete", "generate")),
]


def shown(part: str | list[str]) -> str:
    return part if isinstance(part, str) else "mixture" if part == MIXTURE else "+".join(part)


@dataclass(frozen=True, eq=False)
class Target:
    """Weights with what is needed to decode with them."""

    opened: Opened
    metadata: Metadata
    resources: Resources

    @cache  # noqa: B019  lives as long as the tests of this file
    def prompt(self, kind: str) -> Prompt:
        tokenizer = self.opened.tokenizer
        match kind:
            case "edit":
                wish = "Rename the method `add` to `put`."
                return edit_prompt(self.metadata, tokenizer, SOURCE, wish, "stock.py", "python")
            case "complete":
                before, after = SOURCE.split("    def remove")
                return complete_prompt(self.metadata, tokenizer, before, "    def count" + after)
        wish = "Write a function that reverses the words of a sentence."
        return generate_prompt(self.metadata, tokenizer, wish, "python")

    @cache  # noqa: B019
    def prefilled(self, kind: str) -> Sequence:
        """A sequence that holds nearly all of the prompt, to be forked."""
        sequence = self.opened.engine.open_sequence()
        sequence.evaluate(self.prompt(kind).context.prompt[:-4], rows=0)
        return sequence

    @cache  # noqa: B019
    def plain(self, kind: str, sampling: str) -> tuple[tuple[Choice, ...], str, int]:
        choices, reason, length, _ = self.generate(kind, sampling, [], NonePolicy())
        assert len(choices) > 5
        return choices, reason, length

    def generate(
        self, kind: str, sampling: str, drafters: list[Drafter], policy: Policy
    ) -> tuple[tuple[Choice, ...], str, int, int]:
        """Choices, finish reason, length of the KV cache, and accepted draft tokens."""
        prompt, fewest = self.prompt(kind), self.opened.engine.invariant_from
        assert fewest is not None
        ends = Endings(self.opened.tokenizer, prompt.stop, prompt.context.source)
        sample = make_sampler(**SAMPLINGS[sampling])  # type: ignore[arg-type]
        plan = Plan(prompt.context, sample, ends, ROOM, fewest)
        sequence = self.prefilled(kind).fork()
        try:
            events = list(decode(sequence, plan, drafters, policy))
            steps = [event for event in events if isinstance(event, Step)]
            choices = tuple(choice for step in steps for choice in step.verdict.choices)
            accepted = sum(step.verdict.accepted for step in steps)
            return choices, str(steps[-1].finish_reason), sequence.length, accepted
        finally:
            sequence.close()


@pytest.fixture(scope="module")
def target(
    small_ik: Opened, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Opened, str], Target]]:
    """Makes a target of an open engine, with the small weights as its small model."""
    root: Path = tmp_path_factory.mktemp("project")
    (root / "stock.py").write_text(SOURCE)
    (root / "words.py").write_text("def reverse_words(sentence):\n    return sentence\n" * 3)
    index = tmp_path_factory.mktemp("index")
    build_index(index, project_segment(root), small_ik.tokenizer)
    syntax = Syntax(small_ik.tokenizer)
    resources = Resources(small_ik.tokenizer, index, small_ik.engine, syntax)

    @cache
    def make(opened: Opened, model: str) -> Target:
        return Target(opened, read_metadata(find(model)), resources)

    yield make


def compare(target: Target, kind: str, sampling: str, names: list[str]) -> int:
    drafters = [registry.build(name, target.resources) for name in names]
    accepted = 0
    for policy in ("cost", "gate", "seed", "fixed:6") if names == MIXTURE else ("cost",):
        made = make_policy(policy, CostCurve(CURVE), fewest=2)
        if target.resources.syntax is not None and "forced" in names:
            made = PruningPolicy(made, target.resources.syntax)
        *got, taken = target.generate(kind, sampling, drafters, made)
        assert tuple(got) == target.plain(kind, sampling)
        accepted += taken
    return accepted


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize(("kind", "names"), RUNS, ids=shown)
def test_drafters_change_nothing_on_the_small_weights(
    target: Callable[[Opened, str], Target],
    small_ik: Opened,
    kind: str,
    sampling: str,
    names: list[str],
) -> None:
    on = target(small_ik, "qwen2.5-coder-0.5b")
    accepted = compare(on, kind, sampling, names)
    if kind == "edit" or names == ["model"]:
        assert accepted > 0  # else nothing was put to the test


@pytest.mark.parametrize("names", [["source", "suffix"], ["model"]], ids="+".join)
@pytest.mark.parametrize(("kind", "sampling"), [("edit", "greedy"), ("complete", "seeded")])
def test_drafters_change_nothing_on_the_default_weights(
    target: Callable[[Opened, str], Target],
    large_ik: Opened,
    kind: str,
    sampling: str,
    names: list[str],
) -> None:
    on = target(large_ik, "qwen2.5-coder-1.5b")
    assert compare(on, kind, sampling, names) > 0 or kind == "complete"


@pytest.mark.parametrize("behaviour", ["mostly right", "wrong", "stop", "too long"])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_adversaries_change_nothing(
    target: Callable[[Opened, str], Target], small_ik: Opened, sampling: str, behaviour: str
) -> None:
    on = target(small_ik, "qwen2.5-coder-0.5b")
    plain = on.plain("edit", sampling)
    truth = [*on.prompt("edit").context.prompt, *(choice.token for choice in plain[0])]
    end = on.opened.tokenizer.encode("<|im_end|>", special=True)
    for seed in range(2):
        adversary: Drafter = Adversary(behaviour, truth, end, seed)
        policy = make_policy(f"fixed:{5 + 6 * seed}", CostCurve(CURVE), fewest=2)
        *got, accepted = on.generate("edit", sampling, [adversary], policy)
        assert tuple(got) == plain
        assert (accepted > 5) is (behaviour != "wrong")


def test_one_token_forwards_would_change_something(
    target: Callable[[Opened, str], Target], small_ik: Opened
) -> None:
    """Guards the comparisons: in other numerics the log-probabilities are not the same."""
    on = target(small_ik, "qwen2.5-coder-0.5b")
    prompt = on.prompt("edit")
    plan = Plan(
        prompt.context, make_sampler(), Endings(on.opened.tokenizer, prompt.stop), ROOM, fewest=1
    )
    sequence = on.prefilled("edit").fork()
    choices = [
        choice
        for event in decode(sequence, plan, [], NonePolicy())
        if isinstance(event, Step)
        for choice in event.verdict.choices
    ]
    sequence.close()
    assert tuple(choices) != on.plain("edit", "greedy")[0]
