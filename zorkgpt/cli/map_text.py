"""A map drawn with characters, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from session.text import one_line
from zorkgpt.cli.terminal import printable
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.map_layout import direction, lay_out
from zorkgpt.mapping.navigation import neighbourhood

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zorkgpt.mapping.map_layout import Cell, Way

NAME = 16  # columns of a name in its box
_BOX, _WIDE, _HIGH = NAME + 2, NAME + 6, 4  # columns of a box, columns and rows of a cell
_RISING = "\N{BOX DRAWINGS LIGHT DIAGONAL UPPER RIGHT TO LOWER LEFT}"


def draw_text(graph: MapGraph, here: int | None = None) -> str:
    """Return the map as text: a box for each room, lines between neighbours, and a list of all other ways.

    here: the room that is marked with ``@``
    """
    lines, other = _drawn(graph, here)
    for label, found in (("Other ways", _as_lines(graph, other)), ("Untried", _untried(graph))):
        rows = list(found)
        lines += ["", f"{label}:", *rows] if rows else []
    return "\n".join(lines)


def draw_around(graph: MapGraph, here: int) -> list[str]:
    """Return the lines of a drawing of the rooms at most one move away."""
    near = neighbourhood(graph, here, 1)
    part = MapGraph({room_id: graph.rooms[room_id] for room_id in near})
    for from_id in near:
        ways = graph.connections.get(from_id, {})
        part.connections[from_id] = {command: to_id for command, to_id in ways.items() if to_id in near}
    return _drawn(part, here)[0]


def _drawn(graph: MapGraph, here: int | None) -> tuple[list[str], list[Way]]:
    """Return the lines of the drawing, and the ways that no line of it shows."""
    layout = lay_out(graph, here)
    if not layout.cells:
        return [], []
    canvas, names = _Canvas(), _names(graph)
    for way in layout.ways:
        if way.shown == "solid":
            canvas.join(layout.cells[way.from_id], layout.cells[way.to_id])
    for room_id, cell in layout.cells.items():
        canvas.box(cell, printable(("@" if room_id == here else "") + names[room_id]))
    return canvas.lines(), [way for way in layout.ways if way.shown != "solid"]


def list_rooms(graph: MapGraph, here: int | None = None) -> str:
    """Return a line for each room with its ways out, for a terminal that is too narrow for the drawing."""
    lines = ["The drawing is wider than this terminal; --to map.txt writes all of it to a file.", ""]
    names = _names(graph)
    for room_id, name in names.items():
        ways = [
            f"{one_line(command)} > {names[to_id]}" for command, to_id in graph.connections.get(room_id, {}).items()
        ]
        untried = graph.untried_exits(room_id)
        ways += [f"untried: {', '.join(map(one_line, untried))}"] if untried else []
        lines.append(f"{'@' if room_id == here else ''}{name}: {'; '.join(ways) or 'no way known'}")
    return "\n".join(lines)


def _as_lines(graph: MapGraph, ways: list[Way]) -> Iterator[str]:
    names = _names(graph)
    for way in ways:
        for one in way.directed():
            yield f"  {names[one.from_id]} > {names[one.to_id]}: {', '.join(map(one_line, one.there))}"


def _untried(graph: MapGraph) -> Iterator[str]:
    for room_id, name in _names(graph).items():
        untried = graph.untried_exits(room_id)
        if untried:
            yield f"  {name}: {', '.join(map(one_line, untried))}"


def _names(graph: MapGraph) -> dict[int, str]:
    return {room_id: one_line(name) for room_id, name in graph.distinct_names.items()}


class _Canvas:
    """Characters by their place; a name may hold characters that are two columns wide, so boxes are whole strings."""

    def __init__(self) -> None:
        self._marks: dict[Cell, str] = {}
        self._boxes: dict[Cell, str] = {}

    def join(self, one: Cell, other: Cell) -> None:
        """Draw a line between two cells."""
        step = direction(one, other)
        mark = ("─" if step[0] else "│") if 0 in step else ("╲" if step[0] == step[1] else _RISING)
        for place in self._places(one, step, max(abs(other[0] - one[0]), abs(other[1] - one[1]))):
            self._marks[place] = mark

    def box(self, cell: Cell, name: str) -> None:
        """Draw the box of a room."""
        left, top = cell[0] * _WIDE, cell[1] * _HIGH
        self._boxes |= {
            (left, top): f"┌{'─' * NAME}┐",
            (left, top + 1): f"│{set_cell_size(name, NAME)}│",
            (left, top + 2): f"└{'─' * NAME}┘",
        }

    def lines(self) -> list[str]:
        """Return what was drawn."""
        pieces = self._marks | self._boxes
        rows: dict[int, list[tuple[int, str]]] = {}
        for (column, row), piece in pieces.items():
            rows.setdefault(row, []).append((column, piece))
        return [_line(sorted(rows.get(row, []))) for row in range(max(rows) + 1)]

    def _places(self, cell: Cell, step: Cell, steps: int) -> Iterator[Cell]:
        left, top = cell[0] * _WIDE, cell[1] * _HIGH
        gap = _WIDE - _BOX
        if step[1] == 0:
            right = range(left + _BOX, left + _WIDE * steps)
            yield from ((column, top + 1) for column in (right if step[0] > 0 else (c - _WIDE * steps for c in right)))
        elif step[0] == 0:
            down = range(top + 3, top + _HIGH * steps)
            middle = left + _BOX // 2
            yield from ((middle, row) for row in (down if step[1] > 0 else (row - _HIGH * steps for row in down)))
        else:
            row = top + 3 if step[1] > 0 else top - 1
            yield (left + _BOX + gap // 2 - 1 if step[0] > 0 else left - gap // 2 - 1, row)


def _line(pieces: list[tuple[int, str]]) -> str:
    line = ""
    for column, piece in pieces:
        line += " " * (column - cell_len(line)) + piece
    return line.rstrip()
