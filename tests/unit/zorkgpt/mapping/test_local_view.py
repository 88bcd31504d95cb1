"""The map around the player, as the agent reads it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.zorkgpt.mapping.graphs import graph_of, graphs
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.navigation import local_view

STUDY, ROOF, STORAGE, HALL, PATH = 32, 29, 41, 49, 60

AROUND_THE_STUDY = """L32 Study (here): south -> L41; down -> L49; untried: up; led nowhere: east, west (A wall.)
L41 Storage: north -> L32; untried: west
L49 Hall: up -> L32; south -> L60 Path"""


def tower() -> MapGraph:
    """A tower with a study, a storage, and a hall from which a path leads on."""
    graph = graph_of((STUDY, "south", STORAGE), (STORAGE, "north", STUDY), (STUDY, "down", HALL), (HALL, "up", STUDY))
    for room, name in {STUDY: "Study", ROOF: "Roof", STORAGE: "Storage", HALL: "Hall", PATH: "Path"}.items():
        graph.add_room(room, name)
    graph.add_connection(HALL, "south", PATH)
    graph.add_connection(PATH, "north", HALL)
    graph.add_exits(STUDY, ["up"])
    graph.add_exits(STORAGE, ["west"])
    for exit_ in ("west", "east"):
        graph.record_refusal(STUDY, exit_, "A wall.")
    return graph


def test_rooms_stand_nearest_first_with_walked_untried_and_refused_exits_and_targets_without_a_line_have_names() -> (
    None
):
    assert local_view(tower(), STUDY, 2) == AROUND_THE_STUDY


def test_what_lies_farther_away_is_named_with_the_number_of_moves() -> None:
    graph = tower()
    graph.add_connection(PATH, "east", ROOF)
    assert local_view(graph, STUDY, 2).splitlines()[-1] == "Other rooms (moves): L29 Roof (3)"
    graph.add_exits(PATH, ["south"])
    graph.add_exits(ROOF, ["down"])
    graph.add_room(7, "Shed")
    graph.add_exits(7, ["up"])
    farther = local_view(graph, STUDY, 2).splitlines()[-1]
    assert farther == ("Farther untried (moves): L60 Path: south (2); L29 Roof: down (3); L7 Shed: up (no way known)")
    assert local_view(graph, STUDY, 1).splitlines()[1:] == [
        (
            "Farther untried (moves): L41 Storage: west (1); L60 Path: south (2); L29 Roof: down (3); "
            "L7 Shed: up (no way known)"
        )
    ]


def test_of_many_rooms_the_nearest_are_named_and_the_others_counted() -> None:
    graph = MapGraph()
    for room in range(1, 101):
        graph.add_connection(room, "enter crack", room + 1, confidence=1)
        graph.add_exits(room + 1, ["west"])
    farther = local_view(graph, 1, 1).splitlines()[-1]
    assert farther.startswith("Farther untried (moves): L2 Location #2: west (1); L3 ")
    assert farther.endswith(" more")
    assert len(farther) < 460


def test_the_present_room_has_a_line_and_a_way_back_is_shown_as_untried() -> None:
    graph = MapGraph()
    graph.add_room(HALL, "Hall")
    assert local_view(graph, HALL, 2) == "L49 Hall (here): no exit is known"
    assert local_view(graph, PATH, 2) == ""
    graph.add_connection(HALL, "south", PATH)
    graph.add_exits(PATH, ["north", "west"])
    assert local_view(graph, PATH, 1) == "L60 Location #60 (here): north -> L49 Hall (back?); untried: west"


def test_exits_in_doubt_say_so_with_the_storys_last_words() -> None:
    graph = graph_of((HALL, "enter shadow", ROOF, 0.4), (HALL, "south", PATH))
    graph.record_failure(HALL, "south", prune_after=3)
    graph.record_refusal(HALL, "south", "The oak door is in the way.")
    assert local_view(graph, HALL, 2) == (
        "L49 Location #49 (here): enter shadow (unsure) -> L29 Location #29; "
        "south (last time: The oak door is in the way.) -> L60 Location #60"
    )
    graph.add_connection(HALL, "enter shadow", ROOF)
    assert "enter shadow -> L29" in local_view(graph, HALL, 2)


@given(graphs(), st.integers(1, 12), st.integers(1, 3))
def test_no_name_no_command_and_no_words_start_a_line_of_their_own(graph: MapGraph, here: int, radius: int) -> None:
    lines = local_view(graph, here, radius).splitlines()
    rooms = [line.split(maxsplit=1)[0] for line in lines]
    assert len(set(rooms)) == len(rooms)
    assert rooms[:1] == ([f"L{here}"] if here in graph.rooms else [])
    assert all(room in ("Farther", "Other") or int(room.removeprefix("L")) in graph.rooms for room in rooms)
