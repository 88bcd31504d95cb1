"""What a run makes in its work folder has a name that an option gives, or one that no option and no story may take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.file_names import is_reserved
from session.game_configuration import GameConfiguration
from tests.fixtures.prompted_run import play_prompted

if TYPE_CHECKING:
    from pathlib import Path


def test_no_name_in_a_work_folder_can_be_taken_by_something_else(own_story: Path, tmp_path: Path) -> None:
    play_prompted(own_story, tmp_path, turns=12, episodes=5)
    chosen = set(GameConfiguration().file_names().values())
    made = {path.name for path in tmp_path.iterdir()}
    assert len(chosen & made) >= 3
    assert [name for name in made - chosen if not is_reserved(name)] == []
