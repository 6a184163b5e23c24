"""Measuring an engine's numerics finds what the fake engine was told to imitate."""

from __future__ import annotations

import pytest

from redraft.engines.fake import FakeEngine, FakeSequence
from redraft.errors import Cancelled
from redraft.invariance import Invariance, measure_invariance
from redraft.protocols import Logits


@pytest.mark.parametrize(("imitated", "found"), [(1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (8, 8)])
def test_finds_the_smallest_tried_number_that_holds(imitated: int, found: int) -> None:
    assert measure_invariance(FakeEngine(invariant_from=imitated)).invariant_from == found


@pytest.mark.parametrize("imitated", [None, 9, 16])
def test_finds_that_none_holds(imitated: int | None) -> None:
    measured = measure_invariance(FakeEngine(invariant_from=imitated))
    assert measured.invariant_from is None
    assert 0.0 < measured.mismatch_rate <= 1.0


def test_exact_numerics_have_no_mismatch() -> None:
    assert measure_invariance(FakeEngine(invariant_from=1)) == Invariance(1, 0.0)
    assert measure_invariance(FakeEngine(invariant_from=2)).mismatch_rate > 0.0


class LargeForwardsDiffer(FakeEngine):
    """Forwards of 64 tokens and more round differently, as in some libraries."""

    def open_sequence(self) -> FakeSequence:
        return _LargeForwardsDiffer(self)


class _LargeForwardsDiffer(FakeSequence):
    def _append(self, token: int, forward: int) -> None:
        super()._append(token, 1 if forward >= 64 else forward)


@pytest.mark.parametrize("seed", range(3))
def test_large_forwards_are_compared_too(seed: int) -> None:
    assert measure_invariance(LargeForwardsDiffer(), seed).invariant_from is None


def test_leaves_no_sequence_behind() -> None:
    opened = []

    class Counting(FakeEngine):
        def open_sequence(self) -> FakeSequence:
            opened.append(super().open_sequence())
            return opened[-1]

    measure_invariance(Counting())
    assert [sequence.length for sequence in opened] == [0]


def test_what_the_engine_raises_arrives() -> None:
    class Failing(FakeSequence):
        def evaluate(self, *arguments: object, **options: object) -> Logits:
            raise ZeroDivisionError

    class Engine(FakeEngine):
        def open_sequence(self) -> FakeSequence:
            return Failing(self)

    with pytest.raises(ZeroDivisionError):
        measure_invariance(Engine())


def test_reports_its_progress_between_forwards_so_that_it_can_be_stopped() -> None:
    shares: list[float] = []
    measure_invariance(FakeEngine(), progress=shares.append)
    assert shares == sorted(shares)
    assert shares[0] == 0.0 and shares[-1] < 1.0 and len(set(shares)) >= 12

    def stop(share: float) -> None:
        if share > 0.5:
            raise Cancelled("interrupted")

    with pytest.raises(Cancelled):
        measure_invariance(FakeEngine(), progress=stop)
