"""A run's files have names that no option and no story may take, and the modes that a user has given them."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from orchestration.history import Branch
from orchestration.learning import shared_files
from session.errors import ConfigurationError
from session.files.run_folders import find_run
from session.files.shared_files import is_reserved
from session.game_configuration import GameConfiguration
from tests.fixtures.doomed_run import STORY
from tests.fixtures.prompted_run import fork_of, play_prompted
from tests.fixtures.typed_command import typed
from tests.fixtures.whole_run import verify_run

OWN_NAMES: dict[str, Any] = {
    "knowledge_file": "notes.md",
    "map_state_file": "atlas.json",
    "simple_memory": {"memory_file": "places.md"},
}
ARCHIVE = "# Archive of the knowledge base\n\n- The tide turns at noon (in Mechanics until Ep1, T9)\n"


def test_a_run_with_file_names_of_its_own_is_repeated_exactly_and_its_fork_has_the_archive(tmp_path: Path) -> None:
    (tmp_path / "notes.archive.md").write_text(ARCHIVE)
    play_prompted(STORY, tmp_path, turns=5, **OWN_NAMES)
    replayed = verify_run(STORY, tmp_path)
    assert replayed.difference is None
    assert replayed.is_whole
    fork = fork_of(STORY, tmp_path, Branch(1, 3))
    assert (fork.folder / "notes.archive.md").read_text() == ARCHIVE


def test_no_name_in_a_work_folder_can_be_taken_by_something_else(own_story: Path, tmp_path: Path) -> None:
    play_prompted(own_story, tmp_path, turns=12, episodes=5)
    kept = {file.name for file in shared_files(GameConfiguration()).files}
    made = {path.name for path in tmp_path.iterdir()}
    assert len(kept & made) >= 5
    assert [name for name in made - kept if not is_reserved(name)] == []


def test_an_option_cannot_give_a_file_the_name_of_another(own_story: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    with pytest.raises(ConfigurationError, match=r"two files of the work folder would have the name routes\.json"):
        play_prompted(own_story, work, turns=1, knowledge_file="Routes.json")
    assert not work.exists()
    with pytest.raises(ConfigurationError, match=r"would have the name knowledgebase\.archive\.md"):
        shared_files(GameConfiguration(simple_memory={"memory_file": "knowledgebase.archive.md"}))


CLOSED = (
    "Memories.md",
    "knowledgebase.md",
    "map_state.json",
    "routes.json",
    "transcripts.md",
    "episode_summaries.jsonl",
)
MEMORY = ("The stair is slippery", "Hold the rail.")


def modes(folder: Path, names: tuple[str, ...]) -> dict[str, int]:
    return {name: stat.S_IMODE((folder / name).stat().st_mode) for name in names if (folder / name).exists()}


@pytest.fixture(scope="module")
def played(own_story: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A work folder whose shared files were restricted after a first run, and the folder of a second run that used
    them.
    """
    folder = tmp_path_factory.mktemp("work")
    play_prompted(own_story, folder, turns=12, episodes=5)
    for name in CLOSED:
        (folder / name).chmod(0o600)
    for backup in folder.glob("*.backup"):  # made before the files were closed
        backup.unlink()
    first = find_run(folder)
    play_prompted(own_story, folder, turns=12)
    (second,) = (run for run in first.parent.iterdir() if run != first)  # both may have begun in the same second
    return folder, second


def test_a_run_leaves_files_closed_and_closes_what_it_copies_of_them(played: tuple[Path, Path]) -> None:
    workdir, run = played
    for folder in (workdir, run / "start", run / "end"):
        found = modes(folder, CLOSED)
        assert found == dict.fromkeys(CLOSED, 0o600), folder
    assert stat.S_IMODE(run.stat().st_mode) == 0o700
    assert modes(run, ("manifest.json",)) == {"manifest.json": 0o600}
    backups = modes(workdir, tuple(f"{name}.backup" for name in CLOSED))
    assert backups
    assert set(backups.values()) == {0o600}


def test_a_memory_added_by_hand_leaves_them_closed(played: tuple[Path, Path]) -> None:
    workdir, _ = played
    (workdir / "Memories.md.backup").chmod(0o644)
    added = typed("memories", "add", "32", *MEMORY, "--name", "Stair", "--workdir", str(workdir))
    assert added.status == 0, added
    assert "The stair is slippery" in (workdir / "Memories.md").read_text()
    assert set(modes(workdir, ("Memories.md", "Memories.md.backup")).values()) == {0o600}
