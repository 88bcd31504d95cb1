"""Runs of which results pages keep the journal: its three parts are enough to verify the run elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path

from session.files.journal import JOURNAL_FILE, MANIFEST, read_manifest
from session.files.run_folders import AT_START, find_run
from tests.fixtures.prompted_run import play_prompted
from tests.fixtures.typed_command import typed

PUBLISHED = Path(__file__).parents[2] / "docs" / "records" / "results" / "journals"


def replayed(run: Path, story: Path, *way: str) -> tuple[int, str]:
    shown = typed("replay", str(run), "--game", str(story), *way)
    return shown.status, shown.text


def test_journal_manifest_and_start_verify_a_run_in_another_folder_without_a_change(
    own_story: Path, tmp_path: Path
) -> None:
    play_prompted(own_story, tmp_path / "game_files", turns=8)
    run = find_run(tmp_path / "game_files")
    kept = tmp_path / "journals" / "tidehouse" / "runs" / run.name
    shutil.copytree(run / AT_START, kept / AT_START)
    for name in (JOURNAL_FILE, MANIFEST):
        shutil.copyfile(run / name, kept / name)
    shutil.rmtree(tmp_path / "game_files")
    before = sorted(kept.parents[2].rglob("*"))
    for way in ((), ("--from-actions",)):
        status, text = replayed(kept, own_story, *way)
        assert (status, "is repeated exactly: 8 turns" in text) == (0, True), text
    assert sorted(kept.parents[2].rglob("*")) == before


def test_the_story_answers_every_published_run_as_its_journal_has_it(own_story: Path) -> None:
    for journal in PUBLISHED.glob(f"tidehouse*/runs/*/{JOURNAL_FILE}"):
        status, text = replayed(journal.parent, own_story, "--from-actions")
        assert status == 0, text


def test_a_manifest_does_not_say_where_the_program_is_installed(own_story: Path, tmp_path: Path) -> None:
    play_prompted(own_story, tmp_path, turns=1)
    assert "/" not in read_manifest(find_run(tmp_path)).command[0]
