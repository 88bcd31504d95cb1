"""The map around the player as text for a prompt (docs/specification.md, Map in prompts)."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from zorkgpt.mapping.map_graph import Edge
from zorkgpt.mapping.map_render import by_destination, plain_line
from zorkgpt.mapping.navigation import neighbourhood

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from zorkgpt.mapping.map_graph import MapGraph

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
