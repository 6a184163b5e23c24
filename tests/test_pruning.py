"""The policy that keeps syntax up with the output and cuts drafts."""

from __future__ import annotations

from collections.abc import Sequence as Tokens

from redraft.engines.fake import FakeTokenizer
from redraft.protocols import DraftContext, Drafter, Policy
from redraft.pruning import PruningPolicy
from redraft.syntax import Place, Syntax
from redraft.tokens import Choice, Draft, Step, Verdict

TOKENIZER = FakeTokenizer()


class Asking:
    """Drafts one text, and notes where it was."""

    def __init__(self, syntax: Syntax, text: str) -> None:
        self._syntax = syntax
        self._tokens = tuple(TOKENIZER.encode(text))
        self.places: list[Place | None] = []

    def start(self, context: DraftContext) -> None:
        self.places = [self._syntax.place()]

    def choose(self, drafters: Tokens[Drafter], room: int) -> Draft:
        count = len(self._tokens)
        return Draft(self._tokens, (0.9,) * count, ("asking",) * count, (0,) * count)

    def commit(self, step: Step) -> None:
        self.places.append(self._syntax.place())


def committed(text: str) -> Step:
    choices = tuple(Choice(token, 0.0) for token in TOKENIZER.encode(text))
    return Step(0, 0, Verdict(Draft(), 0, choices), 1, 0.0, 0.0, 0.0)


def test_drafts_are_cut_where_nothing_is_open_any_more() -> None:
    syntax = Syntax(TOKENIZER)
    policy: Policy = PruningPolicy(Asking(syntax, "]) + 1"), syntax)
    policy.start(DraftContext((1, 2, 3), language="python"))
    assert len(policy.choose([], 10)) == 0
    policy.commit(committed("x = ["))
    assert TOKENIZER.decode(policy.choose([], 10).tokens) == "]"
    policy.commit(committed("f("))
    policy.commit(committed("["))
    assert TOKENIZER.decode(policy.choose([], 10).tokens) == "]) + 1"


def test_the_inner_policy_sees_syntax_as_of_now() -> None:
    syntax = Syntax(TOKENIZER)
    inner = Asking(syntax, "x")
    policy = PruningPolicy(inner, syntax)
    policy.start(DraftContext((1, 2, 3), language="python"))
    policy.commit(committed("x = ["))
    policy.start(DraftContext((1, 2, 3), language="python"))
    policy.commit(committed("y = ("))
    assert [place and place.depth for place in inner.places] == [0, 1]


def test_without_a_grammar_drafts_stay_as_they_are() -> None:
    syntax = Syntax(TOKENIZER)
    policy = PruningPolicy(Asking(syntax, ")))"), syntax)
    policy.start(DraftContext((1, 2, 3)))
    assert len(policy.choose([], 10)) == 3
