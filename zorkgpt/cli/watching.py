"""What every command that plays has: a screen, a bar for downloads, and an end on Ctrl-C."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event as Flag
from typing import TYPE_CHECKING, NoReturn

import typer
from rich.text import Text

from managers.map_manager import MapManager
from managers.route_manager import RouteManager
from managers.routes.document import RouteBook
from managers.simple_memory_manager import SimpleMemoryManager
from session.errors import ConfigurationError
from session.events import EpisodeEnded, Event
from session.files.journal import JOURNAL_FILE, read_journal
from session.game_configuration import GameConfiguration
from session.invocation import program
from session.memory import MemoryStatus
from zorkgpt.cli.download_bar import DownloadBar
from zorkgpt.cli.keyboard import HELP, Keyboard
from zorkgpt.cli.live_view import LiveView
from zorkgpt.cli.memory_views import problem_lines
from zorkgpt.cli.run_standing import resume_command
from zorkgpt.cli.screens import JsonScreen, LiveScreen, PlainScreen, Screen
from zorkgpt.cli.streams import EXIT_STATUS, WatchedScreen, print_error, print_line
from zorkgpt.report.gains import Gains

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from orchestration.run import Run
    from orchestration.turn import Review
    from zorkgpt.llm.language_model import Prompt, Role


OTEL_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_LOG = logging.getLogger(__name__)

FIRST_PROGRESS, PROGRESS_INTERVAL = 1.0, 5.0
"""Seconds of repeating recorded turns before the first line about it, and between two of them."""


@dataclass(slots=True)
class Watching:
    """The screen of a run that is played, and what can stop it.

    configuration: of the run
    screen: shows events; while a run is played in a terminal, with what goes on below them
    trace: is told of every event, too
    stop: set by Ctrl-C, and when nobody reads the screen any more
    keyboard: what a person types who plays
    bar: shows downloads
    repeated: options of this command that ``zorkgpt resume`` needs too, with their values
    gains: what the episodes scored
    """

    configuration: GameConfiguration
    screen: WatchedScreen
    trace: Callable[[Event], None]
    stop: Flag
    keyboard: Keyboard
    bar: DownloadBar
    repeated: tuple[str, ...]
    gains: Gains = field(default_factory=Gains)
    _view: LiveView | None = None
    _next_progress: float = 0.0

    @property
    def is_for_people(self) -> bool:
        """Whether the screen shows sentences, not JSON."""
        return not isinstance(self.screen.screen, JsonScreen)

    def person(self, *, steps: bool = False) -> tuple[Callable[[], str], Review | None]:
        """Return what a person at the keyboard does: types commands, and decides on proposals where it ``steps``.

        Raises ``ConfigurationError`` for steps where there is no terminal to show and to type them.
        """
        if steps and not (isinstance(self.screen.screen, LiveScreen) and sys.stdin.isatty()):
            raise ConfigurationError("--step asks about each command: that takes a terminal, and no --quiet or --json")
        return self.keyboard.read_command, self.keyboard.review if steps else None

    def show(self, event: Event) -> None:
        """Put an event on the screen."""
        self.trace(event)
        self.gains.see(event)
        self.keyboard.see(event)
        self.screen.show(event)

    def asked(self, role: Role, prompt: Prompt) -> None:
        """Show that a model is being asked."""
        if self._view is not None:
            self._view.asked(role, prompt)

    def repeats(self, done: int, turns: int) -> None:
        """Show how many recorded turns were repeated, if that takes longer than a second."""
        now = time.monotonic()
        self._next_progress = self._next_progress or now + FIRST_PROGRESS
        if now >= self._next_progress and done < turns:
            self._next_progress = now + PROGRESS_INTERVAL
            line = f"Repeating recorded turns: {done:,} of {turns:,}"
            if self._view is not None:
                self._view.tell(line)
            elif self.is_for_people:
                print_line(line)

    def play(self, run: Run) -> NoReturn:
        """Play the run and end the command with the run's status; where the run can go on, say how."""
        if memories := run.orchestrator.learning.find(SimpleMemoryManager):
            for line in problem_lines(memories.memory_file, memories.problems()):
                print_error(f"zorkgpt: {line}")
        before = [line.event for line in read_journal(run.folder) if line.event is not None]
        for event in before:
            self.gains.see(event)
        if run.is_played and self.is_for_people:
            self.screen.show(next(event for event in reversed(before) if isinstance(event, EpisodeEnded)))
        try:
            with (
                self._live(run, before),
                _stopping_on_interrupt(self.stop, self.keyboard, is_shown=self._view is not None),
            ):
                end = run.play()
        except KeyboardInterrupt:
            self._tell("Stopped. ", run)
            raise
        if self.is_for_people and (line := self._gained(run)):
            _print_wrapped(self.screen.screen, line)
        is_quiet = isinstance(self.screen.screen, PlainScreen) and self.screen.screen.is_quiet
        if end == "done" and self.is_for_people and not is_quiet and len([*run.folder.parent.iterdir()]) == 1:
            _print_wrapped(self.screen.screen, _next_steps(self.configuration.zork_game_workdir))
        if end != "done":
            self._tell("", run)
        raise typer.Exit(EXIT_STATUS[end])

    def _gained(self, run: Run) -> str:
        """Return the line on what this run has learnt, scored and cost."""
        learning = run.orchestrator.learning
        routes, memories = learning.find(RouteManager), learning.find(SimpleMemoryManager)
        kept = (memory for each in (memories.memory_cache.values() if memories else ()) for memory in each)
        believed = sum(memory.status != MemoryStatus.SUPERSEDED for memory in kept)
        book, spending = routes.book if routes else RouteBook(), run.model.spending
        return self.gains.line(len(learning.get(MapManager).game_map.rooms), book, believed, spending)

    @contextmanager
    def _live(self, run: Run, before: Iterable[Event]) -> Iterator[None]:
        """Show below the story what goes on, if that is drawn in a terminal; ``before`` are the events up to now."""
        screen = self.screen.screen
        if not isinstance(screen, LiveScreen):
            yield
            return
        introduction = (
            _introduction(self.configuration) if run.position.episode is None and not run.position.index else ""
        )
        spending = run.model.spending
        with LiveView(self.configuration, run.folder, spending, self.stop, screen.console, introduction) as view:
            for event in before:
                view.note(event)
            self._view = self.screen.screen = view
            self.keyboard.still, self.keyboard.tell = view.still, view.tell
            try:
                yield
            finally:
                self._view, self.screen.screen = None, screen

    def _tell(self, news: str, run: Run) -> None:
        """Print the news of a run that was left, and how it goes on, if it can."""
        if not self.is_for_people:
            return
        if not (run.folder / JOURNAL_FILE).is_file():
            print_line(f"{news}{run.folder} is gone: the run cannot go on.")
            return
        command = resume_command(run.folder, run.model.spending, self.repeated)
        print_line(f"{news}{command} goes on from here.")


def _next_steps(workdir: Path) -> str:
    """Return what can be typed after the first run in a work folder."""
    where = "" if workdir == GameConfiguration().zork_game_workdir else f" --workdir {shlex.quote(str(workdir))}"
    return (
        f"{program()} report{where} makes a page of this run,\n{program()} status{where} shows the latest state,\n"
        f"{program()} memories show{where} prints what is remembered."
    )


def _print_wrapped(screen: Screen, line: str) -> None:
    """Print a line, in a terminal broken between words."""
    if isinstance(screen, LiveScreen):
        screen.console.print(Text(line))
    else:
        print_line(line)


def _introduction(configuration: GameConfiguration) -> str:
    """Return what a person should know of the run that begins: what it learns, and how it is stopped."""
    player = configuration.agent.player
    kinds = {
        "the map": True,
        "routes": configuration.routes.enabled,
        "memories of places": configuration.simple_memory.enabled,
        "knowledge of the game": configuration.knowledge.enabled and player != "person-alone",
    }
    learnt = ", ".join(kind for kind, is_learnt in kinds.items() if is_learnt)
    if player == "model":
        learns = f"It learns as it plays, for this episode and later ones: {learnt}."
        return f"{learns} Ctrl-C pauses it; {program()} resume goes on."
    return f"{HELP} What you find out is learnt: {learnt}."


@contextmanager
def watching(
    configuration: GameConfiguration, *, quiet: bool, as_json: bool, repeated: Iterable[tuple[str, object]] = ()
) -> Iterator[Watching]:
    """Open the screen for whoever watches, and the trace where one is asked for.

    repeated: the options that ``zorkgpt resume`` has to be given again, ``None`` for one that was not given

    A second Ctrl-C leaves at once, with the status of an interruption.
    """
    stop = Flag()
    screen = WatchedScreen(screen_for(quiet=quiet, as_json=as_json), stop)
    try:
        with DownloadBar(quiet=quiet or as_json) as bar, spans_of(configuration) as trace:
            again = tuple(str(part) for option in repeated if option[1] is not None for part in option)
            yield Watching(configuration, screen, trace, stop, Keyboard(stop), bar, again)
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_STATUS["interrupted"]) from None


@contextmanager
def spans_of(configuration: GameConfiguration) -> Iterator[Callable[[Event], None]]:
    """Open the listener that sends the run to an OpenTelemetry collector, if the environment names one."""
    if not os.environ.get(OTEL_ENDPOINT):
        yield lambda _: None
        return
    try:
        from zorkgpt.telemetry import open_spans
    except ImportError:
        _LOG.warning("%s is set, but no span is sent: pip install 'zorkgpt[otel]' is needed for that", OTEL_ENDPOINT)
        yield lambda _: None
        return
    with open_spans(configuration) as show:
        yield show


@contextmanager
def _stopping_on_interrupt(stop: Flag, keyboard: Keyboard, *, is_shown: bool) -> Iterator[None]:
    """Set ``stop``, which cancels a request to a model, at the first SIGINT or SIGTERM; interrupt at the second.

    keyboard: where a line is waited for, the first interrupts that
    is_shown: the screen shows by itself that ``stop`` is set
    """

    def request(_signal: int, _frame: object) -> None:
        if stop.is_set() or keyboard.is_waiting:
            raise KeyboardInterrupt
        stop.set()
        if not is_shown:
            print_error("\nStopping. Ctrl-C again to leave at once.")

    previous = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def screen_for(*, quiet: bool, as_json: bool) -> Screen:
    """Return the screen for whoever reads stdout: a person, a pipe or a program."""
    if as_json:
        return JsonScreen()
    if quiet or not sys.stdout.isatty():
        return PlainScreen(quiet=quiet)
    return LiveScreen()
