from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given

from session.errors import StoreError
from tests.unit.zorkgpt.mapping.graphs import graphs
from zorkgpt.mapping.map_graph import Edge, MapGraph
from zorkgpt.mapping.map_store import MapStore

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
