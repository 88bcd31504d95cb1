"""The map as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from zorkgpt.cli.map_text import draw_text, list_rooms
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.map_values import Carry


@pytest.mark.parametrize(
    ("shown", "line"),
    [(draw_text, "  Void > Roof: take shadows (once)"), (list_rooms, "@Void: take shadows (once) > Roof")],
)
def test_where_the_story_carried_the_player_is_named(shown: Callable[[MapGraph, int], str], line: str) -> None:
    graph = MapGraph()
    graph.add_room(22, "Void")
    graph.add_room(29, "Roof")
    graph.record_carry(22, "take shadows", Carry(29, 1, 3))
    assert line in shown(graph, 22).splitlines()
