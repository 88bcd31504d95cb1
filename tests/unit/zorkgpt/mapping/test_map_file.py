from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from structlog.testing import capture_logs

from session.errors import StoreError
from tests.unit.zorkgpt.mapping.graphs import graphs
from zorkgpt.mapping.map_graph import Edge, MapGraph

if TYPE_CHECKING:
    from pathlib import Path

SEED_EXAMPLE = """{
  "rooms": {"15": {"id": 15, "name": "West of House", "exits": ["north", "south", "west"]}},
  "connections": {"15": {"north": 180}},
  "connection_confidence": {"15_north": 0.95},
  "connection_verifications": {"15_north": 3},
  "exit_failure_counts": {"15_west": 2},
  "pruned_exits": {"15": ["east"]},
  "metadata": {"version": "1.0", "total_rooms": 42, "total_connections": 67, "timestamp": "2025-10-31T12:00:00Z"}
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


def test_the_seeds_example_is_read_and_written_back_in_the_same_shape(tmp_path: Path) -> None:
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
    assert written.pop("metadata") == {"version": "1.0"}
    del expected["metadata"]
    assert written == expected


@given(graphs())
def test_a_map_survives_a_round_trip_as_values_and_as_json(graph: MapGraph) -> None:
    assert MapGraph.from_dict(graph.to_dict()) == graph
    assert MapGraph.from_dict(json.loads(json.dumps(graph.to_dict()))) == graph


def test_keys_that_are_not_known_survive_a_round_trip() -> None:
    state: dict[str, object] = {
        "rooms": {"1": {"id": 1, "name": "Attic", "exits": [], "note": {"by": "hand"}}},
        "landmarks": [1, None, "tower"],
        "metadata": {"version": "1.0", "author": "me"},
    }
    written = MapGraph.from_dict(state).to_dict()
    assert written["rooms"] == state["rooms"]
    assert written["landmarks"] == state["landmarks"]
    assert isinstance(written["metadata"], dict)
    assert written["metadata"]["author"] == "me"


def test_a_missing_file_is_no_map_and_no_warning(tmp_path: Path) -> None:
    with capture_logs() as logs:
        assert MapGraph.load_from_json(tmp_path / "map_state.json") is None
    assert logs == []


@pytest.mark.parametrize("content", CORRUPT.values(), ids=CORRUPT.keys())
def test_a_corrupt_file_is_kept_aside_with_a_warning(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "map_state.json"
    path.write_bytes(content)
    with capture_logs() as logs:
        assert MapGraph.load_from_json(path) is None
    assert not path.exists()
    assert (tmp_path / "map_state.json.corrupt").read_bytes() == content
    assert [log["log_level"] for log in logs] == ["warning"]
    assert logs[0]["kept"] == f"{path}.corrupt"


@pytest.mark.parametrize(("section", "key", "value"), UNSOUND_ENTRIES.values(), ids=UNSOUND_ENTRIES.keys())
def test_an_entry_that_cannot_be_is_left_out_and_the_file_as_it_was_is_kept(
    tmp_path: Path, section: str, key: str, value: object
) -> None:
    state = json.loads(json.dumps(SOUND))
    state[section][key] = value
    content = json.dumps(state)
    path = tmp_path / "map_state.json"
    path.write_text(content)
    with capture_logs() as logs:
        graph = MapGraph.load_from_json(path)
    assert graph is not None
    if section == "connections":
        assert graph.connections.pop(3, {}) == {}
        graph.rooms.pop(3, None)
    assert graph == MapGraph.from_dict(SOUND)
    (warning,) = logs
    assert warning["where"].startswith(f"{section}.{key}")
    assert (tmp_path / "map_state.json.corrupt").read_text() == content


def test_of_an_entry_with_one_exit_that_cannot_be_the_others_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "map_state.json"
    path.write_text(json.dumps(SOUND | {"connections": {"1": {"down": 2, "up": "the roof"}}}))
    graph = MapGraph.load_from_json(path)
    assert graph is not None
    assert graph.connections == {1: {"down": 2}}


def test_a_section_of_another_shape_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "map_state.json"
    path.write_text(json.dumps(SOUND | {"pruned_exits": ["east"]}))
    graph = MapGraph.load_from_json(path)
    assert graph is not None
    assert (graph.pruned_exits, graph.connections) == ({}, {1: {"down": 2}})


def test_a_corrupt_file_never_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "map_state.json"
    for content in (b"first", b"second", b"third"):
        path.write_bytes(content)
        MapGraph.load_from_json(path)
    kept = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    assert kept == {
        "map_state.json.corrupt": b"first",
        "map_state.json.corrupt-2": b"second",
        "map_state.json.corrupt-3": b"third",
    }


def test_a_file_that_cannot_be_read_is_an_error_and_not_an_empty_map(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        MapGraph.load_from_json(tmp_path)


def test_values_of_another_shape_are_a_store_error() -> None:
    with pytest.raises(StoreError, match="not a map"):
        MapGraph.from_dict({"rooms": ["Attic"]})
