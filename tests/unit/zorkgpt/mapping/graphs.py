"""Maps of given walks, and maps as Hypothesis draws them: by walking and failing, as play does."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from zorkgpt.mapping.map_graph import MapGraph

PRUNE_AFTER = 3

location_ids = st.integers(1, 12)
exits = st.sampled_from(["north", "up", "enter window", "_", 'say "hi"', "Ausgang Süd"]) | st.text(min_size=1)
names = st.sampled_from(["", "Cave", "Büro [7]"]) | st.text()


def graph_of(*walks: tuple[int, str, int] | tuple[int, str, int, float]) -> MapGraph:
    """The map of these walks: from a location by a command to another one, if given with that confidence."""
    graph = MapGraph()
    for walk in walks:
        graph.add_connection(*walk)
    return graph


@dataclass(frozen=True, slots=True)
class Tried:
    """An exit that was tried; ``to_id`` ``None``: it led nowhere."""

    from_id: int
    exit: str
    to_id: int | None


attempts = st.lists(st.builds(Tried, location_ids, exits, st.none() | location_ids), max_size=40)


def after(tried: list[Tried], graph: MapGraph | None = None) -> MapGraph:
    """The map that these attempts make of an empty one, or of ``graph``."""
    graph = MapGraph() if graph is None else graph
    for each in tried:
        if each.to_id is None:
            graph.record_failure(each.from_id, each.exit, prune_after=PRUNE_AFTER)
            graph.record_refusal(each.from_id, each.exit, f"No {each.exit}.")
        else:
            graph.add_connection(each.from_id, each.exit, each.to_id)
    return graph


@st.composite
def graphs(draw: st.DrawFn) -> MapGraph:
    """A map with names, walked edges, failed, pruned and untried exits."""
    graph = after(draw(attempts))
    for location_id, name in draw(st.dictionaries(location_ids, names)).items():
        graph.add_room(location_id, name)
    for location_id, named in draw(st.dictionaries(location_ids, st.lists(exits, max_size=4))).items():
        graph.add_exits(location_id, named)
    return graph
