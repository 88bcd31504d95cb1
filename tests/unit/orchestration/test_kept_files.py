"""What a run keeps of the files that runs share, and gets back: each of them by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestration.learning import shared_files
from session.errors import StoreError
from session.files.run_folders import Checkpoint, SharedFiles, latest_checkpoint, make_checkpoint
from session.game_configuration import GameConfiguration

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


@pytest.mark.parametrize("missing", [None, "lexicon.json"])
def test_every_file_that_runs_share_is_kept_and_comes_back_and_a_missing_one_is_empty(
    workdir: Path, tmp_path: Path, missing: str | None
) -> None:
    kept = dict(FILES)
    if missing:
        (workdir / missing).unlink()
        kept[missing] = ""
    files_in(workdir).copy_to(tmp_path / "copies")
    assert contents_of(tmp_path / "copies") == kept
    assert files_in(workdir).read(tmp_path / "copies") == {name: text.encode() for name, text in kept.items()}
    files_in(tmp_path / "far" / "away").restore_from(tmp_path / "copies")
    assert contents_of(tmp_path / "far" / "away") == {name: text for name, text in kept.items() if text}


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
    assert files.read(copies)["where.json"] == b"where.json"


def test_a_file_that_comes_back_may_be_read_by_whom_it_might_be(workdir: Path, tmp_path: Path) -> None:
    (workdir / "lexicon.json").chmod(0o640)
    files_in(workdir).copy_to(tmp_path / "copies")
    (workdir / "lexicon.json").unlink()
    files_in(workdir).restore_from(tmp_path / "copies")
    assert (workdir / "lexicon.json").stat().st_mode & 0o777 == 0o640


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    return folder


def test_the_latest_checkpoint_is_found_and_older_ones_are_removed(workdir: Path, run: Path) -> None:
    assert latest_checkpoint(run) == Checkpoint(0, "", run / "start")
    for seq in (9, 10, 100):
        (workdir / "Memories.md").write_text(f"after line {seq}")
        make_checkpoint(run, seq, "abc", files_in(workdir))
    found = latest_checkpoint(run)
    assert (found.seq, found.sum) == (100, "abc")
    assert (found.copies / "Memories.md").read_text() == "after line 100"
    assert len(list((run / "checkpoints").iterdir())) == 1


def test_a_checkpoint_that_was_not_finished_does_not_count_and_a_damaged_one_is_named(workdir: Path, run: Path) -> None:
    make_checkpoint(run, 9, "abc", files_in(workdir))
    files_in(workdir).copy_to(run / "checkpoints" / "000000000012")
    assert latest_checkpoint(run).seq == 9
    (latest_checkpoint(run).copies / "line.json").write_text("[]")
    with pytest.raises(StoreError, match=r"line\.json does not name a line of the journal"):
        latest_checkpoint(run)
