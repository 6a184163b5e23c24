"""Fake engines with faults, and small sets of tasks, for the tests of the bench."""

from __future__ import annotations

from collections.abc import Sequence as Tokens
from pathlib import Path

import numpy as np
import orjson

from redraft.engines import Opened, Opening
from redraft.engines.fake import FakeEngine, FakeSequence, FakeTokenizer
from redraft.protocols import Cancelled, Logits

WORDS = ("ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibex", "jay")


def write_functions(path: Path, count: int = 6) -> Path:
    """A file in HumanEval's form."""
    lines = [
        orjson.dumps(
            {
                "task_id": f"Made/{number}",
                "prompt": f"def {word}(x: int) -> int:\n    '''Count each {word} in {number}.'''\n",
                "entry_point": word,
                "canonical_solution": "    y = x\n" * (1 + 3 * (number % 4)) + "    return x\n",
            }
        )
        for number, word in enumerate(WORDS[:count])
    ]
    path.write_bytes(b"\n".join(lines))
    return path


def write_completions(path: Path, count: int = 4) -> Path:
    """A file in HumanEval-Infilling's form."""
    lines = [
        orjson.dumps(
            {
                "task_id": f"SingleLineInfilling/{word}/L0",
                "prompt": f"def {word}(x):\n    ",
                "suffix": f"\n    return {word}\n",
                "canonical_solution": f"{word} = x",
            }
        )
        for word in WORDS[:count]
    ]
    path.write_bytes(b"\n".join(lines))
    return path


class Roundings(FakeSequence):
    """Says that it is invariant from two tokens on, and is not where a text is long."""

    def evaluate(
        self, tokens: Tokens[int], rows: int, cancelled: Cancelled | None = None
    ) -> Logits:
        logits = super().evaluate(tokens, rows, cancelled)
        broken = self.length > 250 and len(tokens) > 2
        return np.roll(logits, 1, axis=1) if broken else logits


class RoundingEngine(FakeEngine):
    """Gives sequences that are not invariant."""

    def open_sequence(self) -> Roundings:
        return Roundings(self)


def open_rounding(opening: Opening) -> Opened:
    return Opened(RoundingEngine(context_length=opening.context_length), FakeTokenizer())


class Countdown:
    """Forwards until the user presses Ctrl-C; None: never."""

    left: int | None = None


class Interrupted(FakeSequence):
    """Computes until the countdown is over."""

    def evaluate(
        self, tokens: Tokens[int], rows: int, cancelled: Cancelled | None = None
    ) -> Logits:
        if Countdown.left is not None:
            Countdown.left -= 1
            if Countdown.left < 0:
                raise KeyboardInterrupt
        return super().evaluate(tokens, rows, cancelled)


class InterruptedEngine(FakeEngine):
    """Gives sequences that stop by Ctrl-C."""

    def open_sequence(self) -> Interrupted:
        return Interrupted(self)


def open_interrupted(opening: Opening) -> Opened:
    return Opened(InterruptedEngine(context_length=opening.context_length), FakeTokenizer())
