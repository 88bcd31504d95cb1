"""What a person sees in a terminal, screen by screen, is what is kept in ``tests/golden/terminal``."""

from __future__ import annotations

import shutil

import pytest

from tests.golden.golden_file import assert_golden
from tools.terminal_recordings import SCENES, record

pytestmark = [
    pytest.mark.slow,  # each scene starts the program in a terminal of its own
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_is_shown_as_it_was_recorded(name: str) -> None:
    assert_golden(f"terminal/{name}.txt", record(name))
