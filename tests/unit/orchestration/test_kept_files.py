"""What a run keeps of the files that runs share, and gets back: each of them by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestration.managers import shared_files
from session.game_configuration import GameConfiguration

if TYPE_CHECKING:
    from pathlib import Path

    from session.files.run_folders import SharedFiles

FILES = {
    "Memories.md": "# Memories\n",
    "knowledgebase.md": "# Knowledge Base\n",
    "knowledgebase.archive.md": "# Archive of the knowledge base\n",
    "map_state.json": "{}\n",
    "routes.json": '{"version": 1}\n',
    "lexicon.json": '{"version": 1}\n',
    "memory_news.txt": "news\n",
    "episode_summaries.jsonl": '{"episode": 1}\n',
}


def files_in(workdir: Path) -> SharedFiles:
    return shared_files(GameConfiguration(zork_game_workdir=workdir))


def contents_of(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_text(content)
    return folder


def test_every_file_that_runs_share_is_kept_and_comes_back(workdir: Path, tmp_path: Path) -> None:
    files_in(workdir).copy_to(tmp_path / "copies")
    assert contents_of(tmp_path / "copies") == FILES
    files_in(tmp_path / "far" / "away").restore_from(tmp_path / "copies")
    assert contents_of(tmp_path / "far" / "away") == FILES


def test_a_file_that_was_not_there_is_kept_as_an_empty_one_and_does_not_come_back(
    workdir: Path, tmp_path: Path
) -> None:
    (workdir / "lexicon.json").unlink()
    files_in(workdir).copy_to(tmp_path / "copies")
    assert contents_of(tmp_path / "copies") == {**FILES, "lexicon.json": ""}
    files_in(tmp_path / "again").restore_from(tmp_path / "copies")
    assert "lexicon.json" not in contents_of(tmp_path / "again")


@pytest.mark.parametrize("name", FILES)
def test_an_edit_of_any_of_them_is_noticed_and_named(workdir: Path, tmp_path: Path, name: str) -> None:
    files_in(workdir).copy_to(tmp_path / "copies")
    assert files_in(workdir).edited_since(tmp_path / "copies") == ""
    (workdir / name).write_text("something else\n")
    assert files_in(workdir).edited_since(tmp_path / "copies") == name


def test_files_of_other_names_are_kept_under_the_names_that_every_run_has(tmp_path: Path) -> None:
    config = GameConfiguration(
        zork_game_workdir=tmp_path,
        knowledge_file="what.md",
        map_state_file="where.json",
        simple_memory={"memory_file": "who.md"},
    )
    files = shared_files(config)
    for name in ("what.md", "where.json", "who.md"):
        (tmp_path / name).write_text(name)
    copies = tmp_path / "copies"
    files.copy_to(copies)
    kept = {name: content for name, content in contents_of(copies).items() if content}
    assert kept == {"Memories.md": "who.md", "knowledgebase.md": "what.md", "map_state.json": "where.json"}
    (tmp_path / "where.json").write_text("elsewhere")
    assert files.edited_since(copies) == "where.json"


def test_a_file_that_comes_back_may_be_read_by_whom_it_might_be(workdir: Path, tmp_path: Path) -> None:
    (workdir / "lexicon.json").chmod(0o640)
    files_in(workdir).copy_to(tmp_path / "copies")
    (workdir / "lexicon.json").unlink()
    files_in(workdir).restore_from(tmp_path / "copies")
    assert (workdir / "lexicon.json").stat().st_mode & 0o777 == 0o640
