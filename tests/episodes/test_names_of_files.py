"""What a run makes in its work folder has a name that an option gives, or one that no option and no story may take."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestration.learning import shared_files
from session.errors import ConfigurationError
from session.files.shared_files import is_reserved
from session.game_configuration import GameConfiguration
from tests.fixtures.prompted_run import play_prompted


def test_no_name_in_a_work_folder_can_be_taken_by_something_else(own_story: Path, tmp_path: Path) -> None:
    play_prompted(own_story, tmp_path, turns=12, episodes=5)
    kept = {file.name for file in shared_files(GameConfiguration()).files}
    made = {path.name for path in tmp_path.iterdir()}
    assert len(kept & made) >= 5
    assert [name for name in made - kept if not is_reserved(name)] == []


def test_an_option_cannot_give_a_file_the_name_of_another(own_story: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    with pytest.raises(ConfigurationError, match=r"two files of the work folder would have the name lexicon\.json"):
        play_prompted(own_story, work, turns=1, knowledge_file="Lexicon.json")
    assert not work.exists()
