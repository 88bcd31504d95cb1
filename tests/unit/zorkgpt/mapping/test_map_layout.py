"""Rooms are placed by compass directions, each in its own cell, and maps are drawn as text."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.zorkgpt.mapping.graphs import graph_of, graphs
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.map_layout import COMPASS, HALF_BOX, lay_out
from zorkgpt.mapping.map_values import Room

WAYS = st.tuples(st.integers(1, 9), st.sampled_from([*COMPASS, "up", "ring bell"]), st.integers(1, 9))


def test_rooms_stand_where_the_compass_says() -> None:
    cells = lay_out(graph_of((1, "north", 2), (2, "east", 3), (3, "southwest", 4), (4, "west", 5)), first=1).cells
    assert cells == {2: (0, 0), 3: (2, 0), 1: (0, 2), 4: (1, 1), 5: (0, 1)}
    assert lay_out(graph_of((7, "east", 1)), first=1).cells == {7: (0, 0), 1: (1, 0)}


def test_what_lies_beyond_makes_way_for_a_room_that_has_no_place() -> None:
    cells = lay_out(graph_of((1, "east", 2), (2, "east", 3), (1, "south", 4), (4, "east", 5), (5, "north", 6))).cells
    assert len(set(cells.values())) == len(cells)
    assert cells[3][0] > cells[2][0] > cells[1][0]
    assert cells[6][1] < cells[5][1]


def test_rooms_that_no_direction_leads_to_are_a_part_of_their_own() -> None:
    layout = lay_out(graph_of((1, "north", 2), (2, "up", 3), (3, "east", 4)), first=1)
    assert layout.cells == {2: (0, 0), 1: (0, 1), 3: (1, 0), 4: (2, 0)}
    assert {(way.from_id, way.to_id, way.there, way.back) for way in layout.ways} == {
        (1, 2, ("north",), ()),
        (2, 3, ("up",), ()),
        (3, 4, ("east",), ()),
    }


def test_a_way_with_a_room_between_is_named_and_one_without_is_a_line() -> None:
    ways = lay_out(
        graph_of((1, "east", 2), (2, "east", 3), (1, "climb", 3), (3, "south", 4), (4, "up", 2)), first=1
    ).ways
    assert {(way.from_id, way.to_id): way.shown for way in ways} == {
        (1, 2): "solid",
        (2, 3): "solid",
        (1, 3): "named",
        (3, 4): "solid",
        (4, 2): "dotted",
    }
    (contradicted,) = lay_out(graph_of((1, "east", 2), (2, "north", 1))).ways
    assert contradicted.shown == "dotted"


@given(st.lists(WAYS, max_size=25))
def test_every_room_has_a_cell_of_its_own_and_no_line_passes_through_its_box(ways: list[tuple[int, str, int]]) -> None:
    graph = graph_of(*ways)
    layout = lay_out(graph)
    assert layout.cells.keys() == graph.rooms.keys()
    assert len(set(layout.cells.values())) == len(layout.cells)
    assert all(x >= 0 and y >= 0 for x, y in layout.cells.values())
    for way in layout.ways:
        (x, y), (to_x, to_y) = layout.cells[way.from_id], layout.cells[way.to_id]
        on_the_way = [(x + (to_x - x) * each / 200, y + (to_y - y) * each / 200) for each in range(201)]
        others = [cell for room_id, cell in layout.cells.items() if room_id not in (way.from_id, way.to_id)]
        is_hit = any(
            abs(at_x - room_x) < HALF_BOX[0] and abs(at_y - room_y) < HALF_BOX[1]
            for at_x, at_y in on_the_way
            for room_x, room_y in others
        )
        assert not is_hit or way.shown == "named"


NAMES = {1: "Landing", 2: "Reed Bank", 3: "", 4: "Mill (upper floor)"}
CONNECTIONS = {1: {"north": 2, "enter reeds": 2, "up": 4}, 2: {"south": 1}, 4: {"jump": 1}, 3: {"west": 1}}

MERMAID = """graph TD
    L1["Landing"]
    L2["Reed Bank"]
    L3["Location 3"]
    L4["Mill (upper floor)"]
    L1 -->|"enter reeds / north"| L2
    L1 -->|"up"| L4
    L2 -->|"south"| L1
    L3 -->|"west"| L1
    L4 -->|"jump"| L1"""


def drawn(names: dict[int, str], connections: dict[int, dict[str, int]]) -> str:
    rooms = {number: Room(id=number, name=name) for number, name in names.items()}
    return MapGraph(rooms=rooms, connections=connections).render_mermaid()


def test_mermaid_draws_one_arrow_a_pair_of_rooms_with_all_its_commands() -> None:
    assert drawn(NAMES, CONNECTIONS) == MERMAID


def test_mermaid_writes_what_is_special_as_character_codes() -> None:
    drawing = drawn({1: 'A "b" [c]; #d|e\n`f` \x1b café'}, {})
    assert drawing == 'graph TD\n    L1["A #34;b#34; #91;c#93;#59; #35;d#124;e #96;f#96; café"]'


@given(graphs())
def test_no_name_and_no_command_breaks_out_of_its_line_or_its_quotes(graph: MapGraph) -> None:
    pairs = {(from_id, to_id) for from_id, ways in graph.connections.items() for to_id in ways.values()}
    first, *lines = graph.render_mermaid().splitlines()
    assert first == "graph TD"
    assert len(lines) == len(graph.rooms) + len(pairs)
    assert all(re.fullmatch(r' {4}L\d+(\["[^"\[\]]*"\]| -->\|"[^"|]*"\| L\d+)', line) for line in lines)
