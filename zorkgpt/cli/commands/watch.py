"""``zorkgpt watch``: shows a run that another process plays, from what that process writes."""

from __future__ import annotations

import shlex
import time
from contextlib import ExitStack
from datetime import datetime, timezone
from threading import Event as Flag
from typing import TYPE_CHECKING

import typer

from session.processes import program
from zorkgpt.cli import common_options
from zorkgpt.cli.terminal import EXIT_STATUS, print_line

if TYPE_CHECKING:
    from pathlib import Path

    from session.events import Event
    from zorkgpt.cli.screen import Screen
    from zorkgpt.llm.budget import Spending

TURNS_BEFORE = 2  # turns played before that are shown
POLL, SILENCE = 0.2, 2.0  # seconds between looks at the files, and until it checks that the run is still played


def watch(
    run: common_options.RunOrLatest = None,
    as_json: common_options.EventsAsJson = False,
    game: common_options.OfStory = None,
    workdir: common_options.Workdir = None,
) -> None:
    """Watch a run that another process plays, until it ends. Ctrl-C leaves it playing."""
    from orchestration.history import configuration_of
    from session.files.journal import read_manifest
    from zorkgpt.cli.screen import LiveView, Screen
    from zorkgpt.llm.budget import Spending
    from zorkgpt.report.run_summary import summarise

    folder, now = common_options.run_and_configuration(workdir, run, game)
    manifest = read_manifest(folder)
    is_live = summarise(folder).state == "playing"
    if not as_json:
        print_line(f"Run {folder.name} of {manifest.story}{', live; Ctrl-C leaves it playing' if is_live else ''}")
    configuration, screen = configuration_of(manifest, folder, now), Screen(as_json=as_json)
    spending = Spending(configuration)
    watched = _WatchedRun(folder, screen, spending)
    with ExitStack() as stack:
        try:
            if is_live and screen.console is not None:
                view = LiveView(configuration, folder, spending, Flag(), screen.console)
                screen.view = stack.enter_context(view)
            watched.begin()
            while is_live and not watched.is_over():
                time.sleep(POLL)
                watched.look()
        except KeyboardInterrupt:
            raise typer.Exit(EXIT_STATUS["interrupted"]) from None
    summary = summarise(folder)
    if not as_json:
        shows = f" {program()} runs show {shlex.quote(str(folder))} shows what came of it."
        print_line(f"{common_options.standing(summary, now)}{shows if summary.state == 'done' else ''}")


class _WatchedRun:
    """Follows the journal and the log that another process writes, shows what is new, and counts what is spent."""

    def __init__(self, folder: Path, screen: Screen, spending: Spending) -> None:
        from session.files.journal import JournalFollower
        from session.files.run_folders import RUN_LOG
        from session.files.shared_files import GrowingFile

        self._folder, self._screen, self._spending = folder, screen, spending
        self._journal = JournalFollower(folder)
        self._log = GrowingFile(folder / RUN_LOG)
        self._latest_event, self._latest_news = datetime.fromtimestamp(0, timezone.utc), time.monotonic()
        self._has_ended = False

    def is_over(self) -> bool:
        """Return whether the run has ended, no process plays it any more, or the reader of stdout is gone."""
        from session.files.run_folders import is_claimed

        if time.monotonic() > self._latest_news + SILENCE:
            self._latest_news = time.monotonic()
            if not is_claimed(self._folder):
                self.look()
                return True
        return self._has_ended or self._screen.stop.is_set()

    def begin(self) -> None:
        """Show how the run began, and the latest of its turns."""
        from session.events import EpisodeStarted, RunStarted, TurnPlayed

        events = self._new_events()
        turns = [place for place, event in enumerate(events) if isinstance(event, TurnPlayed | EpisodeStarted)]
        first = turns[-TURNS_BEFORE] if len(turns) >= TURNS_BEFORE else 0
        for place, event in enumerate(events):
            if place >= first or isinstance(event, RunStarted):
                self._screen.show(event)
            elif self._screen.view is not None:
                self._screen.view.note(event)
        self._has_ended = False
        self.look()

    def look(self) -> None:
        """Show what is new."""
        from orchestration.run_log import activity_in

        events = self._new_events()
        for event in events:
            self._screen.show(event)
        view = self._screen.view
        if view is None:
            return
        if events:
            view.look()
        for activity in filter(None, map(activity_in, self._log.new_lines())):
            if activity.role is None:
                view.trouble = activity.event
            elif activity.timestamp >= self._latest_event:
                view.asks(activity.role, (datetime.now(timezone.utc) - activity.timestamp).total_seconds())

    def _new_events(self) -> list[Event]:
        from session.events import RunEnded, RunPaused

        lines = self._journal.new_lines()
        if lines:
            self._latest_event, self._latest_news = datetime.fromisoformat(lines[-1].at), time.monotonic()
        events = [line.event for line in lines if line.event is not None]
        for event in events:
            self._spending.count(event)
            self._has_ended = isinstance(event, RunEnded | RunPaused)
        return events
