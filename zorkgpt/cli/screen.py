"""Shows a run: its events as lines or as JSON, and in a terminal a live view of its state below them."""

from __future__ import annotations

import json
import logging
import math
import sys
import time
from contextlib import contextmanager
from threading import Event as Flag
from threading import RLock, Thread
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from managers.memory.tiers import open_memories
from session.errors import StoreError
from session.events import (
    EVENTS,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    FileEdited,
    GameFailed,
    ModelAnswered,
    ModelFailed,
    OptionsChanged,
    ProvenRoute,
    RoutesProven,
    RunPaused,
    RunStarted,
    TurnPlayed,
)
from session.files.journal import read_manifest
from session.resolved_configuration import as_settings
from session.text import counted, cut_at, one_line
from zorkgpt.cli.map_text import draw_around
from zorkgpt.cli.terminal import discard_stdout, print_error, printable, set_echo
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer
from zorkgpt.report.current_state import CurrentState, read_current_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from typing_extensions import Self

    from managers.memory.document import MemoriesDocument
    from session.events import EpisodeEnd
    from session.game_configuration import GameConfiguration
    from session.values import Location, Observation, TurnRecord
    from zorkgpt.llm.budget import Spending
    from zorkgpt.llm.embedded.model_store import Stage
    from zorkgpt.llm.language_model import Prompt, Role


LONGEST_COMMAND = 200
"""Characters of a command that are shown. A model may answer with pages."""


class Screen(Protocol):
    """Shows events as they happen."""

    def show(self, event: Event) -> None:
        """Show ``event``, if this screen shows events of its kind."""
        ...


class JsonScreen:
    """Prints each event as a line of JSON, as in the journal's ``event`` field; ``out`` is stdout unless given."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out

    def show(self, event: Event) -> None:
        """Print the event, whatever its kind."""
        print(json.dumps(EVENTS.dump_python(event, mode="json")), file=self._out, flush=True)


class PlainScreen:
    """Prints plain lines, for pipes and files.

    out: stdout unless given
    quiet: only how the run begins, and how its episodes and it end
    """

    def __init__(self, out: TextIO | None = None, *, quiet: bool = False) -> None:
        self._out = out
        self.is_quiet = quiet

    def show(self, event: Event) -> None:
        """Print the event if it concerns a reader."""
        if self.is_quiet and not isinstance(event, RunStarted | OptionsChanged | EpisodeEnded | RunPaused):
            return
        if isinstance(event, EpisodeStarted):
            lines = [f"\n=== Episode {event.episode}, seed {event.seed} ===\n", event.opening.text.strip()]
        elif isinstance(event, TurnPlayed):
            record = event.record
            lines = ["", f"[Turn {record.turn}, {event.seconds:.1f} s] {' | '.join(_place_and_score(record.after))}"]
            lines += [f"  ({record.reasoning})"] if record.reasoning else []
            lines += [*_rejected(record), f"> {_command(record.action)}", record.after.text.strip()]
        else:
            lines = _news(event)
        for line in lines:
            print(printable(line), file=self._out, flush=True)


class LiveScreen:
    """Draws colours and frames, for a person at a terminal."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)

    def show(self, event: Event) -> None:
        """Draw the event if it concerns a reader."""
        if isinstance(event, EpisodeStarted):
            self.console.rule(f"Episode {event.episode} · seed {event.seed}", style="bold")
            self.console.print(Text(printable(event.opening.text.strip())))
        elif isinstance(event, TurnPlayed):
            self.console.print(self._turn(event.record, event.seconds))
        else:
            for line in _news(event):
                self.console.print(Text(printable(line), style="bold"))

    def _turn(self, record: TurnRecord, seconds: float) -> Panel:
        parts = []
        if record.reasoning:
            parts.append(Text(printable(record.reasoning), style="italic dim"))
        parts += [Text(line, style="yellow") for line in map(printable, _rejected(record))]
        parts.append(Text(f"> {printable(_command(record.action))}", style="bold cyan"))
        parts.append(Text(printable(record.after.text.strip())))
        return Panel(
            Group(*parts),
            title=Text(f"Turn {record.turn} · {seconds:.1f} s", style="dim"),
            title_align="left",
            subtitle=Text(printable(" · ".join(_place_and_score(record.after))), style="green"),
            subtitle_align="right",
            border_style="green" if (record.score_change or 0) > 0 else "dim",
        )


def _news(event: Event) -> list[str]:
    """Return what there is to report besides the turns. Names and reasons add no lines of their own."""
    if isinstance(event, RunStarted):
        help_given = f", assisted by {', '.join(event.assistance)}," if event.assistance else ""
        lines = [
            f"{event.model}{help_given} plays {event.story_choice}",
            f"{counted(event.episodes, 'episode')} of at most {counted(event.max_turns, 'turn')}, in {event.folder}",
        ]
    elif isinstance(event, EpisodeEnded):
        score = "score unknown"
        if event.score is not None:
            score = f"score {event.score}" + ("" if event.max_score is None else f" of {event.max_score}")
        end = f"Episode {event.episode} {_ENDS[event.end]} after {counted(event.turns, 'turn')}"
        lines = [f"{end}: {score}, {counted(event.rooms, 'room')}, {event.seconds:.0f} s"]
    elif isinstance(event, OptionsChanged):
        lines = [f"From here on {event.model} plays, with {as_settings(event.options)}"]
    else:
        lines = _trouble(event)
    return list(map(one_line, lines))


def _trouble(event: Event) -> list[str]:
    if isinstance(event, ModelFailed) and event.role != "agent":
        return [f"The {event.role} model gave no answer: {event.error}"]
    if isinstance(event, RunPaused):
        where = f" in episode {event.episode} after {counted(event.turns, 'turn')}" if event.episode else ""
        return [f"Paused{where}: {event.reason}"]
    if isinstance(event, GameFailed):
        return [f"The interpreter failed and was restored: {event.error}"]
    if isinstance(event, RoutesProven):
        return [_proven(route) for route in event.routes]
    if isinstance(event, FileEdited):
        return [f"{event.file} was changed from outside this run, and is read again."]
    return []


def _proven(route: ProvenRoute) -> str:
    commands = counted(route.commands, "command")
    trials = [
        (len(form.steps), f"worked in {form.proof.worked} of {form.proof.tried} trials")
        for form in route.forms
        if form.proof is not None
    ]
    if [length for length, _ in trials] == [route.commands]:
        return f"Route {route.number} was tried out: its {commands} {trials[0][1]}"
    forms = " or ".join(f"{length} ({worked})" for length, worked in trials)
    return f"Route {route.number} was tried out: {commands} became {forms}"


_ENDS: Mapping[EpisodeEnd, str] = {
    "won": "won",
    "lost": "lost",
    "over": "came to its end",
    "crashed": "broke off, because the story's program failed,",
    "turn_limit": "stopped at the turn limit",
    "left": "was left",
}


def _rejected(record: TurnRecord) -> list[str]:
    pairs = list(zip(record.proposals, record.verdicts, strict=True))[:-1]
    return [f"not played: {_command(one.action)} ({verdict.reason})" for one, verdict in pairs if not verdict.accepted]


def _command(action: str) -> str:
    return cut_at(one_line(action), LONGEST_COMMAND)


def _place_and_score(observation: Observation) -> list[str]:
    shown = [observation.location.label] if observation.location else []
    if observation.score is not None:
        shown.append(f"score {observation.score}")
    return shown


def screen_for(*, quiet: bool, as_json: bool) -> Screen:
    """Return the screen that fits stdout and the options."""
    if as_json:
        return JsonScreen()
    if quiet or not sys.stdout.isatty():
        return PlainScreen(quiet=quiet)
    return LiveScreen()


class WatchedScreen:
    """Shows events on ``screen``, which may be replaced, as long as stdout can be written.

    If its reader is gone (``| head``), ``stop`` is set. If it fails for another reason, such as a full disk, play goes
    on: the journal has all events.
    """

    def __init__(self, screen: Screen, stop: Flag) -> None:
        self.screen = screen
        self._stop = stop

    def show(self, event: Event) -> None:
        """Show an event."""
        try:
            self.screen.show(event)
        except BrokenPipeError:
            discard_stdout()
            self._stop.set()
        except OSError as error:
            discard_stdout()
            print_error(f"zorkgpt: nothing more is shown, only journaled: {error.strerror}")


REFRESHES = 5  # a second, so that the spinner turns
HIGH = 36  # rows of a terminal from which lists have several lines, and the map is beside them
LIST_COLUMNS, LIST_LINES = 50, 12  # minimal columns of a list, and maximal lines of all lists in a column
_UP_AND_CLEAR = "\x1b[{}A\r\x1b[J"  # so many lines up, and clear everything below
CURVE = "▁▂▃▄▅▆▇█"
CURVE_LENGTH = 20
THINKERS = {
    "agent": "the agent thinks",
    "critic": "the critic judges",
    "info_ext": "the answer is read",
    "memory": "a memory is written",
    "analysis": "what is known is gone over",
}
_LISTS = {"Objectives": "ObjectiveManager", "Remembered here": "SimpleMemoryManager", "Routes": "RouteManager"}


class _Walk(NamedTuple):
    """A move from one location to another."""

    start: Location
    exit: str
    to: Location


class LiveView:
    """Shows the state of a run below its events, which scroll as on a :class:`LiveScreen`.

    folder: of the run; the files of its work folder contain the objectives, memories, routes and the map
    spending: what the run has spent so far
    stop: set when the run is to stop
    introduction: shown until the first turn is played
    """

    def __init__(
        self,
        configuration: GameConfiguration,
        folder: Path,
        spending: Spending,
        stop: Flag,
        console: Console,
        introduction: str = "",
    ) -> None:
        manifest = read_manifest(folder)
        self._configuration = configuration
        self._run, self._workdir = folder.name, folder.parent.parent
        self._episodes = len(manifest.seeds)
        self._first_episode = manifest.first_episode
        self._spending = spending
        self._stop = stop
        self._introduction = introduction
        self._console = console
        self._screen = LiveScreen(console)
        self._spinner = Spinner("dots")
        self._log = _LogToView(self)
        self._memories = self._read_memories()
        self._state: CurrentState | None = None
        self._map = MapGraph()
        self._movements = MovementAnalyzer()
        self._walked: list[_Walk] = []
        self._seen: Observation | None = None
        self._episode, self._turn = manifest.first_episode, 0
        self._scores: list[int] = []
        self._prompt_tokens = self._cached_tokens = 0
        self.activity, self._since, self.trouble = "the story is opened", time.monotonic(), ""
        self._live = self._new_live()
        self._drawing = RLock()  # printing while the panel's height changes leaves lines behind
        self._is_over = Flag()
        self._refreshing = Thread(target=self._refresh, daemon=True)

    def _new_live(self) -> Live:
        return Live(console=self._console, get_renderable=self._panel, auto_refresh=False, transient=True)

    def _refresh(self) -> None:
        while not self._is_over.wait(1 / REFRESHES):
            with self._drawing:
                if self._live.is_started:
                    self._live.refresh()

    def __enter__(self) -> Self:
        self._log.begin()
        self.look()
        set_echo(on=False)  # what is typed ahead would appear within the panel
        self._live.start(refresh=True)
        self._refreshing.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.look()
        self._is_over.set()
        self._refreshing.join()
        self._live.stop()
        set_echo(on=True)
        self._log.end()

    @contextmanager
    def still(self, below: str = "") -> Iterator[Callable[[str], None]]:
        """Stop drawing within the block, so that a line can be typed below the panel.

        below: printed between the panel and the line
        The block calls what it gets with the line as it was typed: it may take several rows, which are cleared later.
        """
        self.look()
        with self._drawing:
            self._live.stop()
        shown = Group(self._known(), *([Text(below, style="bold cyan")] if below else []))
        lines = len(self._console.render_lines(shown))
        self._console.print(shown)
        set_echo(on=True)
        typed = [""]
        try:
            yield typed.append
        finally:
            set_echo(on=False)
            rows = max(1, math.ceil(cell_len(typed[-1]) / self._console.width))
            self._console.file.write(_UP_AND_CLEAR.format(lines + rows))
            with self._drawing:
                self._live = self._new_live()
                self._live.start(refresh=True)

    def asked(self, role: Role, _prompt: Prompt) -> None:
        """Show that a model is being asked."""
        self.look()
        self.asks(role)

    def asks(self, role: Role, ago: float = 0.0) -> None:
        """Show which role's model is being asked, and for how many seconds already."""
        self._does(THINKERS[role], ago)

    def show(self, event: Event) -> None:
        """Print the event if it concerns a reader, and update the panel."""
        with self._drawing:
            self.note(event)
            self._screen.show(event)

    def note(self, event: Event) -> None:
        """Update the panel without printing the event."""
        if isinstance(event, ModelAnswered | ModelFailed):
            self._prompt_tokens += event.prompt_tokens
            self._cached_tokens += event.cached_tokens
            self._does("the story answers")
        elif isinstance(event, RunStarted):
            self._movements = MovementAnalyzer(event.story.directions)
        elif isinstance(event, EpisodeStarted):
            self._episode, self._turn, self._seen, self._scores = event.episode, 0, event.opening, []
            self._state = None
        elif isinstance(event, TurnPlayed):
            self._turn, self._seen = event.record.turn, event.record.after
            self._walk(event.record)
            self._introduction = ""
            self._scores[self._turn - 1 :] = [] if self._seen.score is None else [self._seen.score]
            self._does("what it showed is learnt")

    def _walk(self, record: TurnRecord) -> None:
        """Keep a move, because the map's file is some turns behind."""
        attempt, start, to = self._movements.attempt(record), record.before.location, record.after.location
        if attempt is not None and attempt.to_id is not None and start is not None and to is not None:
            self._walked.append(_Walk(start, attempt.exit, to))

    def tell(self, line: str) -> None:
        """Print a line above the panel."""
        with self._drawing:
            self._console.print(Text(printable(line), style="magenta"))

    def _does(self, activity: str, ago: float = 0.0) -> None:
        self.activity, self._since, self.trouble = activity, time.monotonic() - ago, ""

    def look(self) -> None:
        """Read the work folder's files, and print new memories. Files that cannot be read are shown as before."""
        with self._drawing:
            self._look()

    def _look(self) -> None:
        try:
            state = read_current_state(self._workdir)
            graph = MapGraph.read(self._workdir / self._configuration.map_state_file)
        except StoreError:
            return
        is_of_episode = state is not None and (state.run, state.episode) == (self._run, self._episode)
        self._state = state if is_of_episode else None
        self._map = graph or MapGraph()
        for walk in self._walked:
            for room in (walk.start, walk.to):
                self._map.add_room(room.num, room.name)
            self._map.add_connection(walk.start.num, walk.exit, walk.to.num)
        memories = self._read_memories()
        if memories is not None and self._memories is not None and memories != self._memories:
            for change in memories.changes_since(self._memories):
                memory = change.memory
                text = f"{memory.title}: {one_line(memory.text)}" if memory.text else memory.title
                kind = "learnt" if change.kind == "added" else change.kind
                self.tell(f"  {kind}: {text} ({memory.persistence})")
        self._memories = memories or self._memories

    def _read_memories(self) -> MemoriesDocument | None:
        try:
            return open_memories(self._workdir / self._configuration.simple_memory.memory_file).document
        except StoreError:
            return None

    def _panel(self) -> RenderableType:
        return Group(self._known(), self._activity())

    def _known(self) -> RenderableType:
        width, seen = self._console.width, self._seen
        present = self._state.present if self._state else {}
        lists = {
            title: [printable(one_line(each)) for each in present.get(manager, ())] for title, manager in _LISTS.items()
        }
        things = (seen.inventory if seen else None) or ()
        carried = _on_a_line("Carrying", [printable(one_line(thing.name)) for thing in things], width)
        body: RenderableType
        if self._console.height < HIGH:
            body = _text([_on_a_line(title, entries, width) for title, entries in lists.items()])
        else:
            here = seen.location.num if seen and seen.location else None
            drawing = draw_around(self._map, here) if here is not None and here in self._map.rooms else []
            body = _side_by_side(lists, drawing, width)
        above = [Text(self._introduction, style="italic")] if self._introduction else []
        return Group(Text("─" * width, style="dim"), *above, self._heading(), _text([carried]), body)

    def _heading(self) -> Text:
        seen = self._seen
        is_limited = self._configuration.agent.player == "model"
        of = f" of {self._configuration.max_turns_per_episode}" if is_limited else ""
        parts = [f"Turn {self._turn}{of}"]
        if self._episodes > 1:
            place = f"{self._episode - self._first_episode + 1} of {self._episodes}"
            parts.insert(0, f"Episode {self._episode} ({place})")
        if seen is not None and seen.location:
            parts.append(seen.location.label)
        if seen is not None and seen.score is not None:
            most = "" if seen.max_score is None else f" of {seen.max_score}"
            parts.append(f"score {seen.score}{most} {_curve(self._scores)}")
        return Text(printable(" · ".join(parts)), style="bold", no_wrap=True, overflow="ellipsis")

    def _activity(self) -> Text:
        spent = [f"{self._spending.tokens:,} tokens"]
        if self._cached_tokens:
            spent.append(f"{self._cached_tokens / self._prompt_tokens:.0%} cached")
        if self._spending.dollars:
            spent.append(f"${self._spending.dollars:.4f}")
        activity = "stopping; Ctrl-C again: at once" if self._stop.is_set() else self.activity
        seconds = time.monotonic() - self._since
        parts = [f"{activity}, {seconds:.0f} s", *spent, *([self.trouble] if self.trouble else [])]
        sign = Text(str(self._spinner.render(time.monotonic())))
        return Text.assemble(sign, " ", printable(one_line(" · ".join(parts))), no_wrap=True, overflow="ellipsis")


def _on_a_line(title: str, entries: list[str], width: int) -> str:
    """Return the title and as many entries as fit on the line, at least one; … replaces the others."""
    lines = [f"{title}: {'; '.join(_first(entries, shown))}" for shown in range(len(entries), 0, -1)]
    return next((line for line in lines if cell_len(line) <= width), lines[-1] if lines else f"{title}: -")


def _first(entries: list[str], shown: int) -> list[str]:
    return entries[:shown] + ["…"] * (shown < len(entries))


def _side_by_side(lists: Mapping[str, list[str]], drawing: list[str], width: int) -> Table:
    """Return the lists in columns of equal width, and to the right of them the drawing, if there is room.

    Lists without entries are at the bottom of the last column.
    """
    drawn = max(map(cell_len, drawing), default=0)
    if width - drawn < LIST_COLUMNS:
        drawing, drawn = [], 0
    most = max(1, (width - drawn) // LIST_COLUMNS)
    full = [title for title, entries in lists.items() if entries]
    columns = [[title] for title in full[:most]] or [[]]
    columns[-1] += [*full[most:], *(title for title in lists if title not in full)]
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in columns:
        grid.add_column(width=(width - drawn) // len(columns) - 2)
    grid.add_column(no_wrap=True, width=drawn)
    stacks = [_stacked({title: lists[title] for title in column}) for column in columns]
    grid.add_row(*map(_text, stacks), Text("\n".join(drawing)))
    return grid


def _stacked(lists: Mapping[str, list[str]]) -> list[str]:
    """Return the lists below each other, with as many entries of each as leave room for the others."""
    lines: list[str] = []
    for most in range(LIST_LINES, 0, -1):
        lines = []
        for title, entries in lists.items():
            lines += [f"{title}:", *_first(entries, most)] if entries else [f"{title}: -"]
        if len(lines) <= LIST_LINES:
            break
    return lines


def _text(lines: list[str]) -> Text:
    return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")


def _curve(scores: list[int]) -> str:
    """Return the latest scores as a row of bars."""
    shown = scores[-CURVE_LENGTH:]
    lowest, highest = min(shown, default=0), max(shown, default=0)
    if lowest == highest:
        return ""
    return "".join(CURVE[(score - lowest) * (len(CURVE) - 1) // (highest - lowest)] for score in shown)


class _LogToView(logging.Handler):
    """Shows log messages: warnings above the panel, and why a model is asked again in its last line."""

    def __init__(self, view: LiveView) -> None:
        super().__init__(logging.INFO)
        self._view = view
        self._replaced: list[logging.Handler] = []
        self._level = logging.NOTSET

    def begin(self) -> None:
        """Replace all handlers."""
        root, models = logging.getLogger(), logging.getLogger("zorkgpt.llm")
        self._replaced, root.handlers = root.handlers, [self]
        self._level = models.level
        models.setLevel(logging.INFO)

    def end(self) -> None:
        """Restore all handlers."""
        logging.getLogger().handlers = self._replaced
        logging.getLogger("zorkgpt.llm").setLevel(self._level)

    def emit(self, record: logging.LogRecord) -> None:
        """Show the message."""
        if record.levelno >= logging.WARNING:
            self._view.tell(record.getMessage())
        else:
            self._view.trouble = record.getMessage()


_DESCRIPTIONS: dict[Stage, str] = {
    "waiting": "Another process fetches the embedded model, waiting",
    "fetching": "Fetching the embedded model",
    "unpacking": "Unpacking and checking it",
}


class DownloadBar:
    """Shows the progress of the model store on stderr, from its first report to ``ready`` or the end of the context.

    quiet: show nothing
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=quiet,
        )
        self._task = self._bar.add_task("")

    def __call__(self, stage: Stage, done: int, total: int) -> None:
        """Show ``done`` of ``total`` bytes of ``stage``."""
        if stage == "ready":
            self.__exit__()
            return
        self._bar.start()
        self._bar.update(self._task, description=_DESCRIPTIONS[stage], completed=done, total=total)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar.live.is_started:  # stopping a bar that was never drawn prints an empty line
            self._bar.stop()
