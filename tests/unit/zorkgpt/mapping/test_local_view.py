"""The map around the player, as the agent reads it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.zorkgpt.mapping.graphs import graphs
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.navigation import local_view

STUDY, ROOF, STORAGE, HALL, PATH = 32, 29, 41, 49, 60

AROUND_THE_STUDY = """L32 Study (here): south -> L41; down -> L49; untried: up; led nowhere: east, west (A wall.)
L41 Storage: north -> L32; untried: west
L49 Hall: up -> L32; south -> L60 Path"""


def tower() -> MapGraph:
    """A tower with a study, a storage, and a hall from which a path leads on."""
    graph = MapGraph()
    for room, name in {STUDY: "Study", ROOF: "Roof", STORAGE: "Storage", HALL: "Hall", PATH: "Path"}.items():
        graph.add_room(room, name)
    for from_id, exit_, to_id in (
        (STUDY, "south", STORAGE),
        (STORAGE, "north", STUDY),
        (STUDY, "down", HALL),
        (HALL, "up", STUDY),
        (HALL, "south", PATH),
        (PATH, "north", HALL),
    ):
        graph.add_connection(from_id, exit_, to_id)
    graph.add_exits(STUDY, ["up"])
    graph.add_exits(STORAGE, ["west"])
    for exit_ in ("west", "east"):
        graph.record_refusal(STUDY, exit_, "A wall.")
    return graph


def test_rooms_stand_nearest_first_with_walked_untried_and_refused_exits_and_targets_without_a_line_have_names() -> (
    None
):
    assert local_view(tower(), STUDY, 2) == AROUND_THE_STUDY


def test_a_room_at_the_edge_is_there_for_its_untried_exits_and_says_if_ways_lead_on() -> None:
    graph = tower()
    graph.add_exits(PATH, ["east"])
    assert local_view(graph, STUDY, 2).endswith("L49 Hall: up -> L32; south -> L60\nL60 Path: untried: east")
    assert local_view(graph, HALL, 1) == (
        "L49 Hall (here): up -> L32; south -> L60\nL32 Study: untried: up; other ways known\nL60 Path: untried: east"
    )


def test_exits_in_doubt_say_so_with_the_storys_last_words() -> None:
    graph = MapGraph()
    graph.add_connection(HALL, "enter shadow", ROOF, confidence=0.4)
    graph.add_connection(HALL, "south", PATH)
    graph.record_failure(HALL, "south", prune_after=3)
    graph.record_refusal(HALL, "south", "The oak door is in the way.")
    assert local_view(graph, HALL, 2) == (
        "L49 Location #49 (here): enter shadow (unsure) -> L29 Location #29; "
        "south (last time: The oak door is in the way.) -> L60 Location #60"
    )
    graph.add_connection(HALL, "enter shadow", ROOF)
    assert "enter shadow -> L29" in local_view(graph, HALL, 2)


def test_where_no_exit_is_known_there_is_nothing_to_say() -> None:
    graph = MapGraph()
    graph.add_room(HALL, "Hall")
    assert local_view(graph, HALL, 2) == local_view(graph, PATH, 2) == ""


@given(graphs(), st.integers(1, 12), st.integers(1, 3))
def test_no_name_no_command_and_no_words_start_a_line_of_their_own(graph: MapGraph, here: int, radius: int) -> None:
    lines = local_view(graph, here, radius).splitlines()
    rooms = [line.split(maxsplit=1)[0] for line in lines]
    assert len(set(rooms)) == len(rooms)
    assert all(room[0] == "L" and int(room[1:]) in graph.rooms for room in rooms)
