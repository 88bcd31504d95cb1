from __future__ import annotations

import pytest
from hypothesis import given

from tests.unit.zorkgpt.mapping.graphs import graph_of, graphs
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.navigation import Route, leads_farther, neighbourhood, routes_from, shortest_route


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


def test_a_route_is_the_commands_to_play_and_the_rooms_on_the_way() -> None:
    graph = graph_of((1, "north", 2), (2, "enter window", 3), (1, "west", 4), (4, "west", 5), (5, "west", 3))
    assert shortest_route(graph, 1, 3) == Route(("north", "enter window"), (1, 2, 3))
    assert shortest_route(graph, 1, 1) == Route((), (1,))
    assert shortest_route(graph, 1, 9) is None
    assert shortest_route(graph, 9, 1) is None


def test_the_way_back_is_presumed_until_it_proves_wrong_or_leads_elsewhere() -> None:
    graph = graph_of((1, "down", 2))
    assert graph.ways_back(2) == {"up": 1}
    assert shortest_route(graph, 2, 1) == Route(("up",), (2, 1))
    graph.record_refusal(2, "up", "You cannot climb that.")
    assert not graph.ways_back(2)
    assert shortest_route(graph, 2, 1) is None
    graph = graph_of((1, "north", 2), (2, "south", 3))
    assert (graph.ways_back(2), graph.ways_back(3)) == ({}, {"north": 2})
    assert shortest_route(graph, 2, 1) is None


def test_nothing_is_presumed_of_commands_without_an_opposite_of_exits_that_rooms_share_and_of_those_that_killed() -> (
    None
):
    graph = graph_of((1, "enter window", 2), (3, "north", 4), (5, "north", 4), (6, "west", 6))
    assert not any(graph.ways_back(room) for room in graph.rooms)
    graph = graph_of((1, "north", 2))
    graph.record_death(2, "south", "You fall.")
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
def test_of_several_routes_one_is_always_preferred(
    walks: list[tuple[int, str, int]], ends: tuple[int, int], commands: tuple[str, ...]
) -> None:
    route = shortest_route(graph_of(*walks), *ends)
    assert route is not None
    assert route.commands == commands


def test_routes_lead_to_all_reachable_rooms_nearest_first() -> None:
    graph = graph_of((1, "north", 2), (2, "north", 3), (1, "east", 4), (9, "enter hole", 1))
    routes = routes_from(graph, 1)
    assert list(routes) == [1, 2, 4, 3]
    assert (routes[1], routes[3]) == (Route((), (1,)), Route(("north", "north"), (1, 2, 3)))
    assert routes_from(graph, 99) == {}


def test_ways_lead_farther_where_a_room_takes_more_than_a_command() -> None:
    graph = graph_of((1, "north", 2), (1, "east", 3), (3, "up", 2), (2, "north", 4))
    assert [leads_farther(graph, room) for room in (1, 2, 3, 4, 9)] == [True, False, True, True, False]
    assert not leads_farther(graph_of((1, "north", 2), (1, "east", 3), (3, "up", 2)), 1)


def test_the_neighbourhood_counts_moves_in_either_direction() -> None:
    graph = graph_of((1, "north", 2), (3, "down", 1), (2, "north", 4), (4, "north", 5))
    assert neighbourhood(graph, 1, 2) == {1: 0, 2: 1, 3: 1, 4: 2}
    assert neighbourhood(graph, 99, 2) == {}


@given(graphs())
def test_a_route_is_found_exactly_where_edges_and_ways_back_lead_and_follows_them(graph: MapGraph) -> None:
    for from_id in graph.rooms:
        within_reach = reachable(graph, from_id)
        for to_id in graph.rooms:
            route = shortest_route(graph, from_id, to_id)
            assert (route is not None) == (to_id in within_reach)
            if route is not None:
                here = from_id
                for command in route.commands:
                    here = ways(graph, here)[command]
                assert here == to_id
