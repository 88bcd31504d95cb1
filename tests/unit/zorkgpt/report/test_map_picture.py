"""Maps as pictures."""

from __future__ import annotations

import pytest

from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.report.map_picture import LONGEST_SIDE, draw_map


def test_a_map_that_is_wider_than_a_picture_may_be_has_fewer_dots_an_inch() -> None:
    graph = MapGraph()
    for room in range(1, 340):
        graph.add_connection(room, "east", room + 1)
    picture = draw_map(graph, None, "png")
    assert picture.startswith(b"\x89PNG")
    assert 0 < int.from_bytes(picture[16:20], "big") <= LONGEST_SIDE + 1


@pytest.mark.parametrize("name", ["$5 or $6 shop", r"$\frac$ room"])
def test_a_name_is_no_formula(name: str) -> None:
    graph = MapGraph()
    graph.add_room(1, name)
    assert f">{name}</text>" in draw_map(graph, 1, "svg").decode()
