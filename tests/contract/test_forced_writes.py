"""What must be on the disk, or locked, before the next step is taken: each is red if the call is dropped.

Sources: docs/records/specification.md, Atomic writes; ADR 31.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from managers.memory.document import Revision, open_memories
from managers.simple_memory_manager import NEWS_FILE
from session.events import Event, TurnPlayed
from session.files.run_folders import find_run, give_back_episode_numbers, take_episode_numbers
from session.memory import Memory
from tests.fixtures.doomed_run import LEARNING, STORY, USAGE, decided_by_prompt, go_on, killed
from tests.fixtures.recorded_files import RecordedFiles, recorded_files
from tests.fixtures.scripted_llm import ScriptedLLM
from tests.fixtures.whole_run import play_run
from zorkgpt.mapping.map_store import MapStore

SHARED = (
    "Memories.md",
    "map_state.json",
    "routes.json",
    "transcripts.md",
    "episode_summaries.jsonl",
    "knowledgebase.md",
)
AT_ONCE = ("manifest.json", "line.json", "order.json", "budgets.json", "story.json", "episodes.json")
"""Files whose content and name are on the disk as soon as they are written."""
TURNS, EPISODES = 12, 3


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[RecordedFiles, list[frozenset[Path]]]:
    """A recorded run, and what was not on the disk at each of its turns."""
    folder = tmp_path_factory.mktemp("work")
    at_turns: list[frozenset[Path]] = []
    with recorded_files(folder) as recording:

        def show(event: Event) -> None:
            if isinstance(event, TurnPlayed):
                at_turns.append(recording.unforced)

        model = ScriptedLLM(decided_by_prompt, usage=USAGE)
        play_run(STORY, model, folder, episodes=EPISODES, show=show, max_turns_per_episode=TURNS, **LEARNING)
    return recording, at_turns


def test_before_a_run_changes_a_shared_file_its_journal_is_on_the_disk_and_the_file_and_the_run_are_locked(
    played: tuple[RecordedFiles, list[frozenset[Path]]],
) -> None:
    recording, _ = played
    run = find_run(recording.folder)
    changes = [call for call in recording.of("rename", *SHARED) if call.path.parent == recording.folder]
    assert {call.path.name for call in changes} >= {*SHARED} - {"knowledgebase.md"}
    for call in changes:
        assert run / "journal.jsonl" not in call.unforced
        assert {call.path.with_name(f"{call.path.name}.lock"), call.path, run / "run.lock"} <= call.locks


def test_the_list_of_outcomes_is_locked_while_it_grows(played: tuple[RecordedFiles, list[frozenset[Path]]]) -> None:
    recording, _ = played
    appended = recording.of("append", NEWS_FILE)
    assert appended
    assert all(call.path.with_name(f"{NEWS_FILE}.lock") in call.locks for call in appended)


def test_files_that_count_at_once_are_on_the_disk_with_their_names_before_the_first_turn(
    played: tuple[RecordedFiles, list[frozenset[Path]]],
) -> None:
    recording, at_turns = played
    written = recording.of("rename", *AT_ONCE)
    assert {call.path.name for call in written} >= {*AT_ONCE} - {"budgets.json"}
    for call in written:
        assert call.is_forced, call.path
        assert call.path.parent in {each.path for each in recording.after(call) if each.kind == "force"}
    run = find_run(recording.folder)
    not_yet = {path.relative_to(recording.folder) for path in at_turns[0]}
    start = {path for path in not_yet if path.parent.name == "start" or path.name in AT_ONCE}
    assert not start
    assert list((run / "start").iterdir())
    for name in ("story.json", "episodes.json"):
        for call in recording.of("rename", name):
            assert call.path.with_name(f"{name}.lock") in call.locks


def test_the_names_of_a_new_run_are_on_the_disk_before_its_manifest(
    played: tuple[RecordedFiles, list[frozenset[Path]]],
) -> None:
    recording, _ = played
    (manifest,) = recording.of("rename", "manifest.json")
    before = recording.calls[: recording.calls.index(manifest)]
    forced = {call.path for call in before if call.kind == "force"}
    run = find_run(recording.folder)
    assert {run / "journal.jsonl", run, run.parent, run.parent.parent} <= forced
    assert not {run, run.parent} & manifest.unforced


def test_a_checkpoint_counts_when_all_that_it_needs_is_on_the_disk_and_older_ones_go_after_that(
    played: tuple[RecordedFiles, list[frozenset[Path]]],
) -> None:
    recording, _ = played
    run = find_run(recording.folder)
    counted = recording.of("rename", "line.json")
    assert len(counted) == EPISODES
    for call in counted:
        copies = call.path.parent
        assert run / "journal.jsonl" not in call.unforced
        needed = {copies, recording.folder}
        assert not {path for path in call.unforced if path.parent in needed and path.name in SHARED}
        later = recording.after(call)
        removed = [at for at, each in enumerate(later) if each.kind == "remove"]
        until = removed[0] if removed else len(later)
        forced = {each.path for each in later[:until] if each.kind == "force"}
        assert {copies, copies.parent, run} <= forced
    assert sum(call.kind == "remove" and call.path.parent.name == "checkpoints" for call in recording.calls) > 1


def test_at_its_end_the_journal_is_on_the_disk(played: tuple[RecordedFiles, list[frozenset[Path]]]) -> None:
    recording, _ = played
    assert find_run(recording.folder) / "journal.jsonl" not in recording.unforced


def test_a_change_by_command_is_locked_and_on_the_disk_at_once(tmp_path: Path) -> None:
    memory = Memory("NOTE", "By hand", 0, "", None, "A person wrote this.", "permanent")
    path = tmp_path / "Memories.md"
    with recorded_files(tmp_path) as recording:
        open_memories(path).apply(Revision(32, "Somewhere", memory).apply_to)
    (call,) = recording.of("rename", path.name)
    assert call.is_forced
    assert {path, tmp_path / "Memories.md.lock"} <= call.locks
    assert [each.path for each in recording.after(call)] == [tmp_path]
    assert not recording.unforced


def test_numbers_of_episodes_are_taken_under_a_lock_and_on_the_disk_at_once(tmp_path: Path) -> None:
    with recorded_files(tmp_path) as recording:
        take_episode_numbers(tmp_path, 2)
    (call,) = recording.of("rename", "episodes.json")
    assert call.is_forced
    assert tmp_path / "episodes.json.lock" in call.locks
    assert not recording.unforced


def test_what_a_resumed_run_writes_again_is_locked(tmp_path: Path) -> None:
    assert killed(tmp_path, kill_at=300)
    for path in (tmp_path / name for name in SHARED):
        path.write_bytes(b"")
    with recorded_files(tmp_path) as recording:
        go_on(tmp_path)
    changes = [call for call in recording.of("rename", *SHARED) if call.path.parent == tmp_path]
    assert len(changes) > len(SHARED)
    assert all(call.path.with_name(f"{call.path.name}.lock") in call.locks for call in changes)
    assert all(find_run(tmp_path) / "run.lock" in call.locks for call in changes)


def locked_at_rename(folder: Path, name: str, act: Callable[[], object]) -> bool:
    with recorded_files(folder) as recording:
        act()
    calls = recording.of("rename", name)
    return bool(calls) and all(call.path.with_name(f"{name}.lock") in call.locks for call in calls)


def test_files_that_are_written_outside_a_run_are_locked(tmp_path: Path) -> None:
    first = take_episode_numbers(tmp_path, 2)
    assert locked_at_rename(tmp_path, "episodes.json", lambda: give_back_episode_numbers(tmp_path, first, 2))
    store = MapStore(tmp_path / "map_state.json", print)
    store.demand()
    assert locked_at_rename(tmp_path, "map_state.json", store.commit)
