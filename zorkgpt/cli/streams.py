"""The standard streams, as unreliable as whoever started the program left them."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from zorkgpt.cli.printable import printable

if TYPE_CHECKING:
    from threading import Event as Flag

    from session.events import Event
    from zorkgpt.cli.screens import Screen

_STDERR = 2


def open_missing_streams() -> None:
    """Stdin, stdout and stderr are there: one that the caller closed is the null device.

    Its number would go to the next file that is opened, the journal say, and with it whatever a C library prints.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115  open for as long as the program runs
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def print_error(text: str) -> None:
    """``text`` is on stderr, its control characters shown; or nobody can read that, and it is lost.

    Past Python's buffers, so that a signal handler may call it while something else is being written.
    """
    with suppress(OSError):
        os.write(_STDERR, f"{printable(text)}\n".encode(errors="backslashreplace"))


class LogToStderr(logging.Handler):
    """Shows what is logged as lines on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message."""
        print_error(f"zorkgpt: {record.getMessage()}")


def discard_stdout() -> None:
    """What is written from now on, and what is still in the buffer, goes to the null device."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


class WatchedScreen:
    """Shows events on ``screen``, which writes to stdout, for as long as somebody watches.

    A reader that went away (``| head``) has seen enough: ``stop`` is set. Where stdout fails for another reason, a
    full disk say, play goes on unseen: the journal has it all.
    """

    def __init__(self, screen: Screen, stop: Flag) -> None:
        self._screen = screen
        self._stop = stop

    def show(self, event: Event) -> None:
        """The event was shown, or nobody watches any more."""
        try:
            self._screen.show(event)
        except BrokenPipeError:
            discard_stdout()
            self._stop.set()
        except OSError as error:
            discard_stdout()
            print_error(f"zorkgpt: nothing more is shown, only journaled: {error.strerror}")
