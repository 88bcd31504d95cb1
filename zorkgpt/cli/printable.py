"""Text from stories and models made fit to be shown in a terminal."""

from __future__ import annotations

import unicodedata
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING

from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_GAP = "  "
_INDENT = 4


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
    widths = _widths(cells)
    return [
        _GAP.join(cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in cells
    ]


def hanging(rows: Iterable[Sequence[str]], width: int | None) -> list[str]:
    """Return rows without a heading as columns; what is too wide goes on below its last cell.

    width: in columns; ``None`` for any
    """
    cells = list(rows)
    indent = sum(each + len(_GAP) for each in _widths(cells)[:-1])
    return folded(columns(cells), width, indent if width is not None and indent <= width // 2 else _INDENT)


def folded(lines: Iterable[str], width: int | None, indent: int = _INDENT) -> list[str]:
    """Return the lines, those that are too wide parted between words and indented from their second line on.

    width: in columns; ``None`` for any
    """
    if width is None:
        return list(lines)
    parts = (wrap(line, width, subsequent_indent=" " * indent, break_on_hyphens=False) or [""] for line in lines)
    return [part for each in parts for part in each]


def fitted(rows: Sequence[Sequence[str]], width: int | None) -> list[str]:
    """Return a heading and its rows as columns; where these are too wide, every cell on a line with its heading.

    width: in columns; ``None`` for any
    """
    lines = columns(rows)
    if width is None or all(cell_len(line) <= width for line in lines):
        return lines
    heading, *others = rows
    return folded((line for row in others for line in by_line(heading, row)), width)


def by_line(heading: Sequence[str], row: Sequence[str]) -> list[str]:
    """Return a row's first cell, and below it each other cell on a line with its heading."""
    named = (f"  {name}: {cell}" if name else f"  {cell}" for name, cell in zip(heading[1:], row[1:], strict=False))
    return columns([line] for line in (*filter(None, row[:1]), *named))


def _widths(cells: Iterable[Sequence[str]]) -> list[int]:
    return [max(map(cell_len, column)) for column in zip_longest(*cells, fillvalue="")]


def _shown(character: str) -> str:
    if character == "\n" or character.isprintable() or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")
