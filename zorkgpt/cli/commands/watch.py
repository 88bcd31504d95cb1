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
    from collections.abc import Iterator
    from pathlib import Path

    from session.events import Event
    from session.files.journal import JournalLine
    from session.files.shared_files import GrowingFile
    from zorkgpt.cli.screen import LiveView, Screen

TURNS_BEFORE = 2  # turns played before that are shown
POLL, SILENCE = 0.2, 2.0  # seconds between looks at the files, and until it checks that the run is still played


def watch(
    run: common_options.RunOrLatest = None,
    as_json: common_options.EventsAsJson = False,
    story: common_options.OfStory = None,
    workdir: common_options.Workdir = None,
) -> None:
    """Watch a run that another process plays, until it ends. Ctrl-C leaves it playing."""
    from orchestration.recorded_configuration import recorded
    from session.files.journal import read_manifest
    from session.files.run_folders import RUN_LOG
    from session.files.shared_files import GrowingFile
    from zorkgpt.cli.screen import LiveView, Screen
    from zorkgpt.llm.budget import Spending
    from zorkgpt.report.run_summary import summarise

    folder, now = common_options.run_and_configuration(workdir, run, story)
    manifest = read_manifest(folder)
    is_live = summarise(folder).state == "playing"
    if not as_json:
        print_line(f"Run {folder.name} of {manifest.story}{', live; Ctrl-C leaves it playing' if is_live else ''}")
    configuration, screen = recorded(folder, now), Screen(as_json=as_json)
    spending, log = Spending(configuration), GrowingFile(folder / RUN_LOG)
    latest, had_news = datetime.fromtimestamp(0, timezone.utc), False
    with ExitStack() as stack:
        try:
            if is_live and screen.console is not None:
                view = LiveView(configuration, folder, spending, Flag(), screen.console)
                screen.view = stack.enter_context(view)
            for number, lines in enumerate(_new_lines(folder, screen, is_live=is_live)):
                events = [line.event for line in lines if line.event is not None]
                for event in events:
                    spending.count(event)
                latest = datetime.fromisoformat(lines[-1].at) if lines else latest
                _show(events, screen, is_first=number == 0)
                if screen.view is not None:
                    _show_activity(log, latest, screen.view, has_news=had_news or bool(events))
                had_news = bool(events)  # a file is written right after its line in the journal
        except KeyboardInterrupt:
            raise typer.Exit(EXIT_STATUS["interrupted"]) from None
    summary = summarise(folder)
    if not as_json:
        shows = f" {program()} runs show {shlex.quote(str(folder))} shows what came of it."
        print_line(f"{common_options.standing(summary, now)}{shows if summary.state == 'done' else ''}")


def _new_lines(folder: Path, screen: Screen, *, is_live: bool) -> Iterator[list[JournalLine]]:
    """Yield the lines of the journal, then if the run is live what is added, which may be nothing.

    It ends when the run has ended, when no process plays it any more, or when the reader of stdout is gone.
    """
    from session.events import RunEnded, RunPaused
    from session.files.journal import JournalFollower
    from session.files.run_folders import is_claimed

    journal, latest_news = JournalFollower(folder), time.monotonic()
    yield journal.new_lines()
    while is_live and not screen.stop.is_set():
        lines = journal.new_lines()
        yield lines
        if lines:
            latest_news = time.monotonic()
            if isinstance(lines[-1].event, RunEnded | RunPaused):
                return
        elif time.monotonic() > latest_news + SILENCE:
            latest_news = time.monotonic()
            if not is_claimed(folder):
                yield journal.new_lines()
                return
        time.sleep(POLL)


def _show(events: list[Event], screen: Screen, *, is_first: bool) -> None:
    """Show events; of those before the first look only how the run began and the latest turns."""
    from session.events import EpisodeStarted, RunStarted, TurnPlayed

    turns = [place for place, event in enumerate(events) if isinstance(event, TurnPlayed | EpisodeStarted)]
    first = turns[-TURNS_BEFORE] if is_first and len(turns) >= TURNS_BEFORE else 0
    for place, event in enumerate(events):
        if place >= first or isinstance(event, RunStarted):
            screen.show(event)
        elif screen.view is not None:
            screen.view.note(event)


def _show_activity(log: GrowingFile, latest: datetime, view: LiveView, *, has_news: bool) -> None:
    """Show what the process that plays does, from its log; ``latest`` is the time of the latest event."""
    from orchestration.run_log import activity_in

    if has_news:
        view.look()
    for activity in filter(None, map(activity_in, log.new_lines())):
        if activity.role is None:
            view.trouble = activity.event
        elif activity.timestamp >= latest:
            view.asks(activity.role, (datetime.now(timezone.utc) - activity.timestamp).total_seconds())
