"""A run whose shared files have custom names is repeated and forked with all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestration.history import Branch
from tests.fixtures.doomed_run import STORY
from tests.fixtures.prompted_run import fork_of, play_prompted
from tests.fixtures.whole_run import verify_run

OWN_NAMES: dict[str, Any] = {
    "knowledge_file": "notes.md",
    "map_state_file": "atlas.json",
    "simple_memory": {"memory_file": "places.md"},
}
ARCHIVE = "# Archive of the knowledge base\n\n- The tide turns at noon (in Mechanics until Ep1, T9)\n"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work folder of a run with file names of its own, begun with an archive there. No test changes it."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "notes.archive.md").write_text(ARCHIVE)
    play_prompted(STORY, folder, turns=5, **OWN_NAMES)
    return folder


def test_the_run_is_repeated_exactly(recorded: Path) -> None:
    replayed = verify_run(STORY, recorded)
    assert replayed.difference is None
    assert replayed.is_whole


def test_its_fork_has_the_archive(recorded: Path) -> None:
    fork = fork_of(STORY, recorded, Branch(1, 3))
    assert (fork.folder / "notes.archive.md").read_text() == ARCHIVE
