"""The map's file, with two runs in one folder, with people, and after a kill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from session.errors import StoreError
from session.events import FileEdited, FileWritten
from tests.fixtures.held_stores import HeldStores, held
from tests.unit.managers.test_map_manager import manager_in, on_disk
from tests.unit.zorkgpt.mapping.turns import walk
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.map_store import MapStore, digest


def warn_nobody(event: str, **_: object) -> None:
    raise AssertionError(event)


def write(run: HeldStores, store: MapStore) -> None:
    store.demand()
    run.commit()


@pytest.mark.parametrize("was_written", [False, True])
@pytest.mark.parametrize("by_hand", [False, True])
def test_a_map_whose_turns_are_repeated_is_like_one_of_a_run_that_was_never_stopped(
    tmp_path: Path, was_written: bool, by_hand: bool
) -> None:
    """The run is killed after a write of its map, or before that reached the disk; a person may edit the file then."""
    file = tmp_path / "map_state.json"
    for is_resumed in (False, True):
        manager = manager_in(tmp_path)
        run = HeldStores(tmp_path / "journal", [*manager.stores], {"map_state.json": b""})
        for number in (1, 2):
            manager.learn(walk(number, "north", number + 1))
            write(run, manager._store)
        if is_resumed:
            break
        if not was_written:
            file.unlink()
        if by_hand:
            graph = on_disk(tmp_path) if was_written else MapGraph()
            graph.add_room(9, "By hand")
            graph.save_to_json(file)
    manager.learn(walk(3, "north", 4))
    write(run, manager._store)
    assert on_disk(tmp_path).connections == {1: {"north": 2}, 2: {"north": 3}, 3: {"north": 4}}
    assert set(on_disk(tmp_path).connection_verifications.values()) == {1}
    assert (9 in manager.game_map.rooms) is by_hand
    assert sum(isinstance(event, FileEdited) for event in run.events) == by_hand


def test_two_runs_in_one_folder_lose_nothing_of_each_other_and_the_one_that_writes_last_is_right(
    tmp_path: Path,
) -> None:
    one, other = manager_in(tmp_path), manager_in(tmp_path)
    for step in range(1, 6):
        one.learn(walk(step, "north", step + 1))
        other.learn(walk(100 + step, "east", 101 + step))
    other.learn(walk(1, "north", 9))
    assert on_disk(tmp_path).connections[1] == {"north": 9}
    one.end("turn_limit")
    one.commit()
    expected = {step: {"north": step + 1} for step in range(1, 6)}
    expected |= {100 + step: {"east": 101 + step} for step in range(1, 6)}
    assert on_disk(tmp_path).connections == one.game_map.connections == expected


def test_what_a_person_writes_is_merged_in_and_noticed_once_and_the_time_and_look_of_the_file_are_no_news(
    tmp_path: Path,
) -> None:
    path = tmp_path / "map_state.json"
    graph = MapGraph()
    graph.add_room(1, "Room 1")
    unedited = digest(graph)
    store = MapStore(path, warn_nobody, graph)
    run = HeldStores(tmp_path / "journal", [store])
    write(run, store)
    theirs = json.loads(path.read_text())
    theirs["metadata"]["timestamp"] = "2001-01-01T00:00:00Z"
    path.write_text(json.dumps(theirs, indent=7))
    write(run, store)
    assert [type(event) for event in run.events] == [FileWritten, FileWritten]
    assert digest(graph) == unedited
    theirs["rooms"]["9"] = {"id": 9, "name": "By hand", "exits": []}
    path.write_text(json.dumps(theirs))
    write(run, store)
    write(run, store)
    assert graph.room_names == {1: "Room 1", 9: "By hand"}
    assert digest(graph) != unedited
    (edit,) = [event for event in run.events if isinstance(event, FileEdited)]
    assert "timestamp" not in edit.text
    assert json.loads(edit.text)["rooms"]["9"]["name"] == "By hand"


def test_a_file_that_cannot_be_written_is_one_line_and_is_written_by_the_next_commit_which_keeps_the_version_before(
    tmp_path: Path,
) -> None:
    manager = manager_in(tmp_path)
    held(tmp_path, manager)
    manager.learn(walk(1, "north", 2))
    path = tmp_path / "map_state.json"
    path.mkdir()
    with pytest.raises(StoreError, match=r"map_state\.json"):
        manager.commit()
    path.rmdir()
    manager.commit()
    assert on_disk(tmp_path).connections == {1: {"north": 2}}
    assert not any(store.is_due for store in manager.stores)
    before = path.read_bytes()
    manager.learn(walk(2, "north", 3))
    manager.commit()
    assert (tmp_path / "map_state.json.backup").read_bytes() == before
