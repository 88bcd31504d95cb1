"""What the commands print: text made fit for a terminal, tables, and the standard streams."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import unicodedata
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import typer
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


EXIT_STATUS = {"done": 0, "paused": 1, "interrupted": 130}
"""Of a command that plays, by how it ended."""
_STDERR = 2


def open_missing_streams() -> None:
    """Open the null device in place of a standard stream that the caller has closed.

    Otherwise its number would go to the next file that is opened, the journal say, and with it all that a C library
    prints.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115  open for as long as the program runs
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def print_line(text: str) -> None:
    """Print a text from stories, models or files on stdout, its control characters shown."""
    typer.echo(printable(text))


def print_folded(*lines: str) -> None:
    """Print lines from stories, models or files on stdout, in a terminal parted between words."""
    shown = [part for line in lines for part in printable(line).split("\n")]
    typer.echo("\n".join(folded(shown, terminal_width())))


def terminal_width() -> int | None:
    """Return how many columns the terminal has that stdout is; ``None`` where it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def print_error(text: str) -> None:
    """Print a text on stderr, its control characters shown; where that cannot be written, the text is lost.

    It goes past Python's buffers, so that a signal handler may print while something else is being written.
    """
    with suppress(OSError):
        os.write(_STDERR, f"{printable(text)}\n".encode(errors="backslashreplace"))


class LogToStderr(logging.Handler):
    """Shows warnings and what is worse as lines on stderr."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message."""
        print_error(f"zorkgpt: {record.getMessage()}")


def set_echo(*, on: bool) -> None:
    """Let the terminal show what is typed, or not; what is typed is kept for whoever reads it.

    A process in the background leaves the terminal as it is: it would be stopped.
    """
    if not sys.stdin.isatty() or os.tcgetpgrp(sys.stdin.fileno()) != os.getpgrp():
        return
    import termios

    state = termios.tcgetattr(sys.stdin)
    state[3] = state[3] | termios.ECHO if on else state[3] & ~termios.ECHO
    termios.tcsetattr(sys.stdin, termios.TCSANOW, state)


def discard_stdout() -> None:
    """Send what is written from now on, and what is still in the buffer, to the null device."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


NOTHING = "\N{EN DASH}"  # what was not there to be measured; never 0


def as_count(value: int | None) -> str:
    """Return a whole number as people read it."""
    return NOTHING if value is None else f"{value:,}"


def of_maximum(score: int | None, most: int | None) -> str:
    """Return a score, of the most there is where that is known."""
    return as_count(score) if score is None or most is None else f"{score}/{most}"
