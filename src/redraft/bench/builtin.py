"""A few tasks that need no file and no network, for the exactness bench and for tests.

Written for redraft; small on purpose, and too few for figures of speed.
"""

from __future__ import annotations

from redraft.bench.tasks import BenchTask
from redraft.session import CompleteRequest, EditRequest, GenerateRequest

_STACK = """class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        if not self.items:
            raise IndexError("pop from an empty stack")
        return self.items.pop()

    def peek(self):
        if not self.items:
            raise IndexError("peek at an empty stack")
        return self.items[-1]
"""
_WORDS = """def count_words(text):
    counts = {}
    for word in text.split():
        word = word.strip(".,;:!?").lower()
        if word:
            counts[word] = counts.get(word, 0) + 1
    return counts


def most_common(text, number):
    counts = count_words(text)
    pairs = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return pairs[:number]
"""
_READER = """import json


def load(path):
    file = open(path)
    data = json.load(file)
    file.close()
    return data


def save(path, data):
    file = open(path, "w")
    json.dump(data, file)
    file.close()
"""

_EDITS = (
    ("stack-rename", "stack.py", _STACK, "Rename the attribute items to elements."),
    ("stack-types", "stack.py", _STACK, "Add type hints to all parameters and return values."),
    ("words-docstrings", "words.py", _WORDS, "Add a one-line docstring to every function."),
    ("words-counter", "words.py", _WORDS, "Use collections.Counter in count_words."),
    ("reader-with", "reader.py", _READER, "Open files in with statements."),
    ("reader-order", "reader.py", _READER, "Put save before load."),
)
_FUNCTIONS = (
    ("gcd", "def gcd(a: int, b: int) -> int:\n    '''The greatest common divisor.'''\n"),
    ("flatten", "def flatten(items: list) -> list:\n    '''All leaves of nested lists.'''\n"),
    ("is_prime", "def is_prime(n: int) -> bool:\n    '''Whether n is a prime number.'''\n"),
    ("roman", "def roman(n: int) -> str:\n    '''n (1 to 3999) as a Roman numeral.'''\n"),
    ("chunks", "def chunks(items: list, size: int) -> list:\n    '''Cut into pieces.'''\n"),
    ("median", "def median(values: list[float]) -> float:\n    '''The middle value.'''\n"),
)
_COMPLETIONS = (
    (
        "mean",
        "def mean(values):\n    return ",
        "\n\n\ndef total(values):\n    return sum(values)\n",
    ),
    ("clamp", "def clamp(x, low, high):\n    if x < low:\n", "    return x\n"),
    (
        "invert",
        "def invert(table):\n    result = {}\n    for key, value in ",
        "\n    return result\n",
    ),
    ("area", "class Square:\n    def __init__(self, side):\n", "\n    def area(self):\n"),
    (
        "find",
        "def find(items, wanted):\n    for index, item in enumerate(items):\n",
        "    return -1\n",
    ),
    ("swap", "def swap(pair):\n    first, second = pair\n", "\n\nprint(swap((1, 2)))\n"),
)


def builtin_edits() -> tuple[BenchTask, ...]:
    """Whole-file edits without a check."""
    return tuple(
        BenchTask(
            f"builtin/{name}",
            "builtin",
            (f"builtin/{name}", instruction, source),
            EditRequest(source, instruction, file, "python"),
        )
        for name, file, source, instruction in _EDITS
    )


def builtin_functions() -> tuple[BenchTask, ...]:
    """Functions to write out from signature and docstring."""
    return tuple(
        BenchTask(
            f"builtin/{name}",
            "builtin",
            (f"builtin/{name}", head),
            GenerateRequest(
                f"Complete the function `{name}`. Repeat the given code.", "python", head
            ),
        )
        for name, head in _FUNCTIONS
    )


def builtin_completions() -> tuple[BenchTask, ...]:
    """Gaps to fill."""
    return tuple(
        BenchTask(
            f"builtin/{name}",
            "builtin",
            (f"builtin/{name}", prefix, suffix),
            CompleteRequest(prefix, suffix, "python"),
        )
        for name, prefix, suffix in _COMPLETIONS
    )
