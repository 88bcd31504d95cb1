"""Text from stories and models made fit to be shown in a terminal."""

from __future__ import annotations

import unicodedata
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_GAP = "  "


def printable(text: str) -> str:
    r"""Return the text with all that is not seen shown instead of obeyed: ESC becomes ``\x1b``, line ends stay.

    That is what controls the terminal, turns the direction of writing, has no width, or has no meaning that all agree
    on (private and unassigned characters, halves of surrogate pairs).
    """
    spaced = text.replace("\r\n", "\n").replace("\t", "    ")
    return spaced if spaced.isprintable() else "".join(map(_shown, spaced))


def columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the rows as lines with their cells below each other, each cell whole, printable and on one line."""
    cells = [[" ".join(printable(cell).split("\n")) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip_longest(*cells, fillvalue="")]
    return [
        _GAP.join(cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in cells
    ]


def fitted(rows: Sequence[Sequence[str]], width: int | None) -> list[str]:
    """Return a heading and its rows as columns; where these are too wide, every cell on a line with its heading.

    width: in columns; ``None`` for any
    """
    lines = columns(rows)
    if width is None or all(cell_len(line) <= width for line in lines):
        return lines
    heading, *others = rows
    return [line for row in others for line in by_line(heading, row)]


def by_line(heading: Sequence[str], row: Sequence[str]) -> list[str]:
    """Return a row's first cell, and below it each other cell on a line with its heading."""
    named = (f"  {name}: {cell}" if name else f"  {cell}" for name, cell in zip(heading[1:], row[1:], strict=False))
    return columns([line] for line in (*filter(None, row[:1]), *named))


def _shown(character: str) -> str:
    if character == "\n" or character.isprintable() or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")
