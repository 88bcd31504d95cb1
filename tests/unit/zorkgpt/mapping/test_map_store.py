"""The map's file: what is read of it, with two runs in one folder, with people, and after a kill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given

from session.errors import StoreError
from session.events import FileEdited, FileWritten
from tests.fixtures.held_stores import HeldStores, held
from tests.unit.managers.test_map_manager import manager_in, on_disk
from tests.unit.zorkgpt.mapping.graphs import graphs
from tests.unit.zorkgpt.mapping.turns import walk
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.map_store import MapStore, digest
from zorkgpt.mapping.map_values import Edge


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


SEED_EXAMPLE = """{
  "rooms": {"15": {"id": 15, "name": "West of House", "exits": ["north", "south", "west"], "note": {"by": "hand"}}},
  "connections": {"15": {"north": 180}},
  "connection_confidence": {"15_north": 0.95},
  "connection_verifications": {"15_north": 3},
  "exit_failure_counts": {"15_west": 2},
  "pruned_exits": {"15": ["east"]},
  "landmarks": [1, null, "tower"],
  "metadata": {
    "version": "1.0", "total_rooms": 42, "total_connections": 67, "timestamp": "2025-10-31T12:00:00Z", "author": "me"
  }
}"""

CORRUPT = {
    "nothing": b"",
    "cut": SEED_EXAMPLE.encode()[:200],
    "not text": bytes(range(256)),
    "a list": b"[]",
    "another file": b'{"score": 10}',
    "nested too deep": b"[" * 100_000,
    "rooms in a list": b'{"rooms": []}',
}

SOUND: dict[str, object] = {
    "rooms": {"1": {"id": 1, "name": "Attic", "exits": ["down"]}, "2": {"id": 2, "name": "Loft", "exits": []}},
    "connections": {"1": {"down": 2}},
    "connection_confidence": {"1_down": 0.9},
    "connection_verifications": {"1_down": 2},
    "exit_failure_counts": {"2_up": 1},
    "pruned_exits": {"2": ["east"]},
}

UNSOUND_ENTRIES = {
    "a name for an id": ("rooms", "Attic", {"id": 1, "name": "Attic", "exits": []}),
    "a negative id": ("rooms", "-3", {"id": -3, "name": "Attic", "exits": []}),
    "another room's id": ("rooms", "3", {"id": 4, "name": "Attic", "exits": []}),
    "a room without a name": ("rooms", "3", {"id": 3}),
    "a room that is a word": ("rooms", "3", "Attic"),
    "exits that lead from no id": ("connections", "Attic", {"down": 2}),
    "exits that are a list": ("connections", "3", ["down"]),
    "exits that lead to a negative id": ("connections", "3", {"down": -2}),
    "a key without an id": ("connection_confidence", "north", 0.5),
    "impossible confidence": ("connection_confidence", "2_north", 7),
    "no number": ("connection_confidence", "2_north", float("nan")),
    "a count below zero": ("exit_failure_counts", "2_north", -1),
    "a pruned exit that is a number": ("pruned_exits", "1", [5]),
}


class Warnings(list[dict[str, str]]):
    """Records warnings."""

    def __call__(self, event: str, **particulars: str) -> None:
        self.append({"event": event, **particulars})


def test_the_seeds_example_is_written_back_in_the_same_shape_with_the_keys_that_are_not_known(tmp_path: Path) -> None:
    path = tmp_path / "map_state.json"
    path.write_text(SEED_EXAMPLE)
    graph = MapGraph.load_from_json(path)
    assert graph is not None
    assert graph.confidence(Edge(15, "north")) == pytest.approx(0.95)
    assert graph.is_pruned(15, "east")
    graph.save_to_json(path)
    written, expected = json.loads(path.read_text()), json.loads(SEED_EXAMPLE)
    assert written["rooms"].pop("180") == {"id": 180, "name": "", "exits": []}
    totals = written["metadata"].pop("total_rooms"), written["metadata"].pop("total_connections")
    assert totals == (2, 1)
    assert written["metadata"].pop("timestamp") > "2025-10-31T12:00:00Z"
    assert written.pop("metadata") == {"version": "1.0", "author": "me"}
    del expected["metadata"]
    assert written == expected


@given(graphs())
def test_a_map_survives_a_round_trip_as_values_and_as_json(graph: MapGraph) -> None:
    assert MapGraph.from_dict(graph.to_dict()) == graph
    assert MapGraph.from_dict(json.loads(json.dumps(graph.to_dict()))) == graph


def test_a_missing_file_is_no_map_and_no_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert MapGraph.load_from_json(tmp_path / "map_state.json") is None
    assert MapGraph.read(tmp_path / "map_state.json") is None
    assert caplog.messages == []


@pytest.mark.parametrize("content", CORRUPT.values(), ids=CORRUPT.keys())
def test_whoever_only_reads_leaves_a_corrupt_file_as_it_is_and_whoever_plays_keeps_it_aside_with_a_warning(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path, backup = tmp_path / "map_state.json", tmp_path / "map_state.json.backup"
    path.write_bytes(content)
    backup.write_text(SEED_EXAMPLE)
    with pytest.raises(StoreError, match=r"map_state.json holds no map \(.*map_state.json.backup is the version"):
        MapGraph.read(path)
    assert MapGraph.load_from_json(path) is None
    assert "holds no map" in caplog.text
    assert {each.read_bytes() for each in (path, backup)} == {content, SEED_EXAMPLE.encode()}
    warnings = Warnings()
    assert MapStore(path, warnings).graph == MapGraph()
    assert [warning["kept"] for warning in warnings] == [f"{path}.corrupt"]
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {
        "map_state.json.corrupt": content,
        "map_state.json.corrupt.backup": SEED_EXAMPLE.encode(),
    }


@pytest.mark.parametrize(("section", "key", "value"), UNSOUND_ENTRIES.values(), ids=UNSOUND_ENTRIES.keys())
def test_an_entry_that_cannot_be_is_left_out_and_whoever_plays_keeps_the_file_as_it_was(
    tmp_path: Path, section: str, key: str, value: object
) -> None:
    state = json.loads(json.dumps(SOUND))
    state[section][key] = value
    content = json.dumps(state)
    path = tmp_path / "map_state.json"
    path.write_text(content)
    notes: list[str] = []
    graph = MapGraph.read(path, notes.append)
    assert graph is not None
    assert len(notes) == 1
    assert f"map_state.json: {section}.{key}" in notes[0]
    assert list(tmp_path.iterdir()) == [path]
    warnings = Warnings()
    assert MapStore(path, warnings).graph == graph
    (warning,) = warnings
    assert warning["where"].startswith(f"{section}.{key}")
    assert (tmp_path / "map_state.json.corrupt").read_text() == content
    if section == "connections":
        assert graph.connections.pop(3, {}) == {}
        graph.rooms.pop(3, None)
    assert graph == MapGraph.from_dict(SOUND)


@pytest.mark.parametrize(
    ("section", "given", "kept"),
    [("connections", {"1": {"down": 2, "up": "the roof"}}, {1: {"down": 2}}), ("pruned_exits", ["east"], {})],
)
def test_of_an_entry_with_one_exit_that_cannot_be_the_others_are_kept_and_a_section_of_another_shape_is_left_out(
    tmp_path: Path, section: str, given: object, kept: object
) -> None:
    path = tmp_path / "map_state.json"
    path.write_text(json.dumps(SOUND | {section: given}))
    graph = MapGraph.load_from_json(path)
    assert graph is not None
    assert getattr(graph, section) == kept
    assert graph.connections == {1: {"down": 2}}


def test_refused_commands_that_an_earlier_version_kept_as_exits_are_dropped(tmp_path: Path) -> None:
    exits = ["south", "open door", "climb tree", "enter shop", "board ship"]
    state = SOUND | {
        "rooms": {"1": {"id": 1, "name": "Attic", "exits": exits}, "2": {"id": 2, "name": "Loft", "exits": []}},
        "connections": {"1": {"climb tree": 2}},
        "exit_failure_counts": {"1_south": 1, "1_open door": 3, "1_climb tree": 1, "1_enter shop": 1},
        "exit_refusals": {"1_open door": "It is locked.", "1_enter shop": "leads back here"},
        "pruned_exits": {"1": ["pull lever"]},
    }
    path = tmp_path / "map_state.json"
    path.write_text(json.dumps(state))
    graph = MapStore(path, Warnings()).graph
    assert graph.rooms[1].exits == ("south", "climb tree", "enter shop", "board ship")
    assert graph.refused_exits(1) == {"south": "", "climb tree": ""}
    assert (graph.pruned_exits, graph.first_refusals) == ({}, {})
    assert graph == MapGraph.from_dict(graph.to_dict())


def test_a_corrupt_file_never_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "map_state.json"
    for content in (b"first", b"second", b"third"):
        path.write_bytes(content)
        MapStore(path, Warnings())
    kept = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    assert kept == {
        "map_state.json.corrupt": b"first",
        "map_state.json.corrupt-2": b"second",
        "map_state.json.corrupt-3": b"third",
    }


def test_a_file_that_cannot_be_read_and_values_of_another_shape_are_store_errors(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        MapGraph.load_from_json(tmp_path)
    with pytest.raises(StoreError, match="not a map"):
        MapGraph.from_dict({"rooms": ["Attic"]})
