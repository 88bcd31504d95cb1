"""Two stories in one work folder: every command speaks of the one that was played last, or of the one that is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from session.files.run_folders import find_run
from tests.fixtures.command_line import Ran
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.typed_command import refused, typed

FIRST, SECOND = "dry", "wet"
RELEASE = slice(2, 4)
"""Where a story file says which release it is: the checksum leaves that out."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, server: MisbehavingServer, own_story: Path) -> Path:
    """A folder with two stories, and in its work folder a paused run of the first, then a whole one of the second."""
    folder = tmp_path_factory.mktemp("played")
    content = own_story.read_bytes()
    (folder / f"{FIRST}.z5").write_bytes(content)
    (folder / f"{SECOND}.z5").write_bytes(content[: RELEASE.start] + b"\0\2" + content[RELEASE.stop :])
    with pytest.MonkeyPatch.context() as here:
        here.chdir(folder)
        assert run(server, FIRST, "--max-turns", "6", "--max-tokens", "10").status == 1
        assert run(server, SECOND).status == 0
    return folder


@pytest.fixture(autouse=True)
def here(played: Path, tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> Path:
    """A copy of that folder, in which the commands run."""
    folder = shutil.copytree(played, tmp_path / "here")
    clean_environment.chdir(folder)
    return folder


def run(server: MisbehavingServer, story: str, *options: str) -> Ran:
    return typed("run", "--max-turns", "2", "--quiet", "--base-url", server.base_url, "--game", f"{story}.z5", *options)


def out(*arguments: str, status: int = 0) -> str:
    shown = typed(*arguments)
    assert shown.status == status, shown
    return shown.out.decode()


def runs_listed(*options: str) -> list[str]:
    """The lines of the list that begin with a run; lines below a run give the reason of its stop."""
    return [line for line in out("runs", "list", *options).splitlines()[1:] if not line.startswith(" ")]


def test_the_story_that_was_played_last_is_spoken_of(here: Path) -> None:
    latest = find_run(here / "game_files")
    assert latest.parent.parent == here / "game_files" / SECOND
    assert out("status").startswith(f"{SECOND}, run {latest.name}, in game_files/{SECOND}\n")
    assert out("runs", "show").startswith(f"Run         {latest.name}\n")
    assert f"game_files/{SECOND}/Memories.md" in out("memories", "show")
    assert out("replay") == f"Run {latest.name} of {SECOND} is repeated exactly: 2 turns\n"
    assert f" of run {latest.name} of {SECOND}; " in out("prompt").splitlines()[-1]
    assert f"{SECOND}, run {latest.name}, in game_files/{SECOND}" in out("map").splitlines()[0]
    assert f"game_files/{SECOND}/routes.json" in out("routes", "show").splitlines()[0]
    assert [line.split()[1] for line in runs_listed()] == [SECOND, FIRST]


@pytest.mark.parametrize("story", [FIRST, f"{FIRST}.z5", "elsewhere.z5"])
def test_a_story_can_be_named_by_its_name_or_by_its_file_wherever_that_is(here: Path, story: str) -> None:
    shutil.copy(f"{FIRST}.z5", "elsewhere.z5")
    older = find_run(here / "game_files", json.loads(out("runs", "list", "--json", "--game", FIRST))[0]["run_id"])
    assert out("status", "--game", story).startswith(f"{FIRST}, run {older.name}, in game_files\n")
    assert out("runs", "show", "--game", story).startswith(f"Run         {older.name}\n")
    assert "game_files/Memories.md" in out("memories", "check", "--game", story)
    assert out("replay", "--game", story).startswith(f"Run {older.name} of {FIRST} is repeated exactly")
    assert len(runs_listed("--game", story)) == 1


def test_the_same_bytes_under_another_name_are_the_same_story_in_the_same_folder(
    here: Path, server: MisbehavingServer
) -> None:
    shutil.copy(f"{FIRST}.z5", "renamed.z5")
    assert run(server, "renamed").status == 0
    latest = find_run(here / "game_files")
    assert latest.parent.parent == here / "game_files"
    assert out("status").startswith(f"{FIRST}, run {latest.name}, in game_files\n")
    assert len(runs_listed("--game", FIRST)) == len(runs_listed("--game", "renamed.z5")) == 2
    shutil.copy(f"{SECOND}.z5", "damp.z5")
    assert "in game_files/wet/runs/" in run(server, "damp").out.decode()
    elsewhere = run(server, SECOND, "--workdir", "game_files")
    assert (elsewhere.status, f"belongs to the story {FIRST}" in elsewhere.err.decode()) == (2, True)
    assert {folder.parent.name for folder in (here / "game_files").rglob("story.json")} == {"game_files", SECOND}


def test_a_story_where_a_run_is_asked_for_and_a_story_that_was_not_played_are_errors_that_name_what_there_is() -> None:
    as_run = refused(1, "runs", "show", SECOND.upper())
    assert f"it is a story: name one of its runs (--game {SECOND.upper()})" in as_run
    not_played = refused(2, "status", "--game", "moor")
    assert f"game_files has no run of this story; it has {FIRST}, {SECOND}" in not_played


def test_resume_goes_on_with_the_latest_run_that_can_and_says_which_it_left_out(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    done = find_run(here / "game_files")
    shown = typed("resume", "--max-tokens", "1000000", "--quiet")
    older = find_run(here / "game_files")
    assert shown.status == 0
    assert older.parent.parent == here / "game_files"
    assert capfd.readouterr().err == (
        f"Run {done.name} of {SECOND} is done; resuming the latest unfinished run, {older.name}\n"
    )
    assert f"Resuming run {older.name} of {FIRST}" in shown.out.decode()
    assert out("status").startswith(f"{FIRST}, run {older.name}, in game_files\n")
    nothing = typed("resume")
    assert (nothing.status, nothing.out) == (1, b"")
    assert f"run {older.name} has ended" in nothing.err.decode()


def test_another_story_of_a_name_that_is_taken_gets_a_folder_that_is_named_for_its_content(
    here: Path, server: MisbehavingServer
) -> None:
    (here / "other").mkdir()
    content = (here / f"{FIRST}.z5").read_bytes()
    (here / "other" / f"{SECOND}.z5").write_bytes(content[: RELEASE.start] + b"\0\3" + content[RELEASE.stop :])
    assert "in game_files/story-" in run(server, f"other/{SECOND}").out.decode()
