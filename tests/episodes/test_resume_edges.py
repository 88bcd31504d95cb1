"""What others do to the files of a run while it is stopped costs no turn, no memory and no replay."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from threading import Event as Flag

import pytest

from managers.memory.document import parse_memories
from managers.memory.tiers import Revision, open_memories
from managers.simple_memory_manager import NEWS_FILE
from orchestration.history import configuration_of, open_resumed_run, with_keys
from session.errors import ConfigurationError, LanguageModelUnavailable
from session.events import Event, FileEdited, RunEnded, RunPaused
from session.files.journal import JOURNAL_FILE, read_manifest
from session.files.run_folders import find_run
from session.game_configuration import GameConfiguration
from session.memory import Memory, MemoryStatus
from session.values import ROLES
from tests.fixtures.doomed_run import STORY, go_on, killed_before_writing
from tests.fixtures.earlier_version import written_by_version_3
from tests.fixtures.prompted_run import Before, play_prompted, prompted, resume_with
from tests.fixtures.run_traces import journal_of
from tests.fixtures.whole_run import newest_run, parts_of, verify_run

TURNS = 12
ONCE = {"mode": "object_tree", "max_rejections": 0}


def stop() -> None:
    raise LanguageModelUnavailable("gone for now")


def add_by_hand(folder: Path, title: str, location_id: int = 32) -> None:
    memory = Memory("NOTE", title, 0, "", None, "Written by somebody.", "permanent")
    assert open_memories(folder / "Memories.md").apply(Revision(location_id, "Somewhere", memory))


def stopped(story: Path, folder: Path, at: int) -> None:
    """A run that was paused in turn ``at``. No critic rejects proposals, so the agent is called once a turn."""
    assert play_prompted(story, folder, turns=TURNS, model=prompted(Before({at: stop})), critic=ONCE).end == "paused"


def test_a_memory_added_before_the_first_commit_is_part_of_how_the_run_begins(own_story: Path, tmp_path: Path) -> None:
    stopped(own_story, tmp_path, at=1)
    add_by_hand(tmp_path, "By hand")
    assert resume_with(own_story, tmp_path).end == "done"
    assert verify_run(own_story, tmp_path).difference is None


def test_a_run_that_an_earlier_version_has_begun_goes_on_and_is_repeated(own_story: Path, tmp_path: Path) -> None:
    stopped(own_story, tmp_path, at=6)
    journal = find_run(tmp_path) / JOURNAL_FILE
    written_by_version_3(journal.parent)
    assert resume_with(own_story, tmp_path).end == "done"
    versions = [json.loads(line)["v"] for line in journal.read_bytes().splitlines()]
    assert set(versions) == {3, 4}
    assert versions == sorted(versions)
    replayed = verify_run(own_story, tmp_path)
    assert (replayed.difference, replayed.turns) == (None, TURNS)


def test_a_pause_before_all_is_repeated_leaves_the_rest_to_be_repeated(own_story: Path, tmp_path: Path) -> None:
    stopped(own_story, tmp_path, at=6)
    before, (run, configuration, _) = journal_of(tmp_path), newest_run(tmp_path)
    stop, shown = Flag(), list[Event]()

    def interrupt(done: int, _all: int) -> None:
        if done == 2:
            stop.set()

    with (
        parts_of(own_story, prompted(), 1) as parts,
        open_resumed_run(configuration, parts, run, show=shown.append, stop=stop, repeated=interrupt) as resumed,
    ):
        assert resumed.play() == "interrupted"
    assert [type(event) for event in shown] == [RunPaused]
    assert journal_of(tmp_path) == before
    assert resume_with(own_story, tmp_path).end == "done"
    assert verify_run(own_story, tmp_path).difference is None


def test_what_the_commit_had_not_written_is_written_though_others_have_been_there_since(tmp_path: Path) -> None:
    """The process is killed before its first write, and a person adds a memory before it is resumed."""
    memories = tmp_path / "Memories.md"
    assert killed_before_writing(memories)
    assert not memories.exists()
    add_by_hand(tmp_path, "By hand")
    go_on(tmp_path)
    events = journal_of(tmp_path)
    assert any(isinstance(event, FileEdited) for event in events)
    assert isinstance(events[-1], RunEnded)
    active = [
        (location_id, memory.title)
        for location_id, kept in parse_memories(memories.read_text()).memories().items()
        for memory in kept
        if memory.status != MemoryStatus.SUPERSEDED
    ]
    assert (32, "By hand") in active
    assert 1 < len(active) == len({*active})
    assert verify_run(STORY, tmp_path).difference is None


def test_a_run_folder_outside_of_a_work_folder_is_not_played_in(own_story: Path, tmp_path: Path) -> None:
    stopped(own_story, tmp_path / "work", at=3)
    copied = tmp_path / "elsewhere" / "copied"
    shutil.copytree(find_run(tmp_path / "work"), copied)
    with pytest.raises(ConfigurationError, match="is not in a work folder"):
        configuration_of(read_manifest(copied), copied, GameConfiguration())


def test_a_run_of_the_embedded_model_goes_on_with_it_though_a_key_has_been_set_since(
    own_story: Path, tmp_path: Path
) -> None:
    stopped(own_story, tmp_path, at=3)
    run = find_run(tmp_path)
    now = GameConfiguration(llm={"api_key": "sk-for-another-day", "base_url": "http://localhost:9/v1"})
    then = with_keys(configuration_of(read_manifest(run), run, now), run, now)
    assert {then.role(role).engine for role in ROLES} == {"embedded"}


def test_a_role_with_a_server_of_its_own_goes_on_with_its_own_key(own_story: Path, tmp_path: Path) -> None:
    there = {"base_url": "http://localhost:8/v1", "critic": {"base_url": "http://localhost:9/v1"}}
    play_prompted(own_story, tmp_path, turns=1, llm=there)
    run = find_run(tmp_path)
    now = GameConfiguration(llm={"api_key": "sk-of-all", "critic": {"api_key": "sk-of-the-critic"}})
    then = with_keys(configuration_of(read_manifest(run), run, now), run, now)
    keys = {role: key.get_secret_value() for role in ROLES if (key := then.role(role).api_key)}
    assert keys == {role: "sk-of-the-critic" if role == "critic" else "sk-of-all" for role in ROLES}


def test_what_another_run_was_asked_about_meanwhile_stays_news_to_a_run_that_is_resumed(
    own_story: Path, tmp_path: Path
) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "stopped"
    assert play_prompted(own_story, whole, turns=TURNS, critic=ONCE).end == "done"
    stopped(own_story, folder, at=4)
    with (folder / NEWS_FILE).open("ab") as news:
        news.write((whole / NEWS_FILE).read_bytes())
    assert resume_with(own_story, folder).end == "done"
    assert verify_run(own_story, folder).difference is None
