"""What a person types while a run is played."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import typer

from game_interface.core.commands import refusal
from session.errors import WaitInterrupted
from session.files.journal import observation_in
from zorkgpt.cli.streams import print_line
from zorkgpt.llm.person import LEAVING

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event as Flag

    from session.events import Event

HELP = f"Type a command and Enter; {LEAVING} ends the episode, Ctrl-C pauses it."


class Keyboard:
    """Reads lines from stdin.

    stop: set where Ctrl-C is typed instead of a line
    still: what stands on the screen stands still within it
    is_waiting: whether a line is waited for, so that Ctrl-C has to end that
    """

    def __init__(self, stop: Flag) -> None:
        self._stop = stop
        self.still: Callable[[], AbstractContextManager[object]] = nullcontext
        self.is_waiting = False
        self._awaits_key = False

    def see(self, event: Event) -> None:
        """Take an event into account: the story may wait for a key instead of a command."""
        seen = observation_in(event)
        self._awaits_key = self._awaits_key if seen is None else seen.awaits_key

    def read_command(self) -> str:
        """Return a command that the story may be given, or ``LEAVING``, also where there is no more input.

        Raises ``WaitInterrupted`` at Ctrl-C.
        """
        while True:
            line = self.read_line("(a key, then Enter) > " if self._awaits_key else "> ")
            if line is None or line.strip().lower() in ({LEAVING} if self._awaits_key else {LEAVING, "q"}):
                return LEAVING
            if self._awaits_key:
                return line if line.strip() else "enter"
            unfit = refusal(line) if line.strip() else HELP
            if unfit is None:
                return line
            print_line(unfit)

    def read_line(self, prompt: str) -> str | None:
        """Return what is typed, without its line end; ``None`` where there is no more input.

        prompt: shown where a person types at a terminal
        Raises ``WaitInterrupted`` at Ctrl-C.
        """
        self.is_waiting = True
        try:
            if sys.stdin.isatty() and sys.stdout.isatty():
                with self.still():
                    return _typed(prompt)
            line = sys.stdin.readline()
            return line.removesuffix("\n") if line else None
        except KeyboardInterrupt:
            self._stop.set()
            raise WaitInterrupted("interrupted") from None
        finally:
            self.is_waiting = False


def _typed(prompt: str) -> str | None:
    """Return the line that is typed at the terminal; whatever ends it, the cursor is on a new line then."""
    import readline  # noqa: F401  lets a person edit the line and go back to earlier ones

    try:
        return input(prompt)
    except EOFError:
        typer.echo()
        return None
    except KeyboardInterrupt:
        typer.echo()
        raise
