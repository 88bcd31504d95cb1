"""Paths over the map, and the map around the player, as the agent reads it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.turn_cost import Calls
from tests.unit.zorkgpt.mapping.graphs import Tried, after, attempts, graph_of, graphs, location_ids
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.map_values import LEADS_BACK, Carry, Edge, FatalExit
from zorkgpt.mapping.navigation import (
    Path,
    local_view,
    neighbourhood,
    paths_from,
    seen_paths,
    shortest_path,
    untried_from,
)


def ways(graph: MapGraph, from_id: int) -> dict[str, int]:
    return {**graph.ways_back(from_id), **graph.connections.get(from_id, {})}


def reachable(graph: MapGraph, from_id: int) -> set[int]:
    """The rooms that edges and ways back lead to, found without the library under test."""
    found, open_ids = {from_id}, [from_id]
    while open_ids:
        new = set(ways(graph, open_ids.pop()).values()) - found
        found |= new
        open_ids += new
    return found


def test_a_way_that_was_refused_before_it_worked_says_so_in_later_games_too() -> None:
    before, other = MapGraph(), MapGraph()
    before.add_room(51, "Church")
    before.record_refusal(51, "north", "The dog blocks your path.")
    before.add_connection(51, "north", 68)
    before.record_refusal(51, "north", "The gate is shut.")
    before.add_connection(51, "north", 68)
    other.absorb(MapGraph.from_dict(before.to_dict()))
    for graph in (before, other):
        assert "north (blocked at first: The dog blocks your path.) -> L68" in local_view(graph, 51, 1)


def test_a_door_that_was_locked_is_presumed_to_lead_back_once_the_player_came_from_behind_it() -> None:
    graph = MapGraph()
    graph.record_refusal(105, "east", "It is locked.")
    for _ in range(9):
        graph.record_failure(105, "east", prune_after=2)
    graph.add_connection(627, "west", 105)
    assert "east (blocked at first: It is locked.) -> L627 Location #627 (back?)" in local_view(graph, 105, 1)
    path = shortest_path(graph, 105, 627)
    assert path is not None
    assert (path.commands, path.doubts()) == (("east",), ", east blocked at first")
    graph.record_refusal(105, "east", "It is locked again.")
    graph.add_connection(627, "west", 105)
    assert "east (It is locked again.)" in local_view(graph, 105, 1), "a later walk from there shows nothing new"


@pytest.mark.parametrize("later", ["", "Sand blows into your face."], ids=["walked then", "refused then"])
def test_a_way_that_led_back_at_first_was_not_blocked(later: str) -> None:
    graph = MapGraph()
    for words in (LEADS_BACK, later):
        graph.record_refusal(51, "north", words)
    graph.add_connection(51, "north", 68)
    told = "leads back here" + (f" Later: {later}" if later else "")
    assert f"north (at first: {told}) -> L68" in local_view(graph, 51, 1)


def walked(path: Path | None) -> tuple[tuple[str, ...], tuple[int, ...]] | None:
    return None if path is None else (path.commands, path.location_ids)


def test_a_path_is_the_commands_to_play_and_the_rooms_on_the_way() -> None:
    graph = graph_of((1, "north", 2), (2, "enter window", 3), (1, "west", 4), (4, "west", 5), (5, "west", 3))
    assert walked(shortest_path(graph, 1, 3)) == (("north", "enter window"), (1, 2, 3))
    assert walked(shortest_path(graph, 1, 1)) == ((), (1,))
    assert shortest_path(graph, 1, 9) is None
    assert shortest_path(graph, 9, 1) is None


def test_the_way_back_is_presumed_until_it_proves_wrong_or_leads_elsewhere() -> None:
    graph = graph_of((1, "down", 2))
    assert graph.ways_back(2) == {"up": 1}
    assert walked(shortest_path(graph, 2, 1)) == (("up",), (2, 1))
    graph.record_refusal(2, "up", "You cannot climb that.")
    assert not graph.ways_back(2)
    assert shortest_path(graph, 2, 1) is None
    graph = graph_of((1, "north", 2), (2, "south", 3))
    assert (graph.ways_back(2), graph.ways_back(3)) == ({}, {"north": 2})
    graph.add_connection(3, "south", 3)
    assert graph.ways_back(3) == {}, "in a desert, a move may not lead elsewhere"
    assert shortest_path(graph, 2, 1) is None


def test_nothing_is_presumed_of_commands_without_an_opposite_of_exits_that_rooms_share_and_of_those_that_killed() -> (
    None
):
    graph = graph_of((1, "enter window", 2), (3, "north", 4), (5, "north", 4), (6, "west", 6))
    assert not any(graph.ways_back(room) for room in graph.rooms)
    graph = graph_of((1, "north", 2))
    graph.record_death(2, "south", FatalExit(1, 2, "You fall."))
    assert graph.ways_back(2) == {}
    assert graph.untried_exits(2) == ("south",)


@pytest.mark.parametrize(
    ("walks", "ends", "commands"),
    [
        (
            [(1, "north", 2), (2, "climb rope", 3), (3, "climb rope", 4), (4, "climb rope", 1)],
            (2, 1),
            ("climb rope", "climb rope", "climb rope"),
        ),
        ([(1, "north", 2), (2, "north", 3), (1, "wait", 3, 0.2)], (1, 3), ("north", "north")),
        ([(1, "north", 2), (1, "climb wall", 2, 0.4), (1, "enter gate", 2, 0.9)], (1, 2), ("enter gate",)),
        ([(1, "west", 7), (7, "north", 9), (1, "east", 3), (3, "north", 9)], (1, 9), ("east", "north")),
    ],
    ids=[
        *("known edges before a way back, however many", "two sure steps before a doubtful one"),
        *("the surer of two commands", "of equals the lower destination, in any order of the walks"),
    ],
)
def test_of_several_paths_one_is_always_preferred(
    walks: list[tuple[int, str, int]], ends: tuple[int, int], commands: tuple[str, ...]
) -> None:
    path = shortest_path(graph_of(*walks), *ends)
    assert path is not None
    assert path.commands == commands


def test_paths_lead_to_all_reachable_rooms_nearest_first() -> None:
    graph = graph_of((1, "north", 2), (2, "north", 3), (1, "east", 4), (9, "enter hole", 1))
    paths = paths_from(graph, 1)
    assert list(paths) == [1, 2, 4, 3]
    assert (walked(paths[1]), walked(paths[3])) == (((), (1,)), (("north", "north"), (1, 2, 3)))
    assert paths_from(graph, 99) == {}


def test_the_neighbourhood_counts_moves_in_either_direction() -> None:
    graph = graph_of((1, "north", 2), (3, "down", 1), (2, "north", 4), (4, "north", 5))
    assert neighbourhood(graph, 1, 2) == {1: 0, 2: 1, 3: 1, 4: 2}
    assert neighbourhood(graph, 99, 2) == {}


@given(graphs())
def test_a_path_is_found_exactly_where_edges_and_ways_back_lead_and_follows_them(graph: MapGraph) -> None:
    for from_id in graph.rooms:
        within_reach = reachable(graph, from_id)
        for to_id in graph.rooms:
            path = shortest_path(graph, from_id, to_id)
            assert (path is not None) == (to_id in within_reach)
            if path is not None:
                here = from_id
                for command in path.commands:
                    here = ways(graph, here)[command]
                assert here == to_id


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
        graph.tried_now[Edge(STUDY, exit_)] = False
        graph.record_refusal(STUDY, exit_, "A wall.")
    return graph


def test_rooms_stand_nearest_first_with_walked_untried_and_refused_exits_and_targets_without_a_line_have_names() -> (
    None
):
    assert local_view(tower(), STUDY, 2) == AROUND_THE_STUDY


def test_an_exit_that_led_nowhere_says_if_that_was_in_an_earlier_game() -> None:
    graph = tower()
    graph.begin_game()
    before = "untried: up; led nowhere in an earlier game: east, west (A wall.)"
    assert local_view(graph, STUDY, 0).splitlines()[0].endswith(before)
    graph.tried_now[Edge(STUDY, "west")] = False
    graph.record_refusal(STUDY, "west", "It is locked.")
    now = (
        "untried: up; led nowhere: west (A wall. Later: It is locked.); led nowhere in an earlier game: east (A wall.)"
    )
    assert local_view(graph, STUDY, 0).splitlines()[0].endswith(now)


def test_what_lies_farther_away_is_named_with_the_number_of_moves() -> None:
    graph = tower()
    graph.add_connection(PATH, "east", ROOF)
    assert local_view(graph, STUDY, 2).splitlines()[-1] == "Other rooms (moves): L29 Roof (3)"
    graph.add_exits(PATH, ["south"])
    graph.add_exits(ROOF, ["down"])
    graph.add_room(7, "Shed")
    graph.add_exits(7, ["up"])
    farther = local_view(graph, STUDY, 2).splitlines()[-1]
    assert farther == ("Farther untried (moves): L60 Path (2): south; L29 Roof (3): down; L7 Shed (no way known): up")
    assert local_view(graph, STUDY, 1).splitlines()[1:] == [
        (
            "Farther untried (moves): L41 Storage (1): west; L60 Path (2): south; L29 Roof (3): down; "
            "L7 Shed (no way known): up"
        )
    ]


def test_refused_exits_are_listed_under_a_heading_of_their_own_and_each_room_is_in_one_line() -> None:
    graph = tower()
    graph.add_connection(PATH, "east", ROOF)
    graph.add_exits(ROOF, ["north"])
    graph.record_failure(ROOF, "north", prune_after=3)
    graph.record_refusal(ROOF, "north", "Too steep.")
    graph.add_exits(PATH, ["south"])
    untried, refused = untried_from(graph, STUDY).splitlines()
    assert untried.startswith("Untried exits (moves from the start): ")
    assert "Roof" not in untried
    assert refused == "Named exits that led nowhere (moves from the start): L29 Roof (3): north (Too steep.)"
    text = local_view(graph, STUDY, 1, {ROOF, PATH})
    lines = dict(line.split(" (moves): ") for line in text.splitlines()[1:])
    aims = "L60 Path (2): untried: south; L29 Roof (3): led nowhere in an earlier game: north (Too steep.)"
    assert lines["In plan, objectives or notes"] == aims
    assert (text.count("Path"), text.count("Roof")) == (1, 1)
    assert "In plan, objectives or notes (moves): L60 (2)" in local_view(graph, STUDY, 3, {PATH}), "it has a line"


def test_a_distance_over_a_way_back_that_was_never_tried_is_marked() -> None:
    graph = MapGraph()
    graph.add_connection(1, "north", 2)
    graph.add_exits(1, ["up"])
    assert local_view(graph, 2, 1).splitlines()[-1] == "Farther untried (moves): L1 Location #1 (1, back?): up"
    graph.add_connection(3, "west", 2)
    graph.add_connection(3, "east", 4)
    assert "L4 Location #4 (2, 1 back?)" in local_view(graph, 2, 1)
    graph.add_connection(2, "south", 1)
    assert "Farther untried (moves): L1 Location #1 (1): up" in local_view(graph, 2, 1)


def test_a_distance_through_a_way_that_was_blocked_at_first_says_so_until_it_is_walked_in_this_game() -> None:
    graph = MapGraph()
    graph.record_refusal(1, "north", "The door is locked.")
    for from_id, exit_, to_id in ((1, "north", 2), (2, "east", 3)):
        graph.add_connection(from_id, exit_, to_id)
    graph.add_exits(3, ["up"])
    graph.tried_now[Edge(1, "north")] = True
    assert local_view(graph, 1, 1).endswith("L3 Location #3 (2): up")
    assert untried_from(graph, 1).endswith("L3 Location #3 (2, north blocked at first): up"), "in the next game"
    graph.begin_game()
    assert local_view(graph, 1, 1).endswith("L3 Location #3 (2, north blocked at first): up")
    graph.add_connection(3, "down", 4)
    graph.add_exits(4, ["down"])
    both = "L3 Location #3 (2, north blocked at first): up; L4 Location #4 (3, likewise): down"
    assert local_view(graph, 1, 1).endswith(both), "the same words once in a list"


def test_an_exit_for_which_the_story_asks_a_question_did_not_lead_nowhere() -> None:
    graph = MapGraph()
    graph.add_exits(1, ["west", "north"])
    for exit_, words in (("west", "A fearful place. Are you sure you want to go in?"), ("north", "A wall.")):
        graph.record_refusal(1, exit_, words)
    assert local_view(graph, 1, 1) == (
        "L1 Location #1 (here): led nowhere in an earlier game: north (A wall.); "
        "tried: west (A fearful place. Are you sure you want to go in?)"
    )


def test_a_room_whose_refused_exit_has_a_long_text_hides_no_other_room() -> None:
    graph = graph_of((1, "north", 2), (2, "north", 3), (3, "north", 4))
    graph.add_exits(3, ["east"])
    graph.record_failure(3, "east", prune_after=3)
    graph.record_refusal(3, "east", "You pause at the curtain. " * 20)
    closed = "L3 Location #3 (2): led nowhere in an earlier game: east"
    assert local_view(graph, 1, 1).splitlines()[-1] == f"Other rooms (moves): {closed}; L4 Location #4 (3)"


def test_a_room_that_is_named_above_is_no_other_room() -> None:
    graph = graph_of((1, "north", 2), (2, "north", 3))
    graph.add_exits(3, ["east"])
    graph.record_failure(3, "east", prune_after=3)
    for words, told in (("A wall.", " (A wall.)"), ("You pause at the curtain. " * 20, "")):
        graph.exit_refusals.clear()
        graph.record_refusal(3, "east", words)
        _, named = local_view(graph, 1, 1, named=[3]).splitlines()
        closed = f"led nowhere in an earlier game: east{told}"
        assert named == f"In plan, objectives or notes (moves): L3 Location #3 (2): {closed}"
    graph.add_exits(2, ["up"])
    graph.record_failure(2, "up", prune_after=3)
    assert local_view(graph, 1, 1).splitlines()[-1].startswith("Exits that led nowhere / Other rooms (moves): ")


def test_of_many_rooms_the_nearest_are_named_and_the_others_counted() -> None:
    graph = MapGraph()
    for room in range(1, 101):
        graph.add_connection(room, "enter crack", room + 1, confidence=1)
        graph.add_exits(room + 1, ["west"])
    farther = local_view(graph, 1, 1).splitlines()[-1]
    assert farther.startswith("Farther untried (moves): L2 Location #2 (1): west; L3 ")
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


@pytest.mark.parametrize(
    ("change", "back"),
    [
        (lambda _: None, {"south": 1}),
        (lambda graph: graph.add_room(2, "Maze"), {"south": 1}),
        (lambda graph: (graph.add_room(1, "Maze"), graph.add_room(2, "Maze")), {}),
        (lambda graph: graph.name_exits(2, ["south", "up"]), {"south": 1}),
        (lambda graph: graph.name_exits(2, ["up"]), {"south": 1}),
        (lambda graph: graph.name_exits(2, ["north", "east"]), {}),
        (lambda graph: (graph.add_connection(3, "west", 2), graph.record_refusal(2, "east", "A wall.")), {}),
        (lambda graph: (graph.add_connection(3, "west", 2), graph.add_connection(2, "east", 4)), {}),
        (lambda graph: (graph.add_connection(3, "west", 2), graph.add_connection(2, "east", 3)), {"south": 1}),
    ],
    ids=[
        *("as a rule", "a name of its own", "rooms of one name", "named by the text", "no point of the compass named"),
        *("against the text", "another one was refused", "another one led elsewhere", "another one led back"),
    ],
)
def test_a_way_back_is_presumed_only_where_nothing_speaks_against_it(
    change: Callable[[MapGraph], object], back: dict[str, int]
) -> None:
    graph = graph_of((1, "north", 2))
    assert graph.ways_back(2) == {"south": 1}
    change(graph)
    assert graph.ways_back(2) == back
    assert MapGraph.from_dict(graph.to_dict()).ways_back(2) == back


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


@given(graphs(), attempts, location_ids)
def test_what_follows_from_a_map_is_the_same_after_each_change_as_for_the_map_read_anew(
    graph: MapGraph, tried: list[Tried], here: int
) -> None:
    graph.add_room(here)
    for each in tried:
        local_view(graph, here, 2)
        after([each], graph)
        graph.record_death(each.from_id, "up", FatalExit(1, 2, "You died."))
        graph.drop_exits(each.from_id, ["north"])
        anew = MapGraph.from_dict(graph.to_dict())
        for radius in (1, 3):
            assert local_view(graph, here, radius) == local_view(anew, here, radius)
        for room in graph.rooms:
            assert graph.sources(room) == anew.sources(room)
            assert (graph.ways_back(room), graph.untried_exits(room)) == (
                anew.ways_back(room),
                anew.untried_exits(room),
            )


@pytest.mark.parametrize(("is_answer", "how"), [(False, "carried you, "), (True, "")])
def test_a_ride_is_told_from_an_answer_by_what_happened_and_not_by_its_words(is_answer: bool, how: str) -> None:
    graph = MapGraph()
    graph.add_room(1, "Quay")
    graph.record_carry(1, "say now, then wait", Carry(2, 1, 4, is_answer=is_answer))
    graph.add_room(2, "Boat")
    assert f"say now, then wait ({how}episode 1, turn 4) -> L2 Boat" in local_view(graph, 1, 1)


def test_after_a_move_a_path_takes_few_steps_for_each_room_at_which_nothing_changed() -> None:
    graph = MapGraph()
    for room in range(1, 101):
        graph.add_connection(room, "east", room + 1)
    paths_from(graph, 1)
    graph.record_refusal(1, "west", "A wall.")
    with Calls() as calls:
        assert len(paths_from(graph, 1)) == 101
    assert calls.all < 101 * 16


def test_a_reading_that_changes_no_exit_keeps_the_paths() -> None:
    graph = graph_of(*((room, "east", room + 1) for room in range(1, 101)))
    graph.add_exits(1, ("up",))
    paths = paths_from(graph, 1)
    graph.correct_exits(1, ("up",), ("down",))
    assert paths_from(graph, 1) is paths
    graph.correct_exits(1, (), ("up",))
    assert graph.untried_exits(1) == ()


@given(graphs(), st.dictionaries(location_ids, location_ids), location_ids)
def test_carries_lead_only_to_rooms_to_which_no_path_does(graph: MapGraph, carries: dict[int, int], here: int) -> None:
    for from_id, to_id in carries.items():
        graph.record_carry(from_id, "wait", Carry(to_id, 1, 4))
        graph.add_room(from_id)
        graph.add_room(to_id)
    walked, carried = paths_from(graph, here), paths_from(graph, here, uses_carries=True)
    others = {room: path for room, path in carried.items() if room not in walked}
    assert list(seen_paths(graph, here).items()) == [*walked.items(), *others.items()]
