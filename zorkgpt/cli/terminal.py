"""What the commands print: text made safe for a terminal, tables, figures, files and the standard streams."""

from __future__ import annotations

import codecs
import json
import logging
import os
import shutil
import signal
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import typer
from pydantic_core import to_jsonable_python

from session.errors import reported_as
from session.processes import program
from session.text import counted, cut_at, one_line, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

    from session.files.markdown import MarkdownProblem
    from zorkgpt.ablation.random_player import Estimate


EXIT_STATUS = {"done": 0, "paused": 1, "interrupted": 130}
"""Of a command that plays, by how it ended."""
NOTHING = "\N{EN DASH}"  # what could not be measured; never 0
_UNLIMITED = 100_000  # columns of a table that is not printed to a terminal
_STDERR = 2
PLAIN = "plain"
"""The error handler for streams whose encoding lacks a character: it writes a similar one of ASCII, or ``?``."""
_FORMS = str.maketrans(
    "✓✗\u2013\u2014\u2212…•·→←≤≥\u2018\u2019“”⚠\ufe0f─│┌┐└┘├┤┬┴┼╲\u2571╭╮╰╯━▁▂▃▄▅▆▇█⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏",  # the spinner
    "+x---~*-><<>''\"\"! -|+++++++++\\/++++-_.,-~=*#|/-\\|/-\\|/",
)


def _plain_forms(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_FORMS)
    return "".join(each if each.isascii() else "?" for each in text), error.end  # as wide as before


codecs.register_error(PLAIN, _plain_forms)


def table_lines(rows: Sequence[Sequence[str]], width: int | None = None, *, wraps: bool = False) -> list[str]:
    """Return the rows as the lines of a table, every cell printable.

    In a narrow terminal it becomes a list, each cell on a line with its heading, the first cell of its column.

    width: of the terminal in columns; ``None`` for any
    wraps: wrap the cells in a narrow terminal instead
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*(Text(printable(cell).replace("\n", " "), overflow="fold") for cell in row))

    def drawn(columns: int) -> list[str]:
        lines = Console(width=columns).render_lines(table, pad=False)
        return ["".join(segment.text for segment in line).rstrip() for line in lines]

    lines = drawn(_UNLIMITED)
    if width is None or all(cell_len(line) <= width for line in lines):
        return lines
    if wraps:
        return drawn(width)
    heading, *others = rows
    return [line for row in others for line in cell_lines(heading, row, width)]


def cell_lines(heading: Sequence[str], row: Sequence[str], width: int) -> list[str]:
    """Return the first cell of a row, and below it each other cell on a line with its heading."""
    others = (f"  {name}: {cell}" if name else f"  {cell}" for name, cell in zip(heading[1:], row[1:], strict=False))
    return [line for cell in (*filter(None, row[:1]), *others) for line in folded(cell, width)]


def folded(text: str, width: int | None, indent: int = 4) -> list[str]:
    """Return the text, printable, as lines that are wrapped between words and indented from their second line on."""
    lines = printable(text).split("\n")
    if width is None:
        return lines
    parts = (wrap(line, width, subsequent_indent=" " * indent, break_on_hyphens=False) or [""] for line in lines)
    return [part for each in parts for part in each]


def print_line(text: str) -> None:
    """Print a text from a story, a model or a file on stdout, with its control characters escaped."""
    typer.echo(printable(text))


def print_folded(*texts: str, indent: int = 4) -> None:
    """Print texts like :func:`print_line`, in a terminal wrapped between words."""
    for text in texts:
        typer.echo("\n".join(folded(text, terminal_width(), indent)))


def print_table(rows: Sequence[Sequence[str]], *, wraps: bool = False) -> None:
    """Print a table that fits the terminal, as in :func:`table_lines`."""
    typer.echo("\n".join(table_lines(rows, terminal_width(), wraps=wraps)))


def print_json(value: object) -> None:
    """Print a value with its dataclasses as JSON, in ASCII, so that it contains no control character."""
    typer.echo(json.dumps(to_jsonable_python(value), indent=2))


def print_problems(
    path: Path, problems: Sequence[MarkdownProblem], counts: Mapping[str, int], understood: str, *, as_json: bool
) -> None:
    """Print the problems of a file, line by line, and end the command with status 1 if there are any.

    counts: what else JSON has
    understood: printed if there is no problem
    """
    if as_json:
        print_json({"file": str(path), **counts, "problems": problems})
    else:
        lines = [f"{path}:{problem.line}: {problem.message}" for problem in problems]
        print_line("\n".join(lines or [f"{path}: {understood}"]))
    if problems:
        raise typer.Exit(1)


def print_costs(estimates: Sequence[Estimate], call_seconds: float, workers: int | None = None) -> None:
    """Print a line for each story and arm, their sum if there are several, and what the figures rest on.

    workers: runs side by side; ``None`` for a single run, which is not an arm
    """

    def three_digits(value: float) -> float:
        return float(f"{value:.3g}")

    def row(story: str, arm: str, summed: Sequence[Estimate]) -> tuple[str, ...]:
        turns = sum(each.turns for each in summed)
        counts = (sum(getattr(each, name) for each in summed) for name in ("calls", "prompt_tokens", "answer_tokens"))
        dollars = [each.dollars for each in summed if each.dollars is not None]
        cost = f"{three_digits(sum(dollars)):.2f}" if len(dollars) == len(summed) else "-"
        hours = sum(each.hours(call_seconds, workers or 1) for each in summed)
        shown = (f"{turns:,}", *(f"{three_digits(count):,.0f}" for count in counts), cost, f"{hours:.1f}")
        return (story, *([arm] if workers else []), *shown)

    figures = ("TURNS", "CALLS", "PROMPT TOKENS", "ANSWER TOKENS", "DOLLARS", "HOURS")
    rows = [("STORY", *(["ARM"] if workers else []), *figures)]
    rows += [row(each.story, each.arm, [each]) for each in estimates]
    print_table([*rows, row("all", "", estimates)] if workers else rows)
    side_by_side = f", {workers} runs side by side (--workers)" if workers else ""
    print_folded(f"\nHours: {call_seconds:g} seconds a call (--call-seconds){side_by_side}.")
    print_folded(
        "Tokens: as many as a rehearsal without a model takes, four characters each; a model's thinking before it "
        "answers is not included, and what the server has in its cache costs less. Estimates have three digits."
    )
    if any(each.dollars is None for each in estimates):
        print_folded(f"Dollars: the price of a model is unknown; the option prices sets it ({program()} config show).")


def terminal_width() -> int | None:
    """Return how many columns the terminal on stdout has; ``None`` if stdout is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def print_error(text: str) -> None:
    """Print a text on stderr, its control characters escaped. If stderr cannot be written, the text is lost.

    It bypasses Python's buffers, so that a signal handler may print while something else is being written.
    """
    with suppress(OSError):
        os.write(_STDERR, f"{printable(text)}\n".encode(sys.stderr.encoding or "utf-8", PLAIN))


def write_file(path: Path, content: bytes) -> None:
    """Write the file that the user named. Raises ``StoreError``."""
    with reported_as(f"cannot write {path}"):
        path.write_bytes(content)


def as_cell(text: str, longest: int) -> str:
    """Return a text as a cell of at most so many characters."""
    return cut_at(one_line(text), longest, "…") or NOTHING


def as_count(value: int | None) -> str:
    """Return a whole number with commas between thousands."""
    return NOTHING if value is None else f"{value:,}"


def as_tokens(tokens: int | None, calls: int, uncounted: int) -> str:
    """Return a number of tokens, with the number of calls that it is of if that is not all of them."""
    return as_count(tokens) + (f" of {counted(calls - uncounted, 'call')}" if tokens is not None and uncounted else "")


def of_maximum(score: int | None, most: int | None) -> str:
    """Return a score, and the maximum if it is known."""
    return as_count(score) if score is None or most is None else f"{score}/{most}"


class LogTo(logging.Handler):
    """Passes log messages to a function."""

    def __init__(self, show: Callable[[logging.LogRecord], None], level: int = logging.WARNING) -> None:
        super().__init__(level)
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        """Pass a message on."""
        self._show(record)


def open_missing_streams() -> None:
    """Open the null device in place of a standard stream that the caller has closed.

    Otherwise the next file that is opened, such as the journal, would get its number and what C libraries print.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115  open for as long as the program runs
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


@contextmanager
def handling(handler: Callable[[int, FrameType | None], object], *signals: signal.Signals) -> Iterator[None]:
    """Call the handler at these signals within the block, except those that are ignored, as SIGHUP is under nohup."""
    before = {each: signal.signal(each, handler) for each in signals if signal.getsignal(each) != signal.SIG_IGN}
    try:
        yield
    finally:
        for each, previous in before.items():
            signal.signal(each, previous)


def discard_stdout() -> None:
    """Send what is written from now on, and what is still in the buffer, to the null device."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def set_echo(*, on: bool) -> None:
    """Switch the terminal's echo on or off; what is typed meanwhile can be read later.

    A background process leaves the terminal as it is, because the system would stop it.
    """
    if not sys.stdin.isatty() or os.tcgetpgrp(sys.stdin.fileno()) != os.getpgrp():
        return
    import termios

    state = termios.tcgetattr(sys.stdin)
    state[3] = state[3] | termios.ECHO if on else state[3] & ~termios.ECHO
    termios.tcsetattr(sys.stdin, termios.TCSANOW, state)
