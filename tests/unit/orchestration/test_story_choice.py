"""The story that is played: the requested one, else the user's own copy, else ours."""

from __future__ import annotations

from pathlib import Path

from orchestration.opening import choose_story
from session.game_configuration import GameConfiguration, GameOptions


def test_the_story_asked_for_comes_before_the_users_copy_and_that_before_ours(tmp_path: Path, own_story: Path) -> None:
    ours = choose_story(GameConfiguration(), tmp_path)
    assert ours.path == own_story
    assert "ships with ZorkGPT" in ours.describe()
    copy = tmp_path / "infrastructure" / "zork.z5"
    copy.parent.mkdir()
    copy.write_bytes(b"")
    choice = choose_story(GameConfiguration(), tmp_path)
    assert choice.path == copy
    assert choice.describe() == "zork.z5 (your copy, in infrastructure/)"
    choice = choose_story(GameConfiguration(game=GameOptions(file=Path("mine.z8"))), tmp_path)
    assert choice.describe() == "mine.z8 (asked for)"
