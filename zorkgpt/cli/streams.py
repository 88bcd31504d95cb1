"""The standard streams, as unreliable as whoever started the program left them."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from zorkgpt.cli.printable import folded, printable

if TYPE_CHECKING:
    from threading import Event as Flag

    from session.events import Event
    from zorkgpt.cli.screens import Screen

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


class WatchedScreen:
    """Shows events on ``screen``, which writes to stdout and may be changed, for as long as somebody watches.

    A reader that went away (``| head``) has seen enough: ``stop`` is set. Where stdout fails for another reason, a
    full disk say, play goes on unseen: the journal has it all.
    """

    def __init__(self, screen: Screen, stop: Flag) -> None:
        self.screen = screen
        self._stop = stop

    def show(self, event: Event) -> None:
        """Show an event, unless nobody watches any more."""
        try:
            self.screen.show(event)
        except BrokenPipeError:
            discard_stdout()
            self._stop.set()
        except OSError as error:
            discard_stdout()
            print_error(f"zorkgpt: nothing more is shown, only journaled: {error.strerror}")
