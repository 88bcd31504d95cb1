"""Ways through the map: routes, the frontier and the neighbourhood of a place."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import networkx as nx

from zorkgpt.mapping.map_graph import Edge

if TYPE_CHECKING:
    from zorkgpt.mapping.map_graph import MapGraph


@dataclass(frozen=True, slots=True)
class Route:
    """A way through known edges.

    commands: to be played in this order; empty for a place that one is already at
    location_ids: the rooms on the way, both ends included
    """

    commands: tuple[str, ...]
    location_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FrontierRoom:
    """A reachable room with exits that the story names and nobody has walked."""

    location_id: int
    untried_exits: tuple[str, ...]
    route: Route


def shortest_route(graph: MapGraph, from_id: int, to_id: int) -> Route | None:
    """The way with the fewest tries to be expected; ``None`` where no known edges lead there.

    An edge of confidence ``c`` counts as ``1 / c`` tries: two sure steps are preferred to one doubtful one.
    """
    ways = _ways(graph)
    if from_id not in ways or to_id not in ways:
        return None
    try:
        return _route(ways, nx.shortest_path(ways, from_id, to_id, weight="tries"))
    except nx.NetworkXNoPath:
        return None


def frontier(graph: MapGraph, from_id: int) -> tuple[FrontierRoom, ...]:
    """The rooms with untried exits that known edges lead to, nearest first."""
    ways = _ways(graph)
    if from_id not in ways:
        return ()
    paths = nx.single_source_dijkstra_path(ways, from_id, weight="tries")
    tries = {location_id: nx.path_weight(ways, path, "tries") for location_id, path in paths.items()}
    return tuple(
        FrontierRoom(location_id, untried, _route(ways, paths[location_id]))
        for location_id in sorted(paths, key=lambda each: (tries[each], each))
        if (untried := graph.untried_exits(location_id))
    )


def neighbourhood(graph: MapGraph, location_id: int, radius: int) -> dict[int, int]:
    """The rooms at most ``radius`` moves away, one-way passages counting both ways: moves by location id."""
    ways = _ways(graph)
    if location_id not in ways:
        return {}
    return dict(nx.single_source_shortest_path_length(ways.to_undirected(as_view=True), location_id, radius))


def _ways(graph: MapGraph) -> nx.DiGraph[int]:
    """The map with the surest command of each pair of rooms: edges are added surest last, and replace each other."""
    ways: nx.DiGraph[int] = nx.DiGraph()
    ways.add_nodes_from(graph.rooms)
    edges = [
        (graph.confidence(Edge(from_id, command)), from_id, to_id, command)
        for from_id, exits in graph.connections.items()
        for command, to_id in exits.items()
    ]
    for confidence, from_id, to_id, command in sorted(edges):
        ways.add_edge(from_id, to_id, command=command, tries=1 / confidence)
    return ways


def _route(ways: nx.DiGraph[int], path: list[int]) -> Route:
    return Route(tuple(ways.edges[step]["command"] for step in pairwise(path)), tuple(path))
