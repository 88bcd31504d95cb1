"""A map as a picture: SVG to look at in any size, PNG to paste."""

from __future__ import annotations

import io
from textwrap import fill
from typing import TYPE_CHECKING, Literal

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from session.text import one_line
from zorkgpt.mapping.map_layout import COMPASS, lay_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zorkgpt.mapping.map_graph import MapGraph
    from zorkgpt.mapping.map_layout import Cell, Way

WIDTH, HEIGHT = 1.5, 0.9  # inches of a cell
RESOLUTION = 120  # dots an inch
_LETTERS = 14  # of a name, on one line

Picture = Literal["svg", "png"]


def draw_map(graph: MapGraph, here: int | None, kind: Picture) -> bytes:
    """Return the picture of a map, the same bytes for the same map.

    here: the room that stands out
    """
    layout = lay_out(graph, here)
    columns = max((x for x, _ in layout.cells.values()), default=0) + 1
    rows = max((y for _, y in layout.cells.values()), default=0) + 1
    figure = Figure(figsize=(columns * WIDTH, rows * HEIGHT))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    axes.set_axis_off()
    for way in layout.ways:
        _draw_way(axes, layout.cells[way.from_id], layout.cells[way.to_id], way)
    for room_id, (x, y) in layout.cells.items():
        untried = len(graph.untried_exits(room_id))
        name = _folded(graph.rooms[room_id].label) + (f"\n{untried} untried" if untried else "")
        box = {"boxstyle": "round", "facecolor": "gold" if room_id == here else "white", "edgecolor": "black"}
        axes.text(x, y, name, ha="center", va="center", fontsize=7, bbox=box, color="black")
    picture = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "zorkgpt", "svg.fonttype": "none", "text.parse_math": False}):
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(picture, format=kind, dpi=RESOLUTION, metadata=metadata)
    return picture.getvalue()


def _draw_way(axes: Axes, one: Cell, other: Cell, way: Way) -> None:
    """Draw a line, with an arrow where there is no way back; one that is no direction of the compass is a bow."""
    said = [command for command in (*way.there, *way.back) if command not in COMPASS]
    bow = {"connectionstyle": "arc3,rad=0.25", "linestyle": ":"} if said else {}
    style = "-" if way.there and way.back else "-|>"
    line = {"arrowstyle": style, "color": "0.4", "shrinkA": 22, "shrinkB": 22, **bow}
    axes.annotate("", xy=other, xytext=one, arrowprops=line)
    if said:
        (x, y), (to_x, to_y) = one, other
        top = ((x + to_x) / 2 - (to_y - y) / 8, (y + to_y) / 2 + (to_x - x) / 8)
        words = _folded(" / ".join(dict.fromkeys(said)))
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        axes.text(*top, words, ha="center", va="center", fontsize=5, color="0.3", bbox=box)


def _folded(text: str) -> str:
    """Return the text in short lines, without what no font can show."""
    return fill("".join(letter if letter.isprintable() else "?" for letter in one_line(text)), _LETTERS)
