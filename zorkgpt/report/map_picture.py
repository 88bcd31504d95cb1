"""A map as a picture: SVG to look at in any size, PNG to paste."""

from __future__ import annotations

import io
from collections import defaultdict
from functools import partial
from math import sqrt
from textwrap import fill
from typing import TYPE_CHECKING, Literal

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from session.text import one_line
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.map_layout import HALF_BOX, Cell, Way, lay_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 1.5, 1.0  # inches of a cell
RESOLUTION = 120  # dots an inch, less for a PNG that would have more dots than these
MOST_DOTS, LONGEST_SIDE = 100_000_000, 60_000  # matplotlib draws no longer side
_LETTERS = 14  # of a name, on one line
_LINE_LETTERS = 9  # of the commands on a dotted line, on one line
_NAMED_LETTERS = 24  # of a way that is named below a room's box, on one line
_NAMED_LINES = 4  # that fit between two boxes

Picture = Literal["svg", "png"]
drawing = partial(mpl.rc_context, {"svg.hashsalt": "zorkgpt", "svg.fonttype": "none", "text.parse_math": False})
"""Makes texts no formulas, and the same figure the same bytes, while it is drawn and written."""


def picture_of(figure: Figure, kind: Picture, resolution: float) -> bytes:
    """Return the figure as a picture; ``resolution``: in dots an inch."""
    picture = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    figure.savefig(picture, format=kind, dpi=resolution, metadata=metadata)
    return picture.getvalue()


@drawing()
def draw_map(graph: MapGraph, here: int | None, kind: Picture) -> bytes:
    """Return the picture of a map, the same bytes for the same map.

    here: the highlighted room
    """
    layout = lay_out(graph, here)
    columns = max((x for x, _ in layout.cells.values()), default=0) + 1
    rows = max((y for _, y in layout.cells.values()), default=0) + 1
    figure = Figure(figsize=(columns * WIDTH, rows * HEIGHT))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    axes.set_axis_off()
    names = graph.distinct_names
    named: defaultdict[int, list[str]] = defaultdict(list)
    for way in layout.ways:
        if way.shown != "named":
            _draw_line(axes, layout.cells[way.from_id], layout.cells[way.to_id], way)
        else:
            for one in way.directed():
                named[one.from_id].append(f"{', '.join(one.there)} > {names[one.to_id]}")
    half_width, half_height = HALF_BOX
    for room_id, (x, y) in layout.cells.items():
        untried = len(graph.untried_exits(room_id))
        name = _folded(names[room_id]) + (f"\n{untried} untried" if untried else "")
        corner = (x - half_width, y - half_height)
        colour = "gold" if room_id == here else "white"
        axes.add_patch(Rectangle(corner, 2 * half_width, 2 * half_height, facecolor=colour, edgecolor="black"))
        axes.text(x, y, name, ha="center", va="center", fontsize=7)
        lines = [_printable(words, _NAMED_LETTERS) for words in named[room_id]]
        if len(lines) > _NAMED_LINES:
            lines[_NAMED_LINES - 1 :] = [f"and {len(lines) - _NAMED_LINES + 1} more"]
        axes.text(corner[0], y + half_height + 0.03, "\n".join(lines), ha="left", va="top", fontsize=5, color="0.3")
    width, height = columns * WIDTH, rows * HEIGHT
    resolution = min(RESOLUTION, sqrt(MOST_DOTS / (width * height)), LONGEST_SIDE / max(width, height))
    return picture_of(figure, kind, resolution)


def _draw_line(axes: Axes, one: Cell, other: Cell, way: Way) -> None:
    """Draw a line from box to box, with an arrow if no way back is known."""
    style = "-" if way.there and way.back else "-|>"
    is_dotted = way.shown == "dotted"
    line = {"arrowstyle": style, "color": "0.4", "shrinkA": 0, "shrinkB": 0, "linestyle": ":" if is_dotted else "-"}
    axes.annotate("", xy=_edge(other, one), xytext=_edge(one, other), arrowprops=line)
    if is_dotted:
        words = _folded(" / ".join(dict.fromkeys((*way.there, *way.back))), _LINE_LETTERS)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        middle = ((one[0] + other[0]) / 2, (one[1] + other[1]) / 2)
        axes.text(*middle, words, ha="center", va="center", fontsize=5, color="0.3", bbox=box)


def _edge(cell: Cell, other: Cell) -> tuple[float, float]:
    """Return where the line to another cell leaves the box of this one."""
    along = (other[0] - cell[0], other[1] - cell[1])
    share = min(half / abs(each) for half, each in zip(HALF_BOX, along, strict=True) if each)
    return (cell[0] + along[0] * share, cell[1] + along[1] * share)


def _folded(text: str, letters: int = _LETTERS) -> str:
    """Return the text in at most three short lines."""
    return fill(_printable(text), letters, max_lines=3, placeholder="\N{HORIZONTAL ELLIPSIS}")


def _printable(text: str, letters: int | None = None) -> str:
    """Return the text on one line without characters that no font has, cut after so many ``letters``."""
    line = "".join(letter if letter.isprintable() else "?" for letter in one_line(text))
    return line if letters is None or len(line) <= letters else f"{line[: letters - 1]}\N{HORIZONTAL ELLIPSIS}"
