"""What the forced drafter proposes, with bytes as tokens."""

from __future__ import annotations

import pytest

from redraft.drafters.forced import PRIORS, ForcedDrafter
from redraft.engines.fake import FakeTokenizer
from redraft.protocols import DraftContext
from redraft.syntax import REASONS, Syntax
from redraft.tokens import Choice, Draft, Verdict

TOKENIZER = FakeTokenizer()


def drafted(language: str, text: str, context: DraftContext | None = None) -> str:
    syntax = Syntax(TOKENIZER)
    drafter = ForcedDrafter(TOKENIZER, syntax)
    context = context or DraftContext((1, 2, 3), language=language)
    syntax.start(context)
    drafter.start(context)
    syntax.commit(TOKENIZER.encode(text))
    return TOKENIZER.decode(drafter.propose(32).tokens)


@pytest.mark.parametrize(
    ("language", "text", "draft"),
    [
        ("python", "measure = 1\nprint(mea", "sure"),
        ("python", "measure = 1\nmeasles = 2\nprint(mea", ""),  # two begin so
        ("python", "measure = 1\nprint('mea", ""),
        ("python", "def f():\n    measure = 1\nprint(mea", ""),  # out of scope
        ("python", "if x:\n  y = 1\nelse", ":\n    "),
        ("python", "def f(a):\n", "    "),
        ("python", "def f(a):\n    x = 1\n", "    "),
        ("python", "x = 1\n", ""),
        ("python", "x = [\n", "    "),
        ("go", "func f() {\n", "\t"),
        ("java", "class A {\n    void f() {\n        if (x)", " {\n            "),
        ("java", "class A {\n  void f() {\n    for (;;) {\n      break", ";\n"),
        ("javascript", "if (x) {\n} else", " {\n  "),
        ("javascript", "while (f(x)", ""),
        ("klingon", "else", ""),
    ],
)
def test_proposals(language: str, text: str, draft: str) -> None:
    assert drafted(language, text) == draft


def test_indentation_is_that_of_the_source() -> None:
    source = tuple(TOKENIZER.encode("def f():\n  if x:\n    return 1\n"))
    context = DraftContext((1, 2, 3), source, language="python")
    assert drafted("python", "def g():\n", context) == "  "


def test_the_end_of_a_gap() -> None:
    prefix, middle, suffix, end = TOKENIZER.encode(
        "<|fim_prefix|><|fim_middle|><|fim_suffix|><|endoftext|>", special=True
    )
    before, after = TOKENIZER.encode("f(a, [b"), TOKENIZER.encode("\n)\n")
    context = DraftContext(
        (prefix, *before, suffix, *after, middle), suffix=tuple(after), language="python"
    )
    syntax = Syntax(TOKENIZER)
    drafter = ForcedDrafter(TOKENIZER, syntax)
    syntax.start(context)
    drafter.start(context)
    assert drafter.propose(8).tokens == ()
    assert drafter.propose(8, tuple(TOKENIZER.encode("]"))).tokens == (end,)
    assert drafter.propose(8, tuple(TOKENIZER.encode("])"))).tokens == ()


def test_survival_follows_what_the_target_says() -> None:
    syntax = Syntax(TOKENIZER)
    drafter = ForcedDrafter(TOKENIZER, syntax)
    context = DraftContext((1, 2, 3), language="python")
    syntax.start(context)
    drafter.start(context)
    syntax.commit(TOKENIZER.encode("def f(a):\n"))
    first = drafter.propose(1)
    assert first.drafters == ("forced",)
    for _ in range(20):
        drafter.commit(Verdict(first, 0, (Choice(0, 0.0),)))
    assert drafter.propose(1).survival[0] < 0.6 * first.survival[0]


def test_every_reason_has_priors() -> None:
    assert len(PRIORS) == 2 * len(REASONS)


def test_without_syntax_it_says_nothing() -> None:
    drafter = ForcedDrafter(TOKENIZER, None)
    drafter.start(DraftContext((1,), language="python"))
    assert drafter.propose(8) == Draft()
