"""Training the gate: what it can learn it learns, what it was tested on it has not seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from bench_doubles import write_functions

from redraft.bench.cli import app as bench
from redraft.bench.gate.cli import app as gate
from redraft.bench.gate.control import CrossValidation, ShuffledKinds, compare
from redraft.bench.gate.examples import Examples, gather, gather_all
from redraft.bench.gate.run import control, evaluate, train
from redraft.bench.gate.training import FOLDS, fit, fold_of, online, quality, split, still
from redraft.bench.replay.curves import find_curve
from redraft.bench.replay.run import Replayer, ReplayPlan
from redraft.bench.traces import Trace, read_traces
from redraft.bench.watch import Silent
from redraft.engines.fake import FakeTokenizer
from redraft.errors import InputError, UsageError
from redraft.schedule import read_weights
from redraft.schedule.features import FIELDS, NUMERIC, Features
from schedule_doubles import Lines, Place

TOKENIZER = FakeTokenizer()


def made(task: str, count: int = 600, seed: int = 0) -> Examples:
    """Drafters say 0.5; in kind `good` nearly all tokens are accepted, in `bad` hardly any."""
    random = np.random.default_rng(seed)
    good = random.random(count) < 0.5
    accepted = (random.random(count) < np.where(good, 0.95, 0.05)).astype(float)
    numeric = np.zeros((count, len(NUMERIC)))
    numeric[:, 0] = 1.0
    others = tuple(f"{field}=x" for field in FIELDS[1:])
    categories = tuple(("kind=good" if one else "kind=bad", *others) for one in good)
    return Examples(task, Features(numeric, categories), np.full(count, 0.5), accepted)


def test_it_learns_what_drafters_do_not_know() -> None:
    weights = fit([made("a", seed=1), made("b", seed=2)])
    unseen = made("c", seed=3)
    estimates = still(weights, [unseen])
    kinds = np.array([names[0] == "kind=good" for names in unseen.features.categories])
    assert estimates[kinds].mean() > 0.8 > 0.2 > estimates[~kinds].mean()
    before, after = (quality(one, unseen.accepted) for one in (unseen.estimates, estimates))
    assert after.log_loss < 0.5 * before.log_loss
    assert fit([made("a", seed=1), made("b", seed=2)]) == weights


def test_it_leaves_good_estimates_alone_and_forgets_rare_categories() -> None:
    random = np.random.default_rng(4)
    one = made("a", 2000)
    coin = replace(one, accepted=(random.random(2000) < 0.5).astype(float))
    weights = fit([coin])
    assert max(abs(value) for value in weights.categories.values()) < 0.15
    rare = replace(
        one,
        features=Features(one.features.numeric, (("kind=rare",) * 7, *one.features.categories[1:])),
    )
    assert "kind=rare" not in fit([rare]).categories


def test_learning_on_the_way_helps_where_a_task_is_unlike_others() -> None:
    weights = fit([made("a", seed=1)])
    turned = made("b", seed=2)
    turned = replace(turned, accepted=1.0 - turned.accepted)
    assert (
        quality(online(weights, [turned]), turned.accepted).log_loss
        < quality(still(weights, [turned]), turned.accepted).log_loss
    )


def test_quality_by_hand() -> None:
    accepted = np.array([1.0] * 8 + [0.0] * 2)
    right = quality(np.full(10, 0.8), accepted)
    assert right.log_loss == pytest.approx(-(0.8 * np.log(0.8) + 0.2 * np.log(0.2)))
    sorted_out = quality(np.where(accepted > 0, 0.9, 0.1), accepted)
    assert sorted_out.calibration_error == pytest.approx(0.1)
    assert sorted_out.log_loss < right.log_loss


def test_tasks_are_split_for_good_and_never_shared() -> None:
    examples = [made(f"task {number}", 30) for number in range(40)]
    assert {fold_of(one.task) for one in examples} == set(range(FOLDS))
    learned, tested = split(examples, 0)
    assert {one.task for one in learned}.isdisjoint(one.task for one in tested)
    assert len(learned) + len(tested) == 40
    with pytest.raises(InputError, match="too few"):
        split(examples[:1], 0)


def test_shuffled_kinds_keep_everything_else() -> None:
    class Alternating:
        turn = 0

        def place(self, after: tuple[int, ...] = ()) -> Place | None:
            self.turn += 1
            return Place("ab"[self.turn % 2], self.turn, "f", "c", "r") if self.turn > 1 else None

    view = ShuffledKinds(Alternating(), "seed")
    assert view.place() is None
    places = [view.place() for _ in range(200)]
    true = ["ab"[turn % 2] for turn in range(2, 202)]
    kinds = [place.kind for place in places if place]
    assert [place.depth for place in places if place] == list(range(2, 202))
    agree = sum(one == other for one, other in zip(kinds, true, strict=True))
    assert set(kinds) == {"a", "b"} and 60 < agree < 140


# --- on recorded outputs -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("gate")
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("REDRAFT_HOME", str(root / "home"))
    path = write_functions(root / "functions.jsonl", 7)
    words = ["trace", "functions", f"--path={path}", "--engine=fake", "--temperature=0.3"]
    place = f"--output={root / 'traces'}"
    bench([*words, "--max-tokens=100", "--drafters=source,suffix", place], standalone_mode=False)
    monkeypatch.undo()
    return root / "traces"


def plan(folder: Path, follow: bool = True) -> ReplayPlan:
    traces = tuple(replace(trace, excluded=None) for trace in read_traces([folder]))
    curve = find_curve("server-2-cores-a")
    drafters = ("source", "suffix")
    return ReplayPlan(
        traces, ("gate",), drafters, curve, follow=(lambda _: Lines()) if follow else None
    )


def test_examples_are_what_the_loop_would_have_seen(folder: Path) -> None:
    asked = plan(folder)
    replayer = Replayer(asked, TOKENIZER)
    found = gather_all(replayer, asked.traces)
    assert [one.task for one in found] == [trace.task for trace in asked.traces]
    for one in found:
        count = len(one.accepted)
        assert count == len(one.estimates) == len(one.features.categories)
        assert one.features.numeric.shape == (count, len(NUMERIC))
        assert set(one.accepted.tolist()) <= {0.0, 1.0}
        assert {"kind=even", "kind=odd"} & {names[3] for names in one.features.categories}
    never: Trace = replace(asked.traces[0], output=asked.traces[0].output[:1], room=1)
    assert gather(replayer, never) is None


def test_a_trained_gate_carries_its_card(folder: Path) -> None:
    asked = plan(folder)
    weights = train(asked, TOKENIZER, Silent())
    card = weights.card
    assert card["syntax"] is True and card["drafters"] == ["source", "suffix"]
    assert card["held_out"]["tasks"] + len(card["tasks"]) == len(asked.traces)
    assert "kind=none" in weights.categories and "kind=even" in weights.categories
    tested = evaluate(asked, TOKENIZER, weights, Silent())
    assert tested["tasks"] == card["held_out"]["tasks"]
    assert tested["gate"]["log_loss"] == pytest.approx(card["held_out"]["gate"]["log_loss"])
    everything = {"tasks": [trace.task for trace in asked.traces]}
    with pytest.raises(UsageError, match="learned from all"):
        evaluate(asked, TOKENIZER, replace(weights, card=everything), Silent())


def test_the_control_replays_all_ways_over_all_tasks(folder: Path) -> None:
    found = control(plan(folder), TOKENIZER, Silent())
    assert set(found["ways"]) == {"gate", "kinds-shuffled", "no-syntax", "cost"}
    assert {way["tasks"] for way in found["ways"].values()} == {7}
    assert [one["name"] for one in found["differences"]] == [
        "gate over kinds-shuffled",
        "gate over no-syntax",
        "gate over cost",
    ]
    assert all(one["low"] <= one["change"] <= one["high"] for one in found["differences"])
    with pytest.raises(UsageError, match="syntax"):
        control(plan(folder, follow=False), TOKENIZER, Silent())


def test_a_difference_has_the_sign_of_the_faster_one(folder: Path) -> None:
    asked = plan(folder, follow=False)
    rows = CrossValidation(asked, TOKENIZER).rows()
    slower = [
        replace(row, timings=replace(row.timings, drafted=(2 * row.timings.drafted[0],)))
        for row in rows
        if row.timings
    ]
    found = compare("one over other", rows, slower)
    assert found.change == pytest.approx(1.0) == found.low == found.high
    assert compare("other over one", slower, rows).change == pytest.approx(-0.5)
    same = compare("itself", rows, rows)
    assert (same.low, same.change, same.high) == (0.0, 0.0, 0.0)


def test_train_and_evaluate_by_their_commands(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.setattr("redraft.bench.gate.cli._UNENDED", ())
    output = tmp_path / "gate.json"
    gate(["train", str(folder), f"--output={output}", "--no-syntax"], standalone_mode=False)
    out = capsys.readouterr().out
    assert "log-loss" in out and out.splitlines()[-1] == str(output)
    assert str(tmp_path) not in output.read_text()
    assert read_weights(output).card["syntax"] is False
    words = ["evaluate", str(folder), f"--gate-weights={output}", "--no-syntax", "--json"]
    gate(words, standalone_mode=False)
    assert orjson.loads(capsys.readouterr().out)["gate"]["log_loss"] > 0
