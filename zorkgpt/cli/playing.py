"""Plays a run at the command line: the screen, the keyboard, downloads, tracing and Ctrl-C."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import NoReturn

import typer

from game_interface.core.commands import ends_session, refusal
from orchestration.parts import Parts, in_folder_of_story, open_parts
from orchestration.run import Run, open_run
from session.errors import ConfigurationError, StoreError, WaitInterrupted
from session.events import EpisodeEnded, Event, ProposalReviewed, observation_in
from session.files.journal import JOURNAL_FILE, read_journal
from session.files.markdown import BYTE_ORDER_MARK
from session.game_configuration import GameConfiguration
from session.processes import install_extra, program
from session.resolved_configuration import ResolvedConfiguration
from session.text import counted, one_line, printable
from session.values import Proposal
from zorkgpt.cli.common_options import REPORT_FILE, resume_command
from zorkgpt.cli.episode_bars import episode_bars
from zorkgpt.cli.screen import LiveView, Screen, download_bar
from zorkgpt.cli.terminal import EXIT_STATUS, handling, print_error, print_folded, print_line, terminal_width
from zorkgpt.report.figures import figures_of, gains_line
from zorkgpt.report.played_run import read_run

OTEL_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_LOG = logging.getLogger(__name__)

FIRST_PROGRESS, PROGRESS_INTERVAL = 1.0, 5.0
"""Seconds of repeating recorded turns until the first line about it, and between two of them."""
COLUMNS = 80  # of bars that are not printed to a terminal
MOST_PROBLEMS = 5  # of a file of memories that are printed


@dataclass(slots=True)
class Watching:
    """A run that is played and shown.

    trace: also gets every event
    repeated: options of this command that ``zorkgpt resume`` needs too, with their values
    delay: seconds to wait before each turn
    """

    configuration: GameConfiguration
    parts: Parts
    screen: Screen
    trace: Callable[[Event], None]
    keyboard: Keyboard
    repeated: tuple[str, ...]
    delay: float = 0.0
    _next_progress: float = 0.0

    def show(self, event: Event) -> None:
        """Put an event on the screen."""
        self.trace(event)
        self.keyboard.see(event)
        self.screen.show(event)

    def repeats(self, done: int, turns: int) -> None:
        """Show how many recorded turns were repeated, if that takes longer than a second."""
        now = time.monotonic()
        self._next_progress = self._next_progress or now + FIRST_PROGRESS
        if now >= self._next_progress and done < turns:
            self._next_progress = now + PROGRESS_INTERVAL
            self.screen.tell(f"Repeating recorded turns: {done:,} of {turns:,}")

    def play(self, run: Run) -> int:
        """Play the run and return the command's exit status. If the run can go on, print how."""
        if memories := run.orchestrator.learning.memories:
            path, problems = memories.memory_file, memories.problems()
            for problem in problems[:MOST_PROBLEMS]:
                print_error(f"zorkgpt: {path}:{problem.line}: {problem.message} Until then it is kept, but not used.")
            if (more := len(problems) - MOST_PROBLEMS) > 0:
                check = f"{program()} memories check --workdir {shlex.quote(str(path.parent))}"
                print_error(f"zorkgpt: {path}: {counted(more, 'more place')} not understood: {check} names all")
        before = [line.event for line in read_journal(run.folder) if line.event is not None]
        if run.is_played and not self.screen.is_json:
            self.screen.show(next(event for event in reversed(before) if isinstance(event, EpisodeEnded)))
        try:
            with self._live(run, before), _stopping_on_interrupt(self.screen, self.keyboard):
                end = run.play(self.delay)
        except KeyboardInterrupt:
            self._print_hint("Stopped. ", run)
            raise
        if not self.screen.is_json:
            self._print_gains(run)
        if end != "done":
            self._print_hint("", run)
        elif not self.screen.is_json and not self.screen.is_quiet:
            workdir = self.configuration.zork_game_workdir
            is_default = workdir.resolve() == GameConfiguration().zork_game_workdir.resolve()
            where = "" if is_default else f" --workdir {shlex.quote(str(workdir))}"
            lines = [f"{program()} report{where} makes a page of this run for the browser."]
            if len([*run.folder.parent.iterdir()]) == 1:
                lines += [f"{program()} status{where} shows the latest state."]
                lines += [f"{program()} memories show{where} prints what is remembered."]
            print_folded(*lines, indent=0)
        return EXIT_STATUS[end]

    @contextmanager
    def _live(self, run: Run, before: Iterable[Event]) -> Iterator[None]:
        """Draw the live view within the block, if stdout is a terminal; ``before`` are the events up to now."""
        console, spending = self.screen.console, run.model.spending
        if console is None:
            yield
            return
        is_new = run.position.episode is None and not run.position.index
        introduction = _introduction(self.configuration) if is_new else ""
        with LiveView(self.configuration, run.folder, spending, self.screen.stop, console, introduction) as view:
            for event in before:
                view.note(event)
            self.screen.view = view
            try:
                yield
            finally:
                self.screen.view = None

    def _print_gains(self, run: Run) -> None:
        """Print what this run has learned and cost, and what each of its episodes has scored."""
        learning = run.orchestrator.learning
        rooms = learning.map.game_map.rooms
        with suppress(StoreError):  # the folder is gone, which the next line says
            played = read_run(run.folder)
            figures, known = figures_of(played), learning.known()
            if line := gains_line(figures, self.configuration, len(rooms), known, run.model.spending):
                print_folded(line, indent=0)
            columns = terminal_width() or COLUMNS
            for bar in episode_bars(played.episodes, figures.episodes, self.configuration, columns):
                print_line(bar)

    def _print_hint(self, news: str, run: Run) -> None:
        """Print how the run goes on, if it can, after the ``news``."""
        if self.screen.is_json:
            return
        if not (run.folder / JOURNAL_FILE).is_file():
            print_line(f"{news}{run.folder} is gone: the run cannot continue.")
            return
        command = resume_command(run.folder, run.model.spending, self.repeated)
        print_line(f"{news}To resume: {command}")


def _introduction(configuration: GameConfiguration) -> str:
    """Return what a person should know of a new run: what it learns, and how it is stopped."""
    agent = configuration.agent
    kinds = {
        "the map": True,
        "routes": configuration.routes.enabled,
        "memories of places": configuration.simple_memory.enabled and agent.uses_models,
        "knowledge of the game": configuration.knowledge.enabled and agent.uses_models,
    }
    learned = ", ".join(kind for kind, is_learned in kinds.items() if is_learned)
    if agent.player == "model":
        learns = f"It learns as it plays, for this episode and later ones: {learned}."
        return f"{learns} Ctrl-C pauses it; {program()} resume continues it."
    return f"{HELP} What you find out is learned: {learned}."


@contextmanager
def watching(
    configuration: GameConfiguration,
    *,
    quiet: bool = False,
    as_json: bool = False,
    step: bool = False,
    delay: float = 0.0,
    repeated: Iterable[tuple[str, object]] = (),
) -> Iterator[Watching]:
    """Open the parts of a run, the screen, the keyboard and the trace. A second Ctrl-C ends the command at once.

    step: let a person decide on each proposal
    repeated: the options that ``zorkgpt resume`` has to be given again, ``None`` for one that was not given
    Raises ``ConfigurationError`` for ``step`` without a terminal, and what ``open_parts`` raises.
    """
    screen = Screen(quiet=quiet, as_json=as_json)
    if step and not (screen.console is not None and sys.stdin.isatty()):
        raise ConfigurationError("--step asks about each command: it needs a terminal, without --quiet and --json")
    keyboard = Keyboard(screen)
    again = tuple(str(part) for option in repeated if option[1] is not None for part in option)
    try:
        with (
            download_bar(quiet=quiet or as_json) as bar,
            spans_of(configuration) as trace,
            open_parts(
                configuration, bar, screen.stop, keyboard.read_command, keyboard.review if step else None
            ) as parts,
        ):
            yield Watching(configuration, replace(parts, asked=screen.asked), screen, trace, keyboard, again, delay)
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_STATUS["interrupted"]) from None


def spans_of(configuration: GameConfiguration) -> AbstractContextManager[Callable[[Event], None]]:
    """Return the listener that sends the run to the OpenTelemetry collector that the environment names, if any."""
    if os.environ.get(OTEL_ENDPOINT):
        try:
            from zorkgpt.telemetry import open_spans
        except ImportError:
            command = install_extra("otel")
            _LOG.warning("%s is set, but no span is sent: `%s` installs what sends them", OTEL_ENDPOINT, command)
        else:
            return open_spans(configuration)
    return nullcontext(lambda _event: None)


@contextmanager
def _stopping_on_interrupt(screen: Screen, keyboard: Keyboard) -> Iterator[None]:
    """Set ``screen.stop``, which cancels a request to a model, at the first signal; interrupt at the second.

    If the keyboard waits for a line, the first signal interrupts that. A closed terminal sends SIGHUP.
    """

    def request(number: int, _frame: object) -> None:
        if screen.stop.is_set() or keyboard.is_waiting:
            raise KeyboardInterrupt
        screen.stop.set()
        if screen.view is None and number != signal.SIGHUP:  # the view shows it
            print_error("\nStopping. Ctrl-C again to leave at once.")

    with handling(request, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        yield


CHOICES = "[Enter] play  [e Enter] edit  [r Enter] refuse  [a Enter] stop asking > "
KEYS = "Enter alone plays it; e, r or a, then Enter, edits it, refuses it or plays on without asking"
LEAVING = "quit"
"""What a person types to end the episode. It is never sent to a story."""
HELP = f"Type a command and Enter; {LEAVING} ends the episode, Ctrl-C pauses it."


class Keyboard:
    """Reads lines from stdin. Ctrl-C instead of a line sets ``screen.stop``.

    is_waiting: whether it waits for a line, so that Ctrl-C has to interrupt it
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.is_waiting = False
        self._reviews = True
        self._awaits_key = False

    def see(self, event: Event) -> None:
        """Note whether the story waits for a key instead of a command."""
        seen = observation_in(event)
        self._awaits_key = self._awaits_key if seen is None else seen.awaits_key

    def read_command(self) -> str | None:
        """Return a command that the story may be given; ``None`` to end the episode, also at the end of the input.

        Raises ``WaitInterrupted`` at Ctrl-C.
        """
        while True:
            line = self.read_line("(a key, then Enter) > " if self._awaits_key else "> ")
            if line is None or line.strip().lower() in ({LEAVING} if self._awaits_key else {LEAVING, "q"}):
                return None
            if self._awaits_key:
                return line if line.strip() else "enter"
            unfit = _unfit(line, f"; {LEAVING} ends the episode") if line.strip() else HELP
            if unfit is None:
                return line
            self._screen.tell(unfit)

    def review(self, proposal: Proposal) -> ProposalReviewed | None:
        """Return the person's decision on a proposal, ``None`` from when the person chooses not to be asked again.

        Raises ``WaitInterrupted`` at Ctrl-C and at the end of the input.
        """
        reason = f"\n  {one_line(proposal.reasoning)}" if proposal.reasoning else ""
        while self._reviews:
            line = self.read_line(CHOICES, f"Proposed: {one_line(proposal.wish)}{reason}")
            if line is None:
                raise WaitInterrupted("no user is there to review the proposals")
            choice, _, more = line.strip().partition(" ")
            if choice in ("", "y", "yes"):
                return ProposalReviewed(proposal.wish, proposal.wish)
            if choice in ("e", "edit"):
                if command := self._edited(more, proposal.action):
                    return ProposalReviewed(proposal.wish, command.strip())
            elif choice in ("r", "refuse"):
                if why := more or self.read_line("Why not? "):
                    return ProposalReviewed(proposal.wish, "", why.strip())
            elif choice in ("a", "all"):
                self._reviews = False
            else:
                self._screen.tell(f"{choice!r} is not a choice: {KEYS}.")
        return None

    def _edited(self, typed: str, proposed: str) -> str | None:
        """Return what to play instead of ``proposed``, "" or ``None`` for nothing; ``typed``: what is typed of it."""
        command = typed or self.read_line("Command: ", begun=proposed)
        while command and not self._awaits_key and (unfit := _unfit(command)):
            self._screen.tell(unfit)
            command = self.read_line("Command: ", begun=command)
        return command

    def read_line(self, prompt: str, above: str = "", begun: str = "") -> str | None:
        """Return what is typed, without its line end; ``None`` at the end of the input.

        In a file or pipe, lines that begin with ``#`` are comments.

        prompt, above: shown on a terminal, at the beginning of the line and above it
        begun: what the line contains at first, to be edited
        Raises ``WaitInterrupted`` at Ctrl-C.
        """
        self.is_waiting = True
        try:
            if sys.stdin.isatty() and sys.stdout.isatty():
                view = self._screen.view
                with view.still(printable(above)) if view else nullcontext(lambda _line: None) as stands:
                    stands(prompt)
                    line = _typed(prompt, begun)
                    stands(f"{prompt}{line or ''}")
                    return line
            lines = (line.removeprefix(BYTE_ORDER_MARK) for line in sys.stdin)
            line = next((line for line in lines if not line.lstrip().startswith("#")), None)
            return None if line is None else line.removesuffix("\n")
        except KeyboardInterrupt:
            self._screen.stop.set()
            raise WaitInterrupted("interrupted") from None
        finally:
            self.is_waiting = False


def _unfit(command: str, way_out: str = "") -> str | None:
    """Return why the story may not be given a command, ``None`` if it may; ``way_out``: what else a person can do."""
    reason = refusal(command)
    if reason and ends_session(command):
        return f"Progress is saved automatically; Ctrl-C pauses and shows how to resume{way_out}."
    return reason


def _typed(prompt: str, begun: str) -> str | None:
    """Return the line that is typed at the terminal. The cursor is on a new line afterwards, whatever ended it."""
    import readline  # lets a person edit the line and go back to earlier ones

    readline.set_startup_hook(lambda: readline.insert_text(begun))
    try:
        return input(prompt)
    except (EOFError, KeyboardInterrupt) as end:
        typer.echo()
        if isinstance(end, KeyboardInterrupt):
            raise
        return None


def play_run(
    resolved: ResolvedConfiguration,
    *,
    episodes: int,
    delay: float = 0.0,
    step: bool = False,
    quiet: bool = False,
    as_json: bool = False,
    report: bool = False,
) -> NoReturn:
    """Play a new run and end the command with its status.

    report: write the run's page into its folder
    """
    configuration = resolved.configuration
    with (
        watching(configuration, quiet=quiet, as_json=as_json, step=step, delay=delay) as watch,
        open_run(
            in_folder_of_story(resolved, watch.parts.game.facts),
            watch.parts,
            episodes=episodes,
            show=watch.show,
            stop=watch.screen.stop,
        ) as played,
    ):
        status = watch.play(played)
    if report and status != EXIT_STATUS["interrupted"]:
        from zorkgpt.report.pages import write_report

        for line in write_report([played.folder], played.folder / REPORT_FILE, configuration):
            print_error(line)
    raise typer.Exit(status)
