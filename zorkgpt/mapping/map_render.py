"""The map as text: Mermaid and the routing summary.

Names and commands are whatever a story prints and a model types, so everything is escaped here.
``names`` are the names to show, by location id; ``connections`` are location ids by exit, by location id.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_ADJACENT = 5
MAX_ADJACENT_EXITS = 3

# All else has a meaning inside Mermaid's quotes in one version of it or another.
_SAFE_PUNCTUATION = frozenset(" ',.-/!?()")


def mermaid(names: Mapping[int, str], connections: Mapping[int, Mapping[str, int]]) -> str:
    """Return a Mermaid flowchart: a node ``L{id}`` for each room, an arrow with all commands for each pair of rooms.

    A connection whose room has no name in ``names`` is left out, so a part of the map is drawn by its names.
    """
    lines = ["graph TD"]
    lines += [f'    L{location_id}["{_escape(_name(location_id, names))}"]' for location_id in sorted(names)]
    for from_id, exits in sorted(connections.items()):
        for to_id, commands in by_destination(exits).items():
            if from_id in names and to_id in names:
                lines.append(f'    L{from_id} -->|"{_escape(" / ".join(commands))}"| L{to_id}')
    return "\n".join(lines)


def routing_summary(location_id: int, names: Mapping[int, str], connections: Mapping[int, Mapping[str, int]]) -> str:
    """Return the exits of a location and of at most five next to it (docs/specification.md, Map in prompts)."""
    lines = [f"## Current Location: {location_id} ({_name(location_id, names)})"]
    if connections.get(location_id):
        lines.append("**Available Exits:**")
        lines += [_exit_line(exit_, to_id, names) for exit_, to_id in sorted(connections[location_id].items())]
    else:
        lines.append("  - No mapped exits")
    adjacent = adjacent_ids(location_id, connections)
    if adjacent:
        lines.append("\n## Adjacent Locations (1 hop away):")
    for adjacent_id in adjacent[:MAX_ADJACENT]:
        lines.append(f"\n**Location {adjacent_id} ({_name(adjacent_id, names)}):**")
        exits = sorted(connections.get(adjacent_id, {}).items())[:MAX_ADJACENT_EXITS]
        for exit_, to_id in exits:
            back = " [back to current]" if to_id == location_id else ""
            lines.append(_exit_line(exit_, to_id, names) + back)
    return "\n".join(lines)


def adjacent_ids(location_id: int, connections: Mapping[int, Mapping[str, int]]) -> tuple[int, ...]:
    """Return the locations one move away in either direction, in order of their ids."""
    leading_here = {from_id for from_id, exits in connections.items() if location_id in exits.values()}
    return tuple(sorted(leading_here.union(connections.get(location_id, {}).values()) - {location_id}))


def by_destination(exits: Mapping[str, int]) -> dict[int, list[str]]:
    """Return the commands that lead to each location, both in a fixed order."""
    commands: defaultdict[int, list[str]] = defaultdict(list)
    for exit_, to_id in sorted(exits.items()):
        commands[to_id].append(exit_)
    return dict(sorted(commands.items()))


def _exit_line(exit_: str, to_id: int, names: Mapping[int, str]) -> str:
    return f"  - {plain_line(exit_)} → Location {to_id} ({_name(to_id, names)})"


def _name(location_id: int, names: Mapping[int, str]) -> str:
    return plain_line(names.get(location_id, "")) or f"Location #{location_id}"


def plain_line(text: str) -> str:
    """Return the text with white space and unprintable characters as single spaces: a name cannot start a new line."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(text.split())


@lru_cache(maxsize=4096)
def _escape(text: str) -> str:
    """Return the text for Mermaid's double quotes, with character codes for whatever is not plain."""
    return "".join(
        char if char.isalnum() or char in _SAFE_PUNCTUATION else f"#{ord(char)};" for char in plain_line(text)
    )
