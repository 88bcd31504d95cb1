"""What the command line's tests share."""

from __future__ import annotations

import os

import pytest


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No option comes from the environment that the tests run in."""
    for name in os.environ:
        if name.startswith(("ZORKGPT_", "OPENAI_")):
            monkeypatch.delenv(name)
    return monkeypatch
