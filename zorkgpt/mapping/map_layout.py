"""The layout of a map: a cell of a grid for each room, by the compass if possible, and how each way is shown."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from zorkgpt.mapping.map_graph import MapGraph

COMPASS: Mapping[str, tuple[int, int]] = {
    "north": (0, -1),
    "northeast": (1, -1),
    "east": (1, 0),
    "southeast": (1, 1),
    "south": (0, 1),
    "southwest": (-1, 1),
    "west": (-1, 0),
    "northwest": (-1, -1),
}
"""Columns to the right and rows down that a step in each direction goes."""
LEAST_WIDTH = 4  # columns, before a part goes below
HALF_BOX = (0.35, 0.3)
"""Half the width and height of a room's box, in cells; no picture draws a larger one."""
MARGIN = 0.05  # cells between a line and the box of another room

Cell = tuple[int, int]
Shown = Literal["solid", "dotted", "named"]
"""How a way is shown.

solid: a straight line; all its commands are the direction that the line has
dotted: a straight line with its commands beside it
named: no line, since a room lies between; each room names the other one
"""


@dataclass(frozen=True, slots=True)
class Way:
    """All the ways between two rooms, drawn as one line.

    there, back: the commands that lead from ``from_id`` to ``to_id`` and back; one of the two may be empty
    """

    from_id: int
    to_id: int
    there: tuple[str, ...]
    back: tuple[str, ...]
    shown: Shown = "named"

    def directed(self) -> Iterator[Way]:
        """Yield a way with its commands in ``there`` alone for each of the two directions that is known."""
        if self.there:
            yield replace(self, back=())
        if self.back:
            yield replace(self, from_id=self.to_id, to_id=self.from_id, there=self.back, back=())


@dataclass(frozen=True, slots=True)
class MapLayout:
    """A map that is ready to be drawn.

    cells: the column and row of each room, by its id; from 0, rows downwards, no two rooms in one cell
    ways: one for each pair of rooms with a way between them
    """

    cells: dict[int, Cell]
    ways: tuple[Way, ...]


def lay_out(graph: MapGraph, first: int | None = None) -> MapLayout:
    """Place every room of the map.

    Rooms reached by compass directions are placed in that direction from the room from which they were reached. If
    another room is already there, everything beyond it moves, so that what was north of a room stays north of it.
    Rooms reached only in other ways begin a separate part. Parts are placed side by side, then below.
    """
    ways = _ways(graph)
    steps = _steps(ways)
    order = sorted(graph.rooms, key=lambda room_id: (room_id != first, room_id))
    cells: dict[int, Cell] = {}
    left = top = below = 0
    widest = LEAST_WIDTH
    for start in order:
        if start in cells:
            continue
        part = _part(start, steps)
        width, height = (max(each) + 1 for each in zip(*part.values(), strict=True))
        widest = max(widest, width)
        if left + width > widest:
            left, top = 0, below
        cells |= {room_id: (x + left, y + top) for room_id, (x, y) in part.items()}
        left, below = left + width, max(below, top + height)
    by_column, by_row = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for x, y in sorted(cells.values()):
        by_column[x].append(y)
        by_row[y].append(x)
    return MapLayout(cells, tuple(replace(way, shown=_shown(way, cells, by_column, by_row)) for way in ways))


def direction(one: Cell, other: Cell) -> Cell:
    """Return the step from a cell towards another one: -1, 0 or 1 columns and rows."""
    return ((other[0] > one[0]) - (other[0] < one[0]), (other[1] > one[1]) - (other[1] < one[1]))


def _ways(graph: MapGraph) -> tuple[Way, ...]:
    commands: dict[tuple[int, int], list[str]] = {}
    for from_id, exits in graph.connections.items():
        for command, to_id in exits.items():
            if from_id != to_id:
                commands.setdefault((from_id, to_id), []).append(command)
    found = []
    for (from_id, to_id), there in commands.items():
        back = commands.get((to_id, from_id), [])
        if from_id < to_id or not back:
            found.append(Way(from_id, to_id, tuple(there), tuple(back)))
    return tuple(found)


def _steps(ways: Iterable[Way]) -> dict[int, dict[int, Cell]]:
    """Return for each room the rooms that the compass leads to or comes from, with the step to them."""
    steps: dict[int, dict[int, Cell]] = {}
    for way in (directed for both in ways for directed in both.directed()):
        step = next((COMPASS[command] for command in way.there if command in COMPASS), None)
        if step is not None:
            steps.setdefault(way.from_id, {})[way.to_id] = step
            steps.setdefault(way.to_id, {}).setdefault(way.from_id, (-step[0], -step[1]))
    return steps


def _beside(lines: Sequence[Fraction], line: Fraction, step: int) -> Fraction | None:
    """Return the column or row that is a step of -1, 0 or 1 away; ``None`` if there is none yet."""
    at = bisect_left(lines, line) + step
    return lines[at] if 0 <= at < len(lines) else None


def _line_beside(lines: list[Fraction], line: Fraction, step: int, *, is_taken: bool) -> Fraction:
    """Return the column or row that is a step away; a new one, between it and the present one, if that is taken."""
    beside = _beside(lines, line, step)
    if beside is not None and not (is_taken and step):
        return beside
    new = line + step if beside is None else (line + beside) / 2
    insort(lines, new)
    return new


def _part(start: int, steps: Mapping[int, Mapping[int, Cell]]) -> dict[int, Cell]:
    """Place all rooms that compass directions connect to ``start``, from column 0 and row 0 on."""
    origin = Fraction(0)
    columns, rows = [origin], [origin]
    cells = {start: (origin, origin)}
    taken = {*cells.values()}
    placed = deque([start])
    while placed:
        x, y = cells[room := placed.popleft()]
        for near, (right, down) in steps.get(room, {}).items():
            if near not in cells:
                is_taken = (_beside(columns, x, right), _beside(rows, y, down)) in taken
                cell = (
                    _line_beside(columns, x, right, is_taken=is_taken),
                    _line_beside(rows, y, down, is_taken=is_taken),
                )
                cells[near] = cell
                taken.add(cell)
                placed.append(near)
    column, row = ({line: place for place, line in enumerate(lines)} for lines in (columns, rows))
    return {room: (column[x], row[y]) for room, (x, y) in cells.items()}


def _near(one: Cell, other: Cell, taken: Mapping[int, list[int]]) -> Iterator[Cell]:
    """Yield the cells near the line, for each of the columns that it passes; ``taken``: the rows of each, in order."""
    start, end = sorted((one, other))
    wide, high = end[0] - start[0], end[1] - start[1]
    for column in range(start[0], end[0] + 1):
        here: Sequence[float] = (start[1], end[1])
        if wide:
            here = [start[1] + high * (column + side - start[0]) / wide for side in (-1, 1)]
        low, top = max(min(here), min(start[1], end[1])), min(max(here), max(start[1], end[1]))
        rows = taken.get(column, [])
        for row in rows[bisect_left(rows, low - 1) : bisect_right(rows, top + 1)]:
            yield column, row


def _shown(
    way: Way, cells: Mapping[int, Cell], by_column: Mapping[int, list[int]], by_row: Mapping[int, list[int]]
) -> Shown:
    """Return how a way is shown; ``by_column``, ``by_row``: the rows and the columns of all rooms, in order."""
    one, other = cells[way.from_id], cells[way.to_id]
    if abs(one[0] - other[0]) < abs(one[1] - other[1]):
        near = _near(one, other, by_column)
    else:
        near = ((x, y) for y, x in _near(one[::-1], other[::-1], by_row))
    if any(_is_hit(cell, one, other) for cell in near if cell not in (one, other)):
        return "named"
    step = direction(one, other)
    is_straight = 0 in step or other == (one[0] + step[0], one[1] + step[1])  # text shows no longer diagonals
    there, back = ({COMPASS.get(command) for command in commands} for commands in (way.there, way.back))
    is_agreed = there <= {step} and back <= {(-step[0], -step[1])}
    return "solid" if is_straight and is_agreed else "dotted"


def _is_hit(cell: Cell, one: Cell, other: Cell) -> bool:
    """Return whether the line between the middles of two cells passes through the box in a third cell."""
    first, last = 0.0, 1.0  # the part of the line that is inside the box
    for middle, half, start, end in zip(cell, HALF_BOX, one, other, strict=True):
        near, far = middle - half - MARGIN - start, middle + half + MARGIN - start
        if start == end:
            if not near < 0 < far:
                return False
        else:
            enters, leaves = sorted((near / (end - start), far / (end - start)))
            first, last = max(first, enters), min(last, leaves)
    return first < last
