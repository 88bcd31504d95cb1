from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.zorkgpt.mapping.graphs import graphs
from zorkgpt.mapping.map_graph import MapGraph, mermaid, routing_summary

NAMES = {1: "Landing", 2: "Reed Bank", 3: "Location #3", 4: "Mill (upper floor)"}
CONNECTIONS = {1: {"north": 2, "enter reeds": 2, "up": 4}, 2: {"south": 1}, 4: {"jump": 1}, 3: {"west": 1}}

MERMAID = """graph TD
    L1["Landing"]
    L2["Reed Bank"]
    L3["Location #35;3"]
    L4["Mill (upper floor)"]
    L1 -->|"enter reeds / north"| L2
    L1 -->|"up"| L4
    L2 -->|"south"| L1
    L3 -->|"west"| L1
    L4 -->|"jump"| L1"""

ROUTING_SUMMARY = """## Current Location: 1 (Landing)
**Available Exits:**
  - enter reeds → Location 2 (Reed Bank)
  - north → Location 2 (Reed Bank)
  - up → Location 4 (Mill (upper floor))

## Adjacent Locations (1 hop away):

**Location 2 (Reed Bank):**
  - south → Location 1 (Landing) [back to current]

**Location 3 (Location #3):**
  - west → Location 1 (Landing) [back to current]

**Location 4 (Mill (upper floor)):**
  - jump → Location 1 (Landing) [back to current]"""


def test_mermaid_draws_one_arrow_a_pair_of_rooms_with_all_its_commands() -> None:
    assert mermaid(NAMES, CONNECTIONS) == MERMAID


def test_mermaid_draws_only_the_rooms_that_are_named_and_writes_what_is_special_as_character_codes() -> None:
    drawing = mermaid({1: 'A "b" [c]; #d|e\n`f` \x1b café'}, CONNECTIONS)
    assert drawing == 'graph TD\n    L1["A #34;b#34; #91;c#93;#59; #35;d#124;e #96;f#96; café"]'


@given(graphs())
def test_no_name_and_no_command_breaks_out_of_its_line_or_its_quotes(graph: MapGraph) -> None:
    pairs = {(from_id, to_id) for from_id, ways in graph.connections.items() for to_id in ways.values()}
    first, *lines = graph.render_mermaid().splitlines()
    assert first == "graph TD"
    assert len(lines) == len(graph.rooms) + len(pairs)
    assert all(re.fullmatch(r' {4}L\d+(\["[^"\[\]]*"\]| -->\|"[^"|]*"\| L\d+)', line) for line in lines)


def test_the_routing_summary_has_the_seeds_format() -> None:
    assert routing_summary(1, NAMES, CONNECTIONS) == ROUTING_SUMMARY
    assert routing_summary(9, NAMES, CONNECTIONS) == "## Current Location: 9 (Location #9)\n  - No mapped exits"


def test_the_routing_summary_shows_at_most_five_neighbours_with_three_exits_each() -> None:
    connections = {1: {f"exit {number}": number for number in range(2, 10)}}
    connections |= {number: {f"way {way}": 1 for way in range(6)} for number in range(2, 10)}
    summary = routing_summary(1, {}, connections)
    assert summary.count("**Location") == 5
    assert summary.count("[back to current]") == 15


@given(st.text(), st.text(min_size=1))
def test_a_name_or_a_command_never_starts_a_line_of_its_own(name: str, command: str) -> None:
    names, connections = {1: name, 2: name}, {1: {command: 2}}
    assert len(routing_summary(1, names, connections).splitlines()) == 7
