"""What is done with a large work folder takes time in proportion to its content."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import pytest

from benchmarks.load import make_map, make_routes
from managers.memory.document import parse_memories
from managers.routes.document import route_lines
from session.memory import Memory
from session.route import Waypoint
from zorkgpt.cli.map_text import draw_text
from zorkgpt.mapping.map_layout import lay_out
from zorkgpt.mapping.navigation import fewest_moves, local_view

MOST = 9.0
"""Times as long that four times as much may take: 16 would be quadratic, and other processes disturb the clock."""
REPETITIONS = 10
"""Of each work, both in turn, so that neither is measured only while another process disturbs it."""


def draw(rooms: int) -> Callable[[], object]:
    graph = make_map(rooms)
    return lambda: draw_text(graph)


def place(rooms: int) -> Callable[[], object]:
    graph = make_map(rooms)
    return lambda: lay_out(graph)


def find_ways(rooms: int) -> Callable[[], object]:
    graph = make_map(rooms)
    return lambda: (fewest_moves(graph, 1), local_view(graph, rooms // 2, 2))


def list_refused_exits(rooms: int) -> Callable[[], object]:
    graph = make_map(rooms)
    return lambda: graph.refused_exits_of(graph.rooms)


def correct_edges(rooms: int) -> Callable[[], object]:
    graph = make_map(rooms)
    return lambda: [graph.add_connection(1, "wave", room) for room in graph.rooms]


def expect_points(routes: int) -> Callable[[], object]:
    book = make_routes(make_map(100), routes, Waypoint())

    return lambda: [book.promise(route, 0) for route in book.routes]


def describe_routes(routes: int) -> Callable[[], object]:
    book = make_routes(make_map(100), routes, Waypoint())
    found = [(route, 0) for route in book.routes]
    return lambda: route_lines(found, {}, 6)


def add_memories(memories: int) -> Callable[[], object]:
    text = "".join(f"## Location {number}: Room\n\n**[NOTE] Title**\nText.\n\n" for number in range(memories))
    memory = Memory("NOTE", "Another", 1, "1", 0, "Text.", "permanent")
    return lambda: parse_memories(text).add_memory(memories // 2, "Room", memory).render()


@pytest.mark.parametrize(
    ("prepare", "number"),
    [
        (draw, 300),
        (place, 400),
        (find_ways, 500),
        (list_refused_exits, 1000),
        (correct_edges, 500),
        (expect_points, 400),
        (describe_routes, 400),
        (add_memories, 500),
    ],
)
def test_four_times_the_content_takes_about_four_times_as_long(
    prepare: Callable[[int], Callable[[], object]], number: int
) -> None:
    def seconds_for(work: Callable[[], object]) -> float:
        start = process_time()
        work()
        return process_time() - start

    little, much = prepare(number), prepare(4 * number)
    times = [(seconds_for(little), seconds_for(much)) for _ in range(REPETITIONS)]
    assert min(more for _, more in times) < MOST * min(less for less, _ in times)
