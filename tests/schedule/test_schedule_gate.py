"""The gate: what it sees, what it says of it, and that it learns from what becomes of drafts."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.cost import CostCurve
from redraft.errors import InputError
from redraft.protocols import DraftContext
from redraft.schedule import Gate, SurvivalModel, Weights, default_weights, make_policy, open_gate
from redraft.schedule.features import FIELDS, JUDGED, NUMERIC, FeatureReader
from redraft.schedule.survival_model import weights_json
from redraft.tokens import FILLER, NO_DRAFT, Choice, Draft, Step, Verdict
from schedule_doubles import FixedPlace, Place, Sure

CONTEXT = DraftContext((1,))
NOTHING = Weights((0.0,) * len(NUMERIC), {}, {})
survivals = st.lists(st.floats(0, 1), min_size=1, max_size=60)


def drafted(survival: list[float], drafter: str = "sure") -> Draft:
    count = len(survival)
    return Draft(tuple(range(count)), tuple(survival), (drafter,) * count, (2,) * count)


def judged(draft: Draft, accepted: int) -> Step:
    choices = (Choice(1, 0.0),) * (accepted + 1)
    return Step(0, 0, Verdict(draft, accepted, choices), len(draft) + 1, 0.0, 0.0, 0.0)


@given(survivals)
def test_without_weights_it_says_what_the_drafter_says(survival: list[float]) -> None:
    gate = Gate(SurvivalModel(NOTHING))
    gate.start(CONTEXT)
    draft = drafted(survival)
    said = gate.judge(draft)
    assert said.tokens == draft.tokens and said.evidence == draft.evidence
    bounded = np.clip(survival[:JUDGED], 0.001, 0.999)
    assert said.survival == pytest.approx((*bounded, *survival[JUDGED:]))


@given(survivals, st.lists(st.floats(-3, 3), min_size=len(NUMERIC), max_size=len(NUMERIC)))
def test_survival_is_a_probability_whatever_the_weights(
    survival: list[float], numeric: list[float]
) -> None:
    gate = Gate(SurvivalModel(Weights(tuple(numeric), {"drafter=sure": 2.0}, {})))
    gate.start(CONTEXT)
    draft = drafted(survival)
    for accepted in (0, len(draft)):
        said = gate.judge(draft)
        assert all(0.0 <= value <= 1.0 for value in said.survival)
        gate.commit(judged(said, accepted))


def test_the_empty_draft_stays() -> None:
    assert Gate(SurvivalModel(NOTHING)).judge(NO_DRAFT) == NO_DRAFT


def test_features_are_named_and_follow_the_run() -> None:
    view = FixedPlace(Place("loop", 3, "f", "keyword", "test"))
    reader = FeatureReader(view)
    reader.start(CONTEXT)
    draft = drafted([0.9] * 4)
    before = reader.read(draft)
    assert before.numeric.shape == (4, len(NUMERIC))
    assert before.categories[0] == (
        *("drafter=sure", "sure=2", "position=0"),
        *("kind=loop", "token_class=keyword", "region=test", "handed=no"),
    )
    assert len(FIELDS) == len(before.categories[0])
    column = {name: number for number, name in enumerate(NUMERIC)}
    assert before.numeric[0, column["depth"]] == pytest.approx(np.log1p(3) / 4)
    assert view.asked == 1

    assert reader.commit(judged(draft, 4)).tolist() == [1.0] * 4
    lucky = reader.read(draft)
    assert reader.commit(judged(draft, 1)).tolist() == [1.0, 0.0]
    unlucky = reader.read(draft)
    for name in ("run", "recent", "own_recent"):
        assert unlucky.numeric[0, column[name]] < lucky.numeric[0, column[name]]


def test_fillers_and_ends_are_not_judged() -> None:
    reader = FeatureReader()
    reader.start(CONTEXT)
    before = reader.read(drafted([0.9])).numeric
    filler = Draft((1,), (0.0,), (FILLER,), (0,))
    assert reader.commit(judged(filler, 0)).tolist() == []
    cut = Step(0, 0, Verdict(drafted([0.9] * 3), 1, (Choice(1, 0.0),)), 4, 0.0, 0.0, 0.0)
    assert reader.commit(cut).tolist() == [1.0]
    assert before.shape == (1, len(NUMERIC))


def test_it_learns_what_its_drafter_does_not() -> None:
    """A drafter that is always sure and always wrong is believed less and less, by small steps."""
    gate = Gate(SurvivalModel(Weights(NOTHING.numeric, {"drafter=sure": 0.0}, {})))
    gate.start(CONTEXT)
    draft = drafted([0.9, 0.9])
    said = []
    for _ in range(60):
        judgement = gate.judge(draft)
        said.append(judgement.survival[0])
        gate.commit(judged(judgement, 0))
    assert all(later < earlier for earlier, later in pairwise(said))
    assert said[0] - said[1] < 0.02 and said[-1] < 0.6
    gate.start(DraftContext((2,)))
    assert gate.judge(draft).survival[0] < 0.7  # it lasts beyond a generation


def test_what_it_says_decides_the_length() -> None:
    curve = CostCurve({1: 1.0, 2: 1.3, 4: 2.0, 8: 3.4, 16: 6.0})
    doubtful = Weights((-4.0, *NOTHING.numeric[1:]), {}, {})
    lengths = []
    for weights in (NOTHING, doubtful):
        policy = make_policy("gate", curve, model=SurvivalModel(weights))
        policy.start(CONTEXT)
        lengths.append(len(policy.choose([Sure(0.97)], 30)))
    assert lengths[0] > 3 and lengths[1] == 0


def test_weights_survive_a_file(tmp_path: Path) -> None:
    weights = Weights(tuple(range(len(NUMERIC))), {"drafter=source": 0.5}, {"commit": "abc"})
    path = tmp_path / "gate.json"
    path.write_bytes(weights_json(weights))
    gate, again = Gate(SurvivalModel(weights)), Gate(open_gate(str(path)))
    for one in (gate, again):
        one.start(CONTEXT)
    draft = drafted([0.3, 0.6], "source")
    assert gate.judge(draft) == again.judge(draft)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"version": 99}', '{"version": 1}'])
def test_other_files_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "gate.json"
    path.write_text(content)
    with pytest.raises(InputError, match="gate train"):
        open_gate(str(path))
    with pytest.raises(InputError, match="there is no file"):
        open_gate(str(tmp_path / "absent.json"))


@pytest.mark.parametrize("weight", [1e308, -1e7, float("nan"), True, "1", None, [], 10**18])
@pytest.mark.parametrize("group", ["numeric", "categories"])
def test_a_weight_that_is_no_sane_number_is_refused(
    tmp_path: Path, group: str, weight: object
) -> None:
    content = json.loads(weights_json(default_weights()))
    content[group][next(iter(content[group]))] = weight
    path = tmp_path / "gate.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"holds no gate of this version .*gate train"):
        open_gate(str(path))


@pytest.mark.parametrize(
    ("name", "value"),
    [("version", True), ("version", 1.0), ("version", "1"), ("card", []), ("numeric", [])],
)
def test_a_field_of_another_type_is_refused(tmp_path: Path, name: str, value: object) -> None:
    path = tmp_path / "gate.json"
    path.write_text(json.dumps(json.loads(weights_json(default_weights())) | {name: value}))
    with pytest.raises(InputError, match="holds no gate of this version"):
        open_gate(str(path))


def test_the_package_brings_weights_with_a_card() -> None:
    weights = default_weights()
    assert {"commit", "traces_sha256", "weights_sha256", "tasks", "held_out"} <= set(weights.card)
    assert any(weights.numeric) and any(weights.categories.values())
    held_out = weights.card["held_out"]
    assert held_out["gate"]["log_loss"] < 1.5 * held_out["drafters"]["log_loss"]
