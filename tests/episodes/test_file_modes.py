"""What a user has closed to others stays closed: their files, the backups and the copies that runs make of them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from session.files.run_folders import find_run
from tests.fixtures.prompted_run import play_prompted
from tests.fixtures.typed_command import typed

CLOSED = ("Memories.md", "knowledgebase.md", "map_state.json", "lexicon.json", "episode_summaries.jsonl")
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
