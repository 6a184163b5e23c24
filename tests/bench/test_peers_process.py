"""A peer's process: answers over the pipe, prints of native code, deaths, and its end."""

from __future__ import annotations

from pathlib import Path

import pytest
from peer_doubles import counting_spec

from redraft.bench.peers.messages import PeerAnswer, PeerOpening
from redraft.bench.peers.process import PeerFailed, PeerProcess


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The peer's process finds the doubles of this folder."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def opened(mode: str) -> PeerProcess:
    spec = counting_spec()
    return PeerProcess(spec.module, spec.class_name, PeerOpening(mode, "", "", 512, 1))


def test_it_answers_several_times_whatever_is_printed_and_ends_by_itself() -> None:
    with opened("quick") as peer:
        assert peer.ask([5, 6], 11) == PeerAnswer(tuple(range(1, 12)), 0.5, 0.25, 8, 8)
        assert peer.ask([5, 6], 3).tokens == (1, 2, 3)
    assert peer._process.returncode == 0


def test_an_abort_is_told_with_its_signal_and_last_words() -> None:
    with opened("aborting") as peer, pytest.raises(PeerFailed, match=r"SIGABRT: GGML_ASSERT"):
        peer.ask([5], 3)


def test_a_mode_that_cannot_be_opened_is_told() -> None:
    with pytest.raises(PeerFailed, match="this wheel has no unsupported"):
        opened("unsupported")


def test_a_class_that_is_not_there_is_told() -> None:
    opening = PeerOpening("plain", "", "", 512, 1)
    with pytest.raises(PeerFailed, match="no_such_module"):
        PeerProcess("no_such_module", "Peer", opening)


def test_an_error_of_ours_ends_a_peer_without_waiting_for_it() -> None:
    with pytest.raises(ZeroDivisionError), opened("quick") as peer:
        raise ZeroDivisionError
    assert peer._process.returncode is not None


def test_figures_count_only_what_the_decode_brought() -> None:
    answer = PeerAnswer((7, 8, 9, 10, 11), 1.0, 2.0, 5, 2)
    assert answer.timed_tokens == 4
    assert answer.seconds_per_token == 0.5
    assert answer.tokens_per_forward == 2.0
    assert PeerAnswer((7,), 1.0, 0.0, None, None).seconds_per_token is None
    assert PeerAnswer((7, 8), 1.0, 1.0, None, None).tokens_per_forward is None
