"""What every command that plays has: a screen, a bar for downloads, an ear for Ctrl-C."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event as Flag
from typing import TYPE_CHECKING, NoReturn

import typer

from session.events import Event
from zorkgpt.cli.download_bar import DownloadBar
from zorkgpt.cli.printable import printable
from zorkgpt.cli.screens import JsonScreen, LiveScreen, PlainScreen, Screen
from zorkgpt.cli.streams import WatchedScreen, print_error
from zorkgpt.telemetry.listener import open_listener

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orchestration.bootstrap import Run
    from session.game_configuration import GameConfiguration

NOTHING: Mapping[str, object] = {}
EXIT_STATUS = {"done": 0, "paused": 1, "interrupted": 130}


@dataclass(frozen=True, slots=True)
class Watching:
    """Somebody watches.

    show: puts an event on the screen
    stop: set by Ctrl-C and by a screen that is gone
    bar: of downloads
    is_told: there are words for a person on the screen
    repeated: options of this command that one which goes on needs too, with their values
    """

    show: Callable[[Event], None]
    stop: Flag
    bar: DownloadBar
    is_told: bool
    repeated: tuple[str, ...]

    def play(self, run: Run) -> NoReturn:
        """The run was played, and the command ends with its status; one that can go on says how."""
        with _stopping_on_interrupt(self.stop):
            end = run.play()
        if end != "done" and self.is_told:
            raised = [part for limit in run.keeper.spending.reached() for part in limit.raised()]
            command = shlex.join(["zorkgpt", "resume", str(run.folder), *self.repeated, *raised])
            typer.echo(printable(f"{command} goes on from here."))
        raise typer.Exit(EXIT_STATUS[end])


@contextmanager
def watching(
    configuration: GameConfiguration, *, quiet: bool, as_json: bool, repeated: Mapping[str, object] = NOTHING
) -> Iterator[Watching]:
    """The screen for whoever watches, and the trace where one is asked for.

    repeated: the options that a command which goes on with the run has to be given again, ``None`` for one not given
    A second Ctrl-C leaves at once, with the status of an interruption.
    """
    stop = Flag()
    screen = WatchedScreen(_screen(quiet=quiet, as_json=as_json), stop)
    try:
        with DownloadBar(quiet=quiet or as_json) as bar, open_listener(configuration) as trace:

            def show(event: Event) -> None:
                trace(event)
                screen.show(event)

            again = tuple(str(part) for option in repeated.items() if option[1] is not None for part in option)
            yield Watching(show, stop, bar, is_told=not as_json, repeated=again)
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_STATUS["interrupted"]) from None


@contextmanager
def _stopping_on_interrupt(stop: Flag) -> Iterator[None]:
    """The first Ctrl-C, or a request to terminate, sets ``stop``; a second one interrupts at once."""

    def request(_signal: int, _frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        print_error("\nStopping after this turn. Ctrl-C again to stop now.")

    previous = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _screen(*, quiet: bool, as_json: bool) -> Screen:
    if as_json:
        return JsonScreen()
    if quiet or not sys.stdout.isatty():
        return PlainScreen(quiet=quiet)
    return LiveScreen()
