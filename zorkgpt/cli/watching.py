"""What every command that plays has: a screen, a bar for downloads, and an end on Ctrl-C."""

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
from session.files.journal import JOURNAL_FILE
from zorkgpt.cli.download_bar import DownloadBar
from zorkgpt.cli.screens import JsonScreen, LiveScreen, PlainScreen, Screen
from zorkgpt.cli.streams import EXIT_STATUS, WatchedScreen, print_error, print_line
from zorkgpt.telemetry.listener import open_listener

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orchestration.bootstrap import Run
    from session.game_configuration import GameConfiguration

NOTHING: Mapping[str, object] = {}


@dataclass(frozen=True, slots=True)
class Watching:
    """The screen of a run that is played, and what can stop it.

    show: puts an event on the screen
    stop: set by Ctrl-C, and when nobody reads the screen any more
    bar: shows downloads
    is_for_people: the screen shows sentences, not JSON
    repeated: options of this command that ``zorkgpt resume`` needs too, with their values
    """

    show: Callable[[Event], None]
    stop: Flag
    bar: DownloadBar
    is_for_people: bool
    repeated: tuple[str, ...]

    def play(self, run: Run) -> NoReturn:
        """Play the run and end the command with the run's status; where the run can go on, say how."""
        with _stopping_on_interrupt(self.stop):
            try:
                end = run.play()
            except KeyboardInterrupt:
                self._tell("Stopped. ", run)
                raise
        if end != "done":
            self._tell("", run)
        raise typer.Exit(EXIT_STATUS[end])

    def _tell(self, news: str, run: Run) -> None:
        """Print the news of a run that was left, and how it goes on, if it can."""
        if not self.is_for_people:
            return
        if not (run.folder / JOURNAL_FILE).is_file():
            print_line(f"{news}{run.folder} is gone: the run cannot go on.")
            return
        raised = [part for limit in run.committer.model.spending.reached() for part in limit.raised()]
        command = shlex.join(["zorkgpt", "resume", str(run.folder), *self.repeated, *raised])
        print_line(f"{news}{command} goes on from here.")


@contextmanager
def watching(
    configuration: GameConfiguration, *, quiet: bool, as_json: bool, repeated: Mapping[str, object] = NOTHING
) -> Iterator[Watching]:
    """Open the screen for whoever watches, and the trace where one is asked for.

    repeated: the options that ``zorkgpt resume`` has to be given again, ``None`` for one that was not given

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
            yield Watching(show, stop, bar, is_for_people=not as_json, repeated=again)
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_STATUS["interrupted"]) from None


@contextmanager
def _stopping_on_interrupt(stop: Flag) -> Iterator[None]:
    """Set ``stop`` at the first Ctrl-C or request to terminate; interrupt at once at the second."""

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
