"""Remembers what a story has drawn into the upper window of its screen: status lines, menus and quotations.

The interpreter prints both windows into one text and keeps no picture of the screen (Z-Machine Standard 1.1 §8).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_REVERSED = 0x100
"""Added to the code of a character that is printed in reverse video."""
_TO_REVERSED = {code: code + _REVERSED for code in range(_REVERSED)}
_TO_NORMAL = {code + _REVERSED: code for code in range(_REVERSED)}
_WIDE_GAP = re.compile(r"(?<=\S) {5,}")
_SELECTED = re.compile(rf"[{chr(_REVERSED)}-{chr(2 * _REVERSED - 1)}]+")
_BAR = re.compile(rf"{chr(_REVERSED + ord(' '))}{{10}}|.*{chr(_REVERSED + ord(' '))}{{10}}\Z")
"""A row in reverse video with much more room than its text takes, such as a heading or a status line."""


@dataclass(slots=True)
class UpperWindow:
    """The characters in the upper window, by row, and where the next one goes.

    lines: the height of the window
    row, column: of the cursor, counted from 0
    """

    rows: tuple[str, ...] = ()
    lines: int = 0
    row: int = 0
    column: int = 0

    def write(self, printed: bytes, *, is_reversed: bool) -> None:
        """Draw ``printed`` at the cursor and move the cursor behind it."""
        rows = list(self.rows)
        for number, part in enumerate(printed.decode("latin-1").split("\n")):
            if number:
                self.row, self.column = self.row + 1, 0
            drawn = part.translate(_TO_REVERSED) if is_reversed else part
            rows += [""] * (self.row + 1 - len(rows))
            row = rows[self.row].ljust(self.column)
            end = self.column + len(drawn)
            rows[self.row] = row[: self.column] + drawn + row[end:]
            self.column = end
        self.rows = tuple(rows)

    def clear(self) -> None:
        """Erase the window and move the cursor to its beginning."""
        self.rows, self.row, self.column = (), 0, 0

    def text(self, first: int = 0, *, marks: bool = False) -> str:
        """Return the rows from ``first`` on as text, without empty margins.

        marks: whether to put reversed text, which is the mark of some menus, into brackets, except in bars at the top
        """
        rows = list(self.rows[first:])
        heading = next((number for number, row in enumerate(rows) if not _BAR.match(row)), len(rows))
        plain = [_plain(row, marks=marks and number >= heading) for number, row in enumerate(rows)]
        margin = min((len(row) - len(row.lstrip()) for row in plain if row), default=0)
        return re.sub(r"\n{3,}", "\n\n", "\n".join(row[margin:] for row in plain)).strip("\n")


def _plain(row: str, *, marks: bool) -> str:
    """Return ``row`` in ordinary characters without trailing spaces."""

    def part(found: re.Match[str]) -> str:
        letters = found[0].translate(_TO_NORMAL)
        return f"[{letters.strip()}]" if marks and letters.strip() else letters

    return _WIDE_GAP.sub("    ", _SELECTED.sub(part, row).rstrip())
