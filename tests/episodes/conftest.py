"""What several modules of whole episodes use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.troubled_server import Answers


@pytest.fixture(scope="module")
def server() -> Iterator[MisbehavingServer]:
    """A healthy model server."""
    with MisbehavingServer(Answers()) as running:
        yield running
