"""Draws a map with characters, for a terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from rich.cells import cell_len, set_cell_size

from session.text import one_line, printable
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.map_layout import Cell, Way, direction, lay_out
from zorkgpt.mapping.navigation import neighbourhood

NAME = 16  # columns of a name in its box
_BOX, _WIDE, _HIGH = NAME + 2, NAME + 6, 4  # columns of a box, columns and rows of a cell
_RISING = "\N{BOX DRAWINGS LIGHT DIAGONAL UPPER RIGHT TO LOWER LEFT}"


def draw_text(graph: MapGraph, here: int | None = None) -> str:
    """Return the map as text: a box for each room, lines between neighbours, and a list of all other ways.

    here: the room that is marked with ``@``
    """
    lines, other = _drawn(graph, here)
    names = _names(graph)
    ways = [
        f"  {names[one.from_id]} > {names[one.to_id]}: {', '.join(map(one_line, one.there))}"
        for way in other
        for one in way.directed()
    ]
    ways += [
        f"  {name} > {names[carry.to_id]}: {one_line(command)} (once)"
        for room_id, name in names.items()
        for command, carry in graph.carries_from(room_id).items()
    ]
    untried = [
        f"  {name}: {', '.join(map(one_line, exits))}"
        for room_id, name in names.items()
        if (exits := graph.untried_exits(room_id))
    ]
    for label, rows in (("Other ways", ways), ("Untried", untried)):
        lines += ["", f"{label}:", *rows] if rows else []
    return "\n".join(lines)


def draw_around(graph: MapGraph, here: int) -> tuple[list[str], list[str]]:
    """Return the lines of a drawing of the rooms that the compass leads to from here, and all other ways in words.

    Without such a room there is no drawing.
    """
    ways = _ways_beside(graph, here)
    shown = {here}.union(*((way.from_id, way.to_id) for way in ways if way.shown == "solid"))
    lines, other = _drawn(_part(graph, shown), here) if len(shown) > 1 else ([], [])
    hidden = {(way.from_id, way.to_id) for way in other}
    unseen = [way for way in ways if (way.from_id, way.to_id) in hidden or not shown >= {way.from_id, way.to_id}]
    return lines, _in_words(unseen, graph, here)


def ways_in_words(graph: MapGraph, here: int) -> list[str]:
    """Return the ways from this room and to it, and the exits that were not tried."""
    return _in_words(_ways_beside(graph, here), graph, here)


def _ways_beside(graph: MapGraph, here: int) -> list[Way]:
    near = _part(graph, neighbourhood(graph, here, 1))
    return [way for way in lay_out(near, here).ways if here in (way.from_id, way.to_id)]


def _part(graph: MapGraph, room_ids: Collection[int]) -> MapGraph:
    """Return the map of these rooms alone."""
    ways = {
        from_id: {command: to_id for command, to_id in graph.connections.get(from_id, {}).items() if to_id in room_ids}
        for from_id in room_ids
    }
    return MapGraph(rooms={room_id: graph.rooms[room_id] for room_id in room_ids}, connections=ways)


def _in_words(ways: Iterable[Way], graph: MapGraph, here: int) -> list[str]:
    names, words = _names(graph), []
    for way in ways:
        out, back, other = way.there, way.back, way.to_id
        if way.to_id == here:
            out, back, other = way.back, way.there, way.from_id
        commands = ", ".join(map(one_line, out or back))
        words.append(f"{commands} to {names[other]}" if out else f"from {names[other]} by {commands}")
    untried = graph.untried_exits(here)
    return words + ([f"not tried: {', '.join(map(one_line, untried))}"] if untried else [])


def list_rooms(graph: MapGraph, here: int | None = None) -> str:
    """Return a line for each room with its ways out, for a terminal that is too narrow for the drawing."""
    lines = ["The drawing is wider than this terminal; --to map.txt writes all of it to a file.", ""]
    names = _names(graph)
    for room_id, name in names.items():
        ways = [
            f"{one_line(command)} > {names[to_id]}" for command, to_id in graph.connections.get(room_id, {}).items()
        ]
        ways += [f"{one_line(each)} (once) > {names[to.to_id]}" for each, to in graph.carries_from(room_id).items()]
        untried = graph.untried_exits(room_id)
        ways += [f"untried: {', '.join(map(one_line, untried))}"] if untried else []
        lines.append(f"{'@' if room_id == here else ''}{name}: {'; '.join(ways) or 'no way known'}")
    return "\n".join(lines)


def _names(graph: MapGraph) -> dict[int, str]:
    return {room_id: one_line(name) for room_id, name in graph.distinct_names.items()}


def _drawn(graph: MapGraph, here: int | None) -> tuple[list[str], list[Way]]:
    """Return the lines of the drawing, and the ways that none of them shows."""
    layout = lay_out(graph, here)
    names = _names(graph)
    pieces: dict[Cell, str] = {}  # by column and row; the lines of a box are whole, because characters may be wide
    for way in layout.ways:
        if way.shown == "solid":
            pieces |= _line_between(layout.cells[way.from_id], layout.cells[way.to_id])
    for room_id, cell in layout.cells.items():
        left, top = cell[0] * _WIDE, cell[1] * _HIGH
        name = printable(("@" if room_id == here else "") + names[room_id])
        pieces[left, top] = f"┌{'─' * NAME}┐"
        pieces[left, top + 1] = f"│{set_cell_size(name, NAME)}│"
        pieces[left, top + 2] = f"└{'─' * NAME}┘"
    lines: list[list[str]] = [[] for _ in range(max((row for _, row in pieces), default=-1) + 1)]
    ends = [0] * len(lines)  # in columns
    for (column, row), piece in sorted(pieces.items()):
        lines[row] += (" " * (column - ends[row]), piece)
        ends[row] = max(column, ends[row]) + cell_len(piece)
    return ["".join(line) for line in lines], [way for way in layout.ways if way.shown != "solid"]


def _line_between(one: Cell, other: Cell) -> dict[Cell, str]:
    """Return the characters of a line between two cells by their columns and rows."""
    step = direction(one, other)
    left, top = min(one[0], other[0]), min(one[1], other[1])
    if step[1] == 0:
        row = top * _HIGH + 1
        return {(column, row): "─" for column in range(left * _WIDE + _BOX, max(one[0], other[0]) * _WIDE)}
    if step[0] == 0:
        column = left * _WIDE + _BOX // 2
        return {(column, row): "│" for row in range(top * _HIGH + 3, max(one[1], other[1]) * _HIGH)}
    x, y = one[0] - (step[0] < 0), one[1] - (step[1] < 0)  # of the cell to the left of and above the mark
    mark = "╲" if step[0] == step[1] else _RISING
    return {(x * _WIDE + (_BOX + _WIDE) // 2 - 1, y * _HIGH + 3): mark}
