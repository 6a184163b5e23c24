"""Whatever somebody else's drafter does, it is told by name and the command ends as a failure."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from redraft import drafters
from redraft.cost import CostCurve
from redraft.decode import Plan, decode
from redraft.drafters import Resources
from redraft.drafters.foreign import ForeignDrafter
from redraft.ends import Endings
from redraft.engines.fake import FakeEngine, FakeSequence, FakeTokenizer
from redraft.errors import DrafterFailed
from redraft.protocols import DraftContext, Drafter
from redraft.sampling import make_sampler
from redraft.schedule import make_policy
from redraft.tokens import Draft, Verdict

TOKENIZER = FakeTokenizer()
VOCABULARY = TOKENIZER.vocab_size


class Hostile:
    """A drafter of which one call does something else; it notes what it is asked after."""

    name = "hostile"

    def __init__(self, call: str = "", does: Callable[[], object] = lambda: None) -> None:
        self._call = call
        self._does = does
        self.asked_after: list[tuple[int, ...]] = []

    def start(self, context: DraftContext) -> None:
        if self._call == "start":
            self._does()

    def propose(self, limit: int, after: tuple[int, ...] = ()) -> Draft:
        self.asked_after.append(after)
        return self._does() if self._call == "propose" else Draft()  # type: ignore[return-value]

    def commit(self, verdict: Verdict) -> None:
        if self._call == "commit":
            self._does()


def raising(error: BaseException) -> Callable[[], object]:
    def does() -> object:
        raise error

    return does


def giving(value: object) -> Callable[[], object]:
    return lambda: value


def run(*several: Drafter) -> None:
    plan = Plan(DraftContext((1, 2)), make_sampler(), Endings(TOKENIZER), 8)
    policy = make_policy("fixed:4", CostCurve({1: 1.0, 2: 1.2, 4: 2.0}))
    list(decode(FakeSequence(FakeEngine()), plan, several, policy))


@pytest.mark.parametrize("call", ["start", "propose", "commit"])
@pytest.mark.parametrize("error", [RuntimeError("two\nlines"), SystemExit(0), GeneratorExit()])
def test_what_it_raises_is_its_failure(call: str, error: BaseException) -> None:
    with pytest.raises(DrafterFailed) as raised:
        run(ForeignDrafter("entry", Hostile(call, raising(error)), VOCABULARY))
    said = str(raised.value)
    assert said.startswith(f"drafter 'entry' failed: {type(error).__name__}")
    assert said.endswith("; leave it out")
    assert "\n" not in said


def test_ctrl_c_in_the_main_thread_stays_an_interruption_and_is_none_elsewhere() -> None:
    drafter = ForeignDrafter("entry", Hostile("start", raising(KeyboardInterrupt())), VOCABULARY)
    raised: list[BaseException] = []

    def start() -> None:
        try:
            drafter.start(DraftContext((1,)))
        except BaseException as error:  # noqa: BLE001  # the one to look at
            raised.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert [type(error) for error in raised] == [DrafterFailed]
    with pytest.raises(KeyboardInterrupt):
        start()
        raise raised[-1]


@pytest.mark.parametrize(
    ("draft", "reason"),
    [
        (None, "propose gave NoneType"),
        ((1, 2), "propose gave tuple"),
        (Draft([65], [0.9]), "not list"),  # type: ignore[arg-type]
        (Draft((VOCABULARY,), (0.9,)), f"token {VOCABULARY} is outside"),
        (Draft((-1,), (0.9,)), "token -1 is outside"),
        (Draft((2**70,), (0.9,)), "is outside"),
        (Draft((1.5,), (0.9,)), "not float"),  # type: ignore[arg-type]
        (Draft(("a",), (0.9,)), "not str"),  # type: ignore[arg-type]
        (Draft((True,), (0.9,)), "not bool"),
        (Draft((65,), ("sure",)), "not str"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_draft_is_its_failure_and_reaches_no_other(draft: object, reason: str) -> None:
    other = Hostile()
    bad = ForeignDrafter("bad", Hostile("propose", giving(draft)), VOCABULARY)
    with pytest.raises(DrafterFailed, match=reason) as raised:
        run(other, bad)
    assert str(raised.value).startswith("drafter 'bad' failed: ")
    assert set(other.asked_after) == {()}


def test_a_sound_draft_passes_cut_to_the_limit() -> None:
    tokens = tuple(int(token) for token in np.arange(5))
    inner = Hostile("propose", giving(Draft(tokens, (np.float64(0.5),) * 5)))
    drafter = ForeignDrafter("entry", inner, VOCABULARY)
    assert drafter.propose(3) == Draft((0, 1, 2), (0.5,) * 3)
    assert drafter.name == "hostile"
    assert isinstance(drafter, Drafter)


@dataclass
class Point:
    """An entry point of another package."""

    name: str
    value: str
    load: Callable[[], Callable[[Resources], object]]


@pytest.mark.parametrize(
    ("factory", "reason"),
    [
        (lambda resources: None, "'x' cannot be built: its factory gave NoneType"),
        (lambda resources: raising(SystemExit(0))(), "'x' cannot be built: SystemExit: 0"),
        (lambda resources: raising(OSError("no"))(), "'x' cannot be built: OSError: no"),
    ],
)
def test_what_cannot_be_built_is_its_failure(
    monkeypatch: pytest.MonkeyPatch, factory: Callable[[Resources], object], reason: str
) -> None:
    point = Point("x", "somewhere:build", lambda: factory)
    monkeypatch.setattr(drafters, "entry_points", lambda group, name: [point])
    with pytest.raises(DrafterFailed, match=reason):
        drafters.build("x", Resources(TOKENIZER))


def test_what_is_built_for_another_package_is_held_to_the_contract(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    point = Point("x", "somewhere:build", lambda: lambda resources: Hostile("propose"))
    monkeypatch.setattr(drafters, "entry_points", lambda group, name: [point])
    built = drafters.build("x", Resources(TOKENIZER))
    with pytest.raises(DrafterFailed, match="drafter 'x' failed: TypeError: propose gave NoneType"):
        built.propose(4)
