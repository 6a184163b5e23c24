"""Memory of engines and sequences, and that nothing a caller does ends the process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from availability import unavailable
from conftest import SMALL, WEIGHTLESS, weights
from redraft.engines import Opened
from redraft.protocols import Engine

MEBIBYTE = 2**20
pytestmark = pytest.mark.usefixtures("opened")  # skips what is not installed here


def resident() -> int:
    """Bytes of this process in memory."""
    if not Path("/proc/self/statm").exists():
        unavailable("resident memory is read from /proc")
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def use(engine: Engine) -> None:
    tokens = np.arange(12).tolist()
    sequence = engine.open_sequence()
    sequence.evaluate(tokens, rows=2)
    fork = sequence.fork()
    fork.evaluate(tokens, rows=2)
    sequence.truncate(3)
    sequence.close()
    fork.close()


def test_many_sequences_leave_no_memory_behind(reopen: Callable[..., Opened]) -> None:
    engine = reopen(context_length=512).engine
    for _ in range(10):
        use(engine)
    before = resident()
    for _ in range(60):
        use(engine)
    assert resident() - before < 24 * MEBIBYTE  # one context is more


def test_many_engines_leave_no_memory_behind(reopen: Callable[..., Opened]) -> None:
    sizes = []
    for _ in range(8):
        opened = reopen(context_length=256)
        use(opened.engine)
        opened.engine.close()
        sizes.append(resident())
    assert sizes[-1] - sizes[2] < 200 * MEBIBYTE  # the weights of one are more than twice that


def test_parked_sequences_hold_no_context(reopen: Callable[..., Opened]) -> None:
    engine = reopen(context_length=2048, live_sequences=1).engine
    sequences = [engine.open_sequence() for _ in range(2)]
    for sequence in sequences:
        sequence.evaluate([1, 2, 3], rows=1)
    before = resident()
    sequences += [engine.open_sequence() for _ in range(10)]
    for sequence in sequences:
        sequence.evaluate([1, 2, 3], rows=1)
    assert resident() - before < 48 * MEBIBYTE  # ten contexts would be hundreds


ADVERSARY = """
import random, sys
from pathlib import Path
from redraft.engines import Opening, open_engine
from redraft.errors import RedraftError

name, path = sys.argv[1], Path(sys.argv[2])
opened = open_engine(name, Opening(path, context_length=256, live_sequences=2))
engine, tokenizer = opened.engine, opened.tokenizer
rng = random.Random(5)
size = engine.vocab_size
odd = [-1, size, 2**31, -(2**31), 2**63, 2**70, 1.5, float("nan"), None, "1", b"1", [1], True]
refused = answered = 0


def attempt(call):
    global refused, answered
    try:
        call()
        answered += 1
    except RedraftError as error:
        assert "\\n" not in str(error)
        refused += 1


def tokens():
    kind = rng.randrange(5)
    count = rng.choice([0, 1, 2, 3, 17, 64, 65, 129, 255, 256, 257, 1000])
    if kind == 0:
        return rng.choice(odd)
    if kind == 1:
        return [rng.choice([*odd, 5, 6]) for _ in range(min(count, 4))]
    return [rng.randrange(size) for _ in range(count)]


sequences = [engine.open_sequence() for _ in range(3)]
for round in range(int(sys.argv[3])):
    slot = rng.randrange(len(sequences))
    sequence = sequences[slot]
    kind = rng.randrange(10)
    if kind < 5:
        rows = rng.choice([0, 1, 2, 64, 65, rng.choice(odd)])
        answer = rng.random() < 0.2
        batch = tokens()
        attempt(lambda: sequence.evaluate(batch, rows, rng.choice([None, lambda: answer])))
    elif kind < 7:
        length = rng.choice([0, 1, 100, 256, rng.choice(odd)])
        attempt(lambda: sequence.truncate(length))
    elif kind == 7:
        attempt(lambda: sequences.__setitem__(slot, sequence.fork()))
    elif kind == 8:
        attempt(sequence.close)
        sequences[slot] = sequence if rng.random() < 0.5 else engine.open_sequence()
    else:
        token = rng.choice([*odd, size - 1, rng.randrange(size)])
        attempt(lambda: tokenizer.is_end(token))
        attempt(lambda: tokenizer.piece(token))
        text = "".join(chr(rng.randrange(1, 0xFFFF)) for _ in range(rng.randrange(40)))
        attempt(lambda: tokenizer.encode(text + "\\0<|im_end|>", rng.random() < 0.5))
engine.close()
for call in (engine.open_sequence, lambda: sequences[0].evaluate([1], 1), sequences[1].fork):
    attempt(call)
for sequence in sequences:
    sequence.close()
assert refused > 20 and answered > 20, (refused, answered)
"""


def run_apart(*arguments: str, program: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, so that an abort of the library is an exit code here."""
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, errors="replace", timeout=600
    )


def test_nothing_a_caller_does_ends_the_process(engine_name: str) -> None:
    if engine_name == "memory":
        return  # it is of the tests, and can be had in this process only
    path = Path() if engine_name == "fake" else weights(SMALL)
    rounds = 3000 if engine_name == "fake" else 150
    done = run_apart(engine_name, str(path), str(rounds), program=ADVERSARY)
    assert done.returncode == 0, done.stderr[-2000:]


DAMAGED = """
import sys
from pathlib import Path
from redraft.engines import Opening, open_engine
from redraft.errors import ModelDamaged

try:
    open_engine(sys.argv[1], Opening(Path(sys.argv[2])))
except ModelDamaged as error:
    assert "\\n" not in str(error) and sys.argv[2] in str(error), error
else:
    raise SystemExit("loaded")
"""


@pytest.mark.parametrize("kind", ["missing", "empty", "noise", "directory", "header", "short"])
def test_files_that_are_no_weights_are_refused(engine_name: str, kind: str, tmp_path: Path) -> None:
    if engine_name in WEIGHTLESS:
        return  # they read no file
    path = tmp_path / "weights.gguf"
    with weights(SMALL).open("rb") as source:
        content = {
            "missing": None,
            "directory": None,
            "empty": b"",
            "noise": b"GGUF\x03\0\0\0" + np.random.default_rng(3).bytes(4000),
            "header": source.read(100_000),
            "short": source.read(20_000_000),
        }[kind]
    if content is not None:
        path.write_bytes(content)
    elif kind == "directory":
        path.mkdir()
    done = run_apart(engine_name, str(path), program=DAMAGED)
    assert done.returncode == 0, done.stderr[-2000:]
