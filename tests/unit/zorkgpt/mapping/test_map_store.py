"""The map's file, with two runs in one folder, with people, and after a kill."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from session.errors import StoreError
from tests.unit.managers.test_map_manager import manager_in, on_disk
from tests.unit.zorkgpt.mapping.turns import walk
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.map_store import MapStore, digest

if TYPE_CHECKING:
    from pathlib import Path


class Watched:
    """Writes down what others were seen to have written: in which look, and what."""

    def __init__(self) -> None:
        self.noticed_edits: list[tuple[int, str]] = []

    def reading(self, _path: Path, _read: int) -> bool:
        """Nobody repeats anything."""
        return True

    def noticed(self, _path: Path, read: int, text: str) -> None:
        self.noticed_edits.append((read, text))


def warn_nobody(event: str, **_: object) -> None:
    raise AssertionError(event)


def graph_of(*rooms: int) -> MapGraph:
    graph = MapGraph()
    for room in rooms:
        graph.add_room(room, f"Room {room}")
    return graph


def test_two_runs_in_one_folder_lose_nothing_of_each_other(tmp_path: Path) -> None:
    one, other = manager_in(tmp_path), manager_in(tmp_path)
    for step in range(1, 6):
        one.learn(walk(step, "north", step + 1))
        other.learn(walk(100 + step, "east", 101 + step))
    one.save_map_state()
    expected = {step: {"north": step + 1} for step in range(1, 6)}
    expected |= {100 + step: {"east": 101 + step} for step in range(1, 6)}
    assert on_disk(tmp_path).connections == one.game_map.connections == expected


def test_where_both_know_a_way_the_one_who_writes_is_right(tmp_path: Path) -> None:
    one, other = manager_in(tmp_path), manager_in(tmp_path)
    one.learn(walk(1, "north", 2))
    other.learn(walk(1, "north", 3))
    assert on_disk(tmp_path).connections == {1: {"north": 3}}


def test_what_a_person_writes_is_merged_in_and_noticed_once(tmp_path: Path) -> None:
    path = tmp_path / "map_state.json"
    graph, watch = graph_of(1), Watched()
    store = MapStore(path, warn_nobody, graph)
    store.watch = watch
    store.save()
    theirs = json.loads(path.read_text())
    theirs["rooms"]["9"] = {"id": 9, "name": "By hand", "exits": []}
    path.write_text(json.dumps(theirs))
    store.save()
    store.save()
    assert graph.room_names == {1: "Room 1", 9: "By hand"}
    ((read, text),) = watch.noticed_edits
    assert read == 2
    assert "timestamp" not in text
    assert json.loads(text)["rooms"]["9"]["name"] == "By hand"


def test_a_map_written_again_as_it_was_is_no_news(tmp_path: Path) -> None:
    """Only the time of writing differs, or the look of the JSON."""
    path = tmp_path / "map_state.json"
    graph, watch = graph_of(1), Watched()
    store = MapStore(path, warn_nobody, graph)
    store.watch = watch
    store.save()
    theirs = json.loads(path.read_text())
    theirs["metadata"]["timestamp"] = "2001-01-01T00:00:00Z"
    path.write_text(json.dumps(theirs, indent=7))
    store.save()
    assert watch.noticed_edits == []


@pytest.mark.parametrize("was_written", [False, True])
@pytest.mark.parametrize("by_hand", [False, True])
def test_a_manager_put_back_ends_where_one_ends_that_was_never_stopped(
    tmp_path: Path, was_written: bool, by_hand: bool
) -> None:
    watches = []
    for name, is_killed in (("whole", False), ("killed", True)):
        folder, watch = tmp_path / name, Watched()
        folder.mkdir()
        manager = manager_in(folder)
        manager.learn(walk(1, "north", 2))
        manager.hold(watch)
        manager.learn(walk(2, "north", 3))
        state = manager.snapshot()
        if was_written:
            manager.commit()
        if by_hand:
            graph = on_disk(folder)
            graph.add_room(9, "By hand")
            graph.save_to_json(folder / "map_state.json")
        if is_killed:
            manager = manager_in(folder)
            manager.hold(watch)
            manager.restore_snapshot(state)
            if was_written:
                manager.commit()
        elif not was_written:
            manager.commit()
        manager.learn(walk(3, "north", 4))
        manager.commit()
        watches.append([(read, json.loads(text)["rooms"]) for read, text in watch.noticed_edits])
        assert on_disk(folder).connections == {1: {"north": 2}, 2: {"north": 3}, 3: {"north": 4}}
        assert (9 in manager.game_map.rooms) is by_hand
    assert len(watches[1]) == by_hand


def test_a_manager_put_back_twice_takes_its_own_file_for_nobody_elses(tmp_path: Path) -> None:
    """The second snapshot is taken before the first commit after the first one."""
    watch = Watched()
    manager = manager_in(tmp_path)
    manager.learn(walk(1, "north", 2))
    manager.hold(watch)
    manager.learn(walk(1, "north", 2))
    for _ in range(2):
        state = manager.snapshot()
        manager = manager_in(tmp_path)
        manager.hold(watch)
        manager.restore_snapshot(state)
        manager.learn(walk(1, "north", 2))
    manager.learn(walk(2, "north", 3))
    manager.commit()
    assert watch.noticed_edits == []
    assert on_disk(tmp_path).connection_verifications == manager.game_map.connection_verifications


def test_the_digest_is_of_the_map_and_not_of_when_it_was_written() -> None:
    graph, again = graph_of(1, 2), graph_of(1, 2)
    assert digest(graph) == digest(again)
    again.metadata = {**again.metadata, "timestamp": "2001-01-01T00:00:00Z"}
    assert digest(graph) == digest(again)
    again.add_connection(1, "north", 2)
    assert digest(graph) != digest(again)


def test_a_file_that_cannot_be_written_is_one_line_and_is_written_by_the_next_commit(tmp_path: Path) -> None:
    manager = manager_in(tmp_path)
    manager.hold(Watched())
    manager.learn(walk(1, "north", 2))
    path = tmp_path / "map_state.json"
    path.mkdir()
    with pytest.raises(StoreError, match=r"map_state\.json"):
        manager.commit()
    path.rmdir()
    manager.commit()
    assert on_disk(tmp_path).connections == {1: {"north": 2}}
    assert manager.snapshot().stores["map_state.json"].is_due is False


def test_the_version_before_the_last_write_is_kept(tmp_path: Path) -> None:
    manager = manager_in(tmp_path)
    manager.learn(walk(1, "north", 2))
    before = (tmp_path / "map_state.json").read_bytes()
    manager.learn(walk(2, "north", 3))
    assert (tmp_path / "map_state.json.backup").read_bytes() == before
