"""One server for the tests that leave it as they found it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from serving import Served, served


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("server"), context=2048, max_tokens=24) as running:
        yield running
