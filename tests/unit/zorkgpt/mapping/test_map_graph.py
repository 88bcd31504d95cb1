from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from tests.unit.zorkgpt.mapping.graphs import PRUNE_AFTER, Tried, after, attempts, graphs
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.map_values import Carry, Edge, FatalExit, Room
from zorkgpt.mapping.navigation import local_view


def test_a_room_is_known_by_its_id_alone_and_keeps_its_newest_name_but_an_empty_one() -> None:
    graph = MapGraph()
    assert graph.add_room(16, "Coal Mine")
    assert graph.add_room(17, "")
    assert graph.room_names == {16: "Coal Mine", 17: "Location #17"}
    for name in ("Coal Mine", "Burnt Mine", ""):
        assert not graph.add_room(17, name)
    assert graph.rooms == {16: Room(id=16, name="Coal Mine"), 17: Room(id=17, name="Burnt Mine")}
    assert graph.room_names == {16: "Coal Mine", 17: "Burnt Mine"}


def test_each_verification_halves_the_doubt_and_the_newest_observation_wins_at_half_the_confidence() -> None:
    graph, edge = MapGraph(), Edge(15, "north")
    assert graph.add_connection(*edge, 180) == "new"
    confidences = []
    for _ in range(3):
        assert graph.add_connection(*edge, 180) == "verified"
        confidences.append(graph.confidence(edge))
    assert confidences == pytest.approx([0.9, 0.95, 0.975])
    assert graph.connection_verifications == {edge: 4}
    assert graph.add_connection(*edge, 79) == "contradicted"
    assert graph.connections == {15: {"north": 79}}
    assert graph.confidence(edge) == pytest.approx(0.4875)
    assert graph.connection_verifications == {edge: 1}


def test_a_known_edge_that_leads_nowhere_is_doubted_and_never_pruned() -> None:
    graph = MapGraph()
    graph.add_connection(15, "north", 180)
    outcomes = [graph.record_failure(15, "north", prune_after=2) for _ in range(3)]
    assert outcomes == ["contradicted"] * 3
    assert graph.connections == {15: {"north": 180}}
    assert graph.confidence(Edge(15, "north")) == pytest.approx(0.1)
    assert not graph.is_pruned(15, "north")


def test_an_exit_is_pruned_at_the_configured_failure_and_comes_back_when_it_works() -> None:
    graph = MapGraph()
    graph.add_exits(15, ["east", "west"])
    outcomes = [graph.record_failure(15, "east", prune_after=3) for _ in range(4)]
    assert outcomes == ["counted", "counted", "pruned", "counted"]
    assert graph.untried_exits(15) == ("west",)
    graph.add_connection(15, "east", 30)
    assert (graph.pruned_exits, graph.exit_failure_counts) == ({}, {})
    assert graph.rooms[15].exits == ("west", "east")


def test_untried_exits_are_those_named_and_never_tried_and_a_refusal_stands_until_the_exit_works() -> None:
    graph = MapGraph()
    assert graph.add_exits(15, ["north", "south", "up", "down", "north"]) == ("north", "south", "up", "down")
    graph.add_connection(15, "north", 180)
    graph.record_failure(15, "east", prune_after=1)
    graph.record_failure(15, "up", prune_after=3)
    graph.record_refusal(15, "down", "The oak door is in the way.")
    assert graph.add_exits(15, ["north", "east"]) == ()
    assert [graph.untried_exits(room) for room in (15, 180, 999)] == [("south",), (), ()]
    assert graph.refused_exits(15) == {"down": "The oak door is in the way.", "east": "", "up": ""}
    assert MapGraph.from_dict(graph.to_dict()).refused_exits(15) == graph.refused_exits(15)
    graph.add_connection(15, "down", 30)
    assert graph.refused_exits(15) == {"east": "", "up": ""}


def test_of_an_exit_every_different_answer_is_kept_once_and_the_first_one_comes_first() -> None:
    graph, other = MapGraph(), MapGraph()
    for words in (
        "The door is locked, and has a keyhole.",
        "You can't go that way.",
        "",
        "The door is locked, and has a keyhole.",
    ):
        graph.record_refusal(15, "north", words)
        graph.record_death(15, "down", FatalExit(1, 2, words))
    both = "The door is locked, and has a keyhole. Later: You can't go that way."
    assert graph.refused_exits(15) == {"north": both}
    other.record_refusal(15, "north", "It rattles.")
    other.absorb(MapGraph.from_dict(graph.to_dict()))
    assert other.last_refusal(Edge(15, "north")) == f"It rattles. Later: {both}"
    assert "down (you died (episode 1, turn 2): The door is locked, and has a keyhole. Later: you died" in local_view(
        graph, 15, 1
    )
    graph.add_connection(15, "north", 30)
    assert f"north (blocked at first: {both}) -> L30" in local_view(graph, 15, 1)


def test_the_end_of_an_exit_in_a_file_of_an_earlier_version_is_shown_as_it_is_there() -> None:
    graph = MapGraph.from_dict(
        {"rooms": {"15": {"id": 15, "name": "Hall"}}, "exit_deaths": {"15_down": "you died: Oh."}}
    )
    graph.record_death(15, "down", FatalExit(2, 3, "Oh.", "won", 26, 30, room=15))
    end = "the story ended, won, with 26 of 30 points in L15 Hall (episode 2, turn 3): Oh."
    again = MapGraph.from_dict(graph.to_dict())
    assert f"down (you died: Oh. Later: {end})" in local_view(again, 15, 1)
    other = MapGraph()
    other.record_death(15, "down", FatalExit(4, 5, "Oh.", "won", 26, 30, room=15))
    again.absorb(other)
    assert f"down (you died: Oh. Later: {end})" in local_view(again, 15, 1), "the same end is told once"


def test_a_story_with_ever_new_answers_keeps_the_first_ones_and_the_latest() -> None:
    graph = MapGraph()
    for turn in range(1, 21):
        graph.record_refusal(15, "north", f"No. {turn}.")
    assert graph.refused_exits(15)["north"].startswith("No. 1. Later: No. 2. Later: ")
    assert graph.refused_exits(15)["north"].endswith("No. 7. Later: No. 20.")


def test_a_file_with_one_answer_of_an_exit_is_read_and_written_as_before() -> None:
    old = {"rooms": {"15": {"id": 15, "name": "Hall"}}, "exit_refusals": {"15_north": "Shut.", "15_up": ""}}
    graph = MapGraph.from_dict(old)
    assert graph.refused_exits(15) == {"north": "Shut.", "up": ""}
    assert graph.to_dict()["exit_refusals"] == old["exit_refusals"]


def test_what_another_run_was_refused_is_taken_over_where_this_one_has_not_walked() -> None:
    mine, theirs = MapGraph(), MapGraph()
    mine.add_connection(15, "south", 30)
    for exit_ in ("south", "west"):
        theirs.record_refusal(15, exit_, "Shut.")
    mine.absorb(theirs)
    assert mine.refused_exits(15) == {"west": "Shut."}


def test_what_another_run_read_of_a_room_is_true_of_it_at_once() -> None:
    mine, theirs = MapGraph(), MapGraph()
    mine.add_connection(15, "north", 30)
    assert mine.ways_back(30) == {"south": 15}
    assert mine.carries_from(30) == {}
    theirs.name_exits(30, ["east"])
    theirs.record_carry(30, "wait", Carry(15, 1, 1))
    mine.absorb(theirs)
    assert mine.ways_back(30) == {}
    assert mine.carries_from(30) == {"wait": Carry(15, 1, 1)}


def test_what_is_known_of_a_room_is_collected_once_until_something_changes_there() -> None:
    graph = MapGraph()
    graph.record_refusal(15, "north", "Shut.")
    finds = (graph.refused_exits, graph.exits_back, graph.carries_from)
    known = [find(15) for find in finds]
    graph.record_carry(30, "wait", Carry(15, 1, 1))
    assert all(find(15) is before for find, before in zip(finds, known, strict=True))
    graph.record_refusal(15, "up", "leads back here")
    graph.record_carry(15, "wait", Carry(30, 1, 2))
    assert [find(15) for find in finds] == [{"north": "Shut."}, {"up": ()}, {"wait": Carry(30, 1, 2)}]


@given(attempts)
def test_what_was_tried_is_an_edge_refused_or_pruned_and_never_untried(tried: list[Tried]) -> None:
    graph = after(tried)
    led_to: dict[Edge, list[int | None]] = {}
    for each in tried:
        led_to.setdefault(Edge(each.from_id, each.exit), []).append(each.to_id)
    walked = {edge: [to_id for to_id in found if to_id is not None] for edge, found in led_to.items()}
    edges = {
        Edge(from_id, exit_): to_id for from_id, ways in graph.connections.items() for exit_, to_id in ways.items()
    }
    assert edges == {edge: found[-1] for edge, found in walked.items() if found}
    for edge, found in led_to.items():
        assert graph.is_pruned(*edge) == (not walked[edge] and len(found) >= PRUNE_AFTER)
        graph.add_exits(edge.location_id, [edge.exit])
        assert edge.exit not in graph.untried_exits(edge.location_id)


@given(graphs())
def test_a_room_never_lists_a_pruned_exit_and_always_a_walked_one(graph: MapGraph) -> None:
    for room in graph.rooms.values():
        assert not graph.pruned_exits.get(room.id, set()).intersection(room.exits)
        assert set(graph.connections.get(room.id, {})) <= set(room.exits)


@pytest.mark.parametrize(("given", "kept"), [(7, 1), (1, 1), (0, 0.01), (-1, 0.01), (float("nan"), 0.01)])
def test_the_confidence_of_a_new_edge_is_brought_between_a_hundredth_and_one(given: float, kept: float) -> None:
    graph = MapGraph()
    graph.add_connection(15, "north", 180, given)
    assert graph.confidence(Edge(15, "north")) == pytest.approx(kept)
    assert MapGraph.from_dict(graph.to_dict()) == graph


@pytest.mark.parametrize(
    "add",
    [
        lambda graph: graph.add_room(-1, "Attic"),
        lambda graph: graph.add_exits(-1, ("north",)),
        lambda graph: graph.add_connection(-1, "north", 1),
        lambda graph: graph.add_connection(1, "north", -1),
        lambda graph: graph.record_failure(-1, "north", prune_after=3),
    ],
)
def test_a_negative_id_is_refused_and_changes_nothing(add: Callable[[MapGraph], object]) -> None:
    graph = MapGraph()
    with pytest.raises(ValueError, match="-1 is not a location id"):
        add(graph)
    assert graph == MapGraph()


@pytest.mark.parametrize("wrong", [True, "15", 1.5])
def test_what_is_no_whole_number_is_not_a_room(wrong: Any) -> None:
    with pytest.raises(ValueError, match="is not a location id: expected a whole number"):
        MapGraph().add_room(wrong)


def test_a_room_that_the_absorbed_map_saw_lit_later_is_not_dark() -> None:
    mine, other = MapGraph(), MapGraph()
    for graph, darkness in ((mine, [True]), (other, [True, False])):
        graph.add_room(1, "Cellar")
        for is_dark in darkness:
            graph.add_visit(1, 1, is_dark=is_dark)
    mine.absorb(other)
    assert not mine.rooms[1].is_dark
