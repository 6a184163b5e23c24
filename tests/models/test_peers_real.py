"""llama.cpp's server engine as a peer: every mode loads the real small weights and answers."""

from __future__ import annotations

import pytest

from availability import unavailable
from conftest import SMALL, weights
from redraft.bench.peers.messages import PeerOpening
from redraft.bench.peers.process import PeerProcess
from redraft.bench.peers.specs import DRAFT, LLAMA_CPP

PROMPT = (750, 912, 2877, 982, 262, 470) * 8
"""Any tokens will do; repeated, so that there is something to draft."""


@pytest.mark.peers
@pytest.mark.parametrize("mode", LLAMA_CPP.modes)
def test_the_real_engine_answers_in_every_mode_and_ends_by_itself(mode: str) -> None:
    if LLAMA_CPP.version is None:
        unavailable(f"{LLAMA_CPP.package} is not installed; pip install 'redraft[peers]'")
    path = str(weights(SMALL))
    opening = PeerOpening(mode, path, path if mode == DRAFT else "", context=512, threads=2)
    with PeerProcess(LLAMA_CPP.module, LLAMA_CPP.class_name, opening) as peer:
        answer = peer.ask(PROMPT, 8)
    assert peer._process.returncode == 0
    assert 1 <= len(answer.tokens) <= 8
    assert answer.prompt_seconds > 0 and answer.decode_seconds > 0
    assert answer.accepted is not None and 0 <= answer.accepted <= (answer.proposed or 0)
