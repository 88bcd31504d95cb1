"""Ways over the map, and its text in prompts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import NamedTuple

from zorkgpt.mapping.map_graph import Edge, MapGraph, by_destination, plain_line

BEYOND = "other ways known"
SURE = 0.5
"""An edge of less confidence is shown as unsure: a command that is no direction, walked once, or one that failed."""


def local_view(graph: MapGraph, here: int, radius: int) -> str:
    """Return a line for each room within ``radius`` moves, nearest first; "" where nothing is known of any exit.

    A line tells where exits lead and which of them nobody has tried; that of the room where the player is also tells
    which were refused, with the story's words. A room at the edge is there for its untried exits alone, and says if it
    has ways to rooms beyond. Where an exit
    leads to a room without a line of its own, that room's name stands with it.
    """
    moves = neighbourhood(graph, here, radius)
    untried = {room: graph.untried_exits(room) for room in moves}
    shown = {
        room: hops
        for room, hops in moves.items()
        if untried[room] or (hops < radius and graph.connections.get(room)) or room == here
    }
    lines = []
    for room, hops in sorted(shown.items(), key=lambda each: (each[1], each[0])):
        parts = [*(_walked(graph, room, shown) if hops < radius else ()), *_untried(graph, room, untried[room])]
        parts += _refused(graph, room) if room == here else ()
        if hops == radius and parts and not moves.keys() >= {*graph.connections.get(room, {}).values()}:
            parts.append(BEYOND)
        if parts:
            name = f"L{room} {plain_line(graph.rooms[room].label)}{' (here)' if room == here else ''}"
            lines.append(f"{name}: {'; '.join(parts)}")
    return "\n".join(lines)


def _walked(graph: MapGraph, room: int, shown: Collection[int]) -> Iterable[str]:
    """Yield each room that exits lead to, with the commands."""
    for to_id, commands in by_destination(graph.connections.get(room, {})).items():
        told = " / ".join(_command(graph, Edge(room, command)) for command in commands)
        yield f"{told} -> L{to_id}" + ("" if to_id in shown else f" {plain_line(graph.rooms[to_id].label)}")


def _command(graph: MapGraph, edge: Edge) -> str:
    doubts, words = "unsure" if graph.confidence(edge) < SURE else "", graph.last_refusal(edge)
    if words is not None:
        doubts = f"last time: {words or 'refused'}"
    return plain_line(edge.exit) + (f" ({plain_line(doubts)})" if doubts else "")


def _untried(graph: MapGraph, room: int, exits: Collection[str]) -> Iterable[str]:
    told = []
    for exit_ in exits:
        death = graph.exit_deaths.get(Edge(room, exit_))
        told.append(plain_line(exit_) + (f" ({plain_line(death)})" if death else ""))
    return [f"untried: {', '.join(told)}"] if told else []


def _refused(graph: MapGraph, room: int) -> Iterable[str]:
    """Return in one part which exits were refused, those of one answer together."""
    walked = graph.connections.get(room, {})
    exits: defaultdict[str, list[str]] = defaultdict(list)
    for exit_, words in sorted(graph.refused_exits(room).items()):
        if exit_ not in walked:
            exits[words].append(plain_line(exit_))
    told = [", ".join(each) + (f" ({plain_line(words)})" if words else "") for words, each in exits.items()]
    return [f"led nowhere: {', '.join(told)}"] if told else []


@dataclass(frozen=True, slots=True)
class Route:
    """A way along known edges.

    commands: to be played in this order; empty for the location where the route begins
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
    """Return the route with the fewest tries to be expected; ``None`` where no known edges lead there.

    An edge of confidence ``c`` counts as ``1 / c`` tries: two sure steps are preferred to one doubtful one.
    """
    return next((found.route for found in _routes(graph, from_id) if found.to_id == to_id), None)


def leads_farther(graph: MapGraph, from_id: int) -> bool:
    """Return whether known edges lead to a room that takes more than one command."""
    beside = {*graph.connections.get(from_id, {}).values()}
    farther = {room for each in beside for room in graph.connections.get(each, {}).values()}
    return not farther <= beside | {from_id}


def frontier(graph: MapGraph, from_id: int) -> tuple[FrontierRoom, ...]:
    """Return the rooms with untried exits that known edges lead to, nearest first; of equally near ones by id."""
    return tuple(
        FrontierRoom(found.to_id, untried, found.route)
        for found in sorted(_routes(graph, from_id))
        if (untried := graph.untried_exits(found.to_id))
    )


def neighbourhood(graph: MapGraph, location_id: int, radius: int) -> dict[int, int]:
    """Return the rooms at most ``radius`` moves away, one-way passages counting both ways: moves by location id."""
    if location_id not in graph.rooms:
        return {}
    moves = {location_id: 0}
    outermost = {location_id}
    for distance in range(1, radius + 1):
        beside = {to_id for from_id in outermost for to_id in graph.connections.get(from_id, {}).values()}
        beside |= {from_id for from_id, exits in graph.connections.items() if not outermost.isdisjoint(exits.values())}
        outermost = beside - moves.keys()
        moves.update(dict.fromkeys(outermost, distance))
    return moves


class _Reached(NamedTuple):
    """A room with the shortest route to it, and how many tries that is expected to take."""

    tries: float
    to_id: int
    route: Route


def _routes(graph: MapGraph, from_id: int) -> Iterator[_Reached]:
    """Yield every room that can be reached, nearest first (Dijkstra's algorithm).

    Of two routes equally short the one that was found first stands, so that a map always gives the same routes.
    """
    if from_id not in graph.rooms:
        return
    order = count()
    fewest = {from_id: 0.0}
    waiting = [(0.0, next(order), Route((), (from_id,)))]
    reached: set[int] = set()
    while waiting:
        tries, _, route = heappop(waiting)
        here = route.location_ids[-1]
        if here in reached:
            continue
        reached.add(here)
        yield _Reached(tries, here, route)
        for to_id, (confidence, command) in _surest_commands(graph, here).items():
            further = tries + 1 / confidence
            if further < fewest.get(to_id, inf):
                fewest[to_id] = further
                longer = Route((*route.commands, command), (*route.location_ids, to_id))
                heappush(waiting, (further, next(order), longer))


def _surest_commands(graph: MapGraph, from_id: int) -> dict[int, tuple[float, str]]:
    """Return the surest command to each room next to that one, with its confidence."""
    exits = graph.connections.get(from_id, {}).items()
    by_confidence = sorted((graph.confidence(Edge(from_id, command)), to_id, command) for command, to_id in exits)
    return {to_id: (confidence, command) for confidence, to_id, command in by_confidence}
