"""Shows a run: its events as lines or as JSON, and in a terminal a live view of its state below them."""

from __future__ import annotations

import json
import logging
import math
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from threading import Event as Flag
from threading import RLock, Thread

import typer
from pydantic import BaseModel
from rich.cells import cell_len
from rich.console import Console, ConsoleRenderable, Group, RenderableType
from rich.control import Control
from rich.live import Live
from rich.panel import Panel
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import ControlType, Segment
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text
from typing_extensions import Self, override

from managers.known import Kind
from managers.memory.document import MemoriesDocument, open_memories
from session.errors import StoreError
from session.events import (
    EVENTS,
    EpisodeEnd,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    FileEdited,
    GameFailed,
    ModelAnswered,
    ModelFailed,
    OptionsChanged,
    RoutesProven,
    RunPaused,
    RunStarted,
    TurnPlayed,
)
from session.files.journal import read_manifest
from session.game_configuration import GameConfiguration
from session.resolved_configuration import as_settings
from session.text import counted, cut_at, one_line, out_of, printable, who_plays
from session.values import Observation, TurnRecord
from zorkgpt.cli.common_options import PERSONS_TURNS
from zorkgpt.cli.map_text import draw_around, ways_in_words
from zorkgpt.cli.terminal import LogTo, discard_stdout, folded, print_error, print_line, set_echo
from zorkgpt.llm.budget import Spending
from zorkgpt.llm.embedded.model_store import Stage
from zorkgpt.llm.language_model import Prompt, Role
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer
from zorkgpt.report.played_run import CurrentState, read_current_state

LONGEST_COMMAND = 200
"""Characters of a command that are shown. A model may answer with pages."""


class Screen:
    """Shows events on stdout as they happen: in a terminal with colours and frames, else as plain lines.

    If stdout fails for another reason than a reader that is gone, such as a full disk, play goes on: the journal has
    all events.

    quiet: print plain lines, and only how the run begins, and how its episodes and it end
    as_json: print each event as a line of JSON, as in the journal's ``event`` field
    console: of the terminal; ``None`` if events are printed as lines
    view: drawn below the events, if it is set
    stop: set if the reader of stdout is gone (``| head``), and by Ctrl-C
    """

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.is_quiet, self.is_json = quiet, as_json
        is_drawn = sys.stdout.isatty() and not quiet and not as_json
        self.console = Console(highlight=False) if is_drawn else None
        self.view: LiveView | None = None
        self.stop = Flag()

    def show(self, event: Event) -> None:
        """Show an event."""
        try:
            if self.is_json:
                typer.echo(json.dumps(EVENTS.dump_python(event, mode="json")))
            elif self.view is not None:
                self.view.show(event)
            elif self.console is not None:
                draw(event, self.console)
            else:
                for line in plain_lines(event, quiet=self.is_quiet):
                    print_line(line)
        except BrokenPipeError:
            discard_stdout()
            self.stop.set()
        except OSError as error:
            discard_stdout()
            print_error(f"zorkgpt: nothing more is shown, only journaled: {error.strerror}")

    def asked(self, role: Role, _prompt: Prompt, _schema: type[BaseModel]) -> None:
        """Show that a model is being asked."""
        if self.view is not None:
            self.view.asks(role)

    def tell(self, line: str) -> None:
        """Print a line that is not an event, except among lines of JSON."""
        if self.view is not None:
            self.view.tell(line)
        elif not self.is_json:
            print_line(line)


def plain_lines(event: Event, *, quiet: bool = False) -> list[str]:
    """Return the lines about the event, none if it does not concern a reader."""
    if quiet and not isinstance(event, RunStarted | OptionsChanged | EpisodeEnded | RunPaused):
        return []
    if isinstance(event, EpisodeStarted):
        return [f"\n=== Episode {event.episode}, seed {event.seed} ===\n", event.opening.text.strip()]
    if not isinstance(event, TurnPlayed):
        return _news(event)
    record = event.record
    lines = ["", f"[Turn {record.turn}, {event.seconds:.1f} s] {' | '.join(_place_and_score(record.after))}"]
    lines += [f"  ({record.reasoning})"] if record.reasoning else []
    return [*lines, *_rejected(record), f"> {_command(record.action)}", record.after.text.strip()]


def draw(event: Event, console: Console) -> None:
    """Print the event with colours and frames, if it concerns a reader."""
    if isinstance(event, EpisodeStarted):
        console.rule(f"Episode {event.episode} · seed {event.seed}", style="bold")
        console.print(Text(printable(event.opening.text.strip())))
    elif isinstance(event, TurnPlayed):
        record = event.record
        parts = [Text(printable(record.reasoning), style="italic")] if record.reasoning else []
        parts += [Text(printable(line), style="yellow") for line in _rejected(record)]
        parts.append(Text(f"> {printable(_command(record.action))}", style="bold cyan"))
        parts.append(Text(printable(record.after.text.strip())))
        panel = Panel(
            Group(*parts),
            title=Text(f"Turn {record.turn} · {event.seconds:.1f} s", style="dim"),
            title_align="left",
            subtitle=Text(printable(" · ".join(_place_and_score(record.after))), style="green"),
            subtitle_align="right",
            border_style="green" if (record.score_change or 0) > 0 else "dim",
        )
        console.print(panel)
    else:
        for line in _news(event):
            console.print(Text(printable(line), style="bold"))


def _news(event: Event) -> list[str]:
    """Return what there is to report besides the turns. Names and reasons add no lines of their own."""
    lines: list[str] = []
    match event:
        case RunStarted():
            help_given = f", assisted by {', '.join(event.assistance)}," if event.assistance else ""
            length = counted(event.episodes, "episode")
            length += "" if event.max_turns == PERSONS_TURNS else f" of at most {counted(event.max_turns, 'turn')}"
            player = who_plays(event.player, event.model, event.server, event.engine, event.model_choice)
            lines = [f"{player}{help_given} plays {event.story_choice}", f"{length}, in {event.folder}"]
        case EpisodeEnded():
            score = "score unknown" if event.score is None else f"score {out_of(event.score, event.max_score)}"
            end = f"Episode {event.episode} {_ENDS[event.end]} after {counted(event.turns, 'turn')}"
            rooms = f", {counted(event.rooms, 'room')}" if event.rooms else ""
            lines = [f"{end}: {score}{rooms}, {event.seconds:.0f} s"]
        case OptionsChanged():
            player = who_plays("", event.model, event.server, event.engine)
            lines = [f"From here on {player} plays, with {as_settings(event.options)}"]
        case ModelFailed() if event.role != "agent":
            lines = [f"The {event.role} model gave no answer: {event.error}"]
        case RunPaused():
            where = f" in episode {event.episode} after {counted(event.turns, 'turn')}" if event.episode else ""
            lines = [f"Paused{where}: {event.reason}"]
        case GameFailed():
            lines = [f"The interpreter failed and was restored: {event.error}"]
        case RoutesProven():
            lines = [_proven(event)]
        case FileEdited():
            lines = [f"{event.file} was changed from outside this run, and is read again."]
    return list(map(one_line, lines))


def _proven(event: RoutesProven) -> str:
    """Return in a line what came of the trials; the best route is the one that promises the most points."""
    count = len(event.routes)
    line = f"{counted(count, 'route')} {'was' if count == 1 else 'were'} tried out"
    worked = [[form for form in route.forms if form.proof and form.proof.worked] for route in event.routes]
    best = max(chain.from_iterable(worked), key=lambda form: (form.promise(), -len(form.steps)), default=None)
    if best is None or best.proof is None or best.gain() <= 0:
        return f"{line}; {sum(map(bool, worked))} worked again"
    trials = "" if best.proof.worked == best.proof.tried else f" in {best.proof.worked} of {best.proof.tried} trials"
    return f"{line}; the best{trials}: +{best.gain()} in {counted(len(best.steps), 'command')}"


_ENDS: Mapping[EpisodeEnd, str] = {
    "won": "won",
    "lost": "lost",
    "over": "came to its end",
    "crashed": "broke off, because the story's program failed,",
    "turn_limit": "stopped at the turn limit",
    "stuck": "stopped because nothing was gained (max-stuck)",
    "left": "was left",
}


def _rejected(record: TurnRecord) -> list[str]:
    return [f"not played: {_command(wish)} ({reason})" for wish, reason in record.rejections]


def _command(action: str) -> str:
    return cut_at(one_line(action), LONGEST_COMMAND)


def _place_and_score(observation: Observation) -> list[str]:
    shown = [observation.location.label] if observation.location else []
    if observation.score is not None:
        shown.append(f"score {observation.score}")
    return shown


REFRESHES = 5  # a second, so that the spinner turns
HIGH = 36  # rows of a terminal from which lists have several lines, and the map is beside them
LIST_COLUMNS = 50  # at least, of the lists beside the map
_UP_AND_CLEAR = "\x1b[{}A\r\x1b[J"  # so many lines up, and clear everything below
CURVE = "▁▂▃▄▅▆▇█"
CURVE_LENGTH = 20
THINKERS = {
    "agent": "the agent thinks",
    "critic": "the critic judges",
    "info_ext": "the answer is read",
    "memory": "a memory is written",
    "analysis": "updating the knowledge",
}
_LISTS: Mapping[str, Kind] = {"Objectives": "objective", "Remembered here": "memory", "Routes": "route"}


class _Panel(Live):
    """Clears all rows of a panel, also those that it got when the terminal became narrower and wrapped its lines."""

    _drawn: tuple[int, ...] = ()  # columns of each of its lines

    @override
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        if not self.console.is_interactive:
            return super().process_renderables(renderables)
        wrapped = sum(max(0, columns - 1) // self.console.width for columns in self._drawn)
        clear = Control(*((ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1)) * wrapped)
        processed = super().process_renderables(renderables)
        lines = self.console.render_lines(processed[-1], pad=False)
        self._drawn = tuple(map(Segment.get_line_length, lines))
        return [clear, *processed]


class LiveView:
    """Shows the state of a run below its events, which scroll.

    folder: of the run; the files of its work folder contain the objectives, memories, routes and the map
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
        self._spinner = Spinner("dots")
        self._memories: MemoriesDocument | None = None
        self._state: CurrentState | None = None
        self._map = MapGraph()
        self._movements = MovementAnalyzer()
        self._moves: list[TurnRecord] = []  # because the map's file is some turns behind
        self._seen: Observation | None = None
        self._texts: deque[str] = deque(maxlen=4)  # of the story, printed lately
        self._episode, self._turn = manifest.first_episode, 0
        self._scores: list[int] = []
        self._prompt_tokens = self._cached_tokens = 0
        self.activity, self._since, self.trouble = "the story is opened", time.monotonic(), ""
        self._live = self._new_live()
        self._drawing = RLock()  # printing while the panel's height changes leaves lines behind
        self._is_over = Flag()
        self._refreshing = Thread(target=self._refresh, daemon=True)

    def _new_live(self) -> Live:
        return _Panel(console=self._console, get_renderable=self._panel, auto_refresh=False, transient=True)

    def _refresh(self) -> None:
        while not self._is_over.wait(1 / REFRESHES):
            with self._drawing:
                if self._live.is_started:
                    self._live.refresh()

    def __enter__(self) -> Self:
        root, models = logging.getLogger(), logging.getLogger("zorkgpt.llm")
        self._logging_before = root.handlers, models.level
        root.handlers = [LogTo(self._log, logging.INFO)]
        models.setLevel(logging.INFO)
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
        root, models = logging.getLogger(), logging.getLogger("zorkgpt.llm")
        root.handlers, level = self._logging_before
        models.setLevel(level)

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

    def asks(self, role: Role, ago: float = 0.0) -> None:
        """Show which role's model is being asked, and for how many seconds already."""
        self.look()
        self._does(THINKERS[role], ago)

    def show(self, event: Event) -> None:
        """Print the event if it concerns a reader, and update the panel."""
        with self._drawing:
            self.note(event)
            draw(event, self._console)

    def note(self, event: Event) -> None:
        """Update the panel without printing the event."""
        if isinstance(event, ModelAnswered | ModelFailed):
            self._prompt_tokens += event.prompt_tokens
            self._cached_tokens += event.cached_tokens
            self._does("the story answers" if event.role in ("agent", "critic") else "what it showed is learned")
        elif isinstance(event, RunStarted):
            self._movements = MovementAnalyzer(event.story.directions)
        elif isinstance(event, EpisodeStarted):
            self._episode, self._turn, self._seen, self._scores = event.episode, 0, event.opening, []
            self._state = None
            self._texts.append(one_line(event.opening.text))
        elif isinstance(event, TurnPlayed):
            self._turn, self._seen = event.record.turn, event.record.after
            self._texts.append(one_line(self._seen.text))
            self._moves += [event.record] if event.record.moved else []
            self._introduction = ""
            self._scores[self._turn - 1 :] = [] if self._seen.score is None else [self._seen.score]
            self._does("what it showed is learned")

    def tell(self, line: str) -> None:
        """Print a line above the panel."""
        with self._drawing:
            self._console.print(Text(printable(line), style="magenta"))

    def _log(self, record: logging.LogRecord) -> None:
        """Show a warning above the panel, and why a model is asked again in its last line."""
        if record.levelno >= logging.WARNING:
            self.tell(record.getMessage())
        else:
            self.trouble = record.getMessage()

    def _does(self, activity: str, ago: float = 0.0) -> None:
        self.activity, self._since, self.trouble = activity, time.monotonic() - ago, ""

    def look(self) -> None:
        """Read the work folder's files, and print new memories. If one cannot be read, all are shown as before."""
        with self._drawing:
            try:
                state = read_current_state(self._workdir)
                graph = MapGraph.read(self._workdir / self._configuration.map_state_file) or MapGraph()
                memories = open_memories(self._workdir / self._configuration.simple_memory.memory_file).document
            except StoreError:
                return
            is_of_episode = state is not None and (state.run, state.episode) == (self._run, self._episode)
            self._state = state if is_of_episode else None
            self._map = graph
            for record in self._moves:
                attempt = self._movements.attempt(record, graph)
                start, to = record.before.location, record.after.location
                if attempt is not None and attempt.to_id is not None and start is not None and to is not None:
                    for room in (start, to):
                        graph.add_room(room.num, room.name)
                    graph.add_connection(start.num, attempt.exit, to.num)
            for change in memories.changes_since(self._memories) if self._memories is not None else ():
                memory = change.memory
                is_new = not any(one_line(memory.text).strip('"') in text for text in self._texts)
                text = f"{memory.title}: {one_line(memory.text)}" if memory.text and is_new else memory.title
                kind = "learned" if change.kind == "added" else change.kind
                self.tell(f"  {kind}: {text} ({memory.persistence})")
            self._memories = memories

    def _panel(self) -> RenderableType:
        return Group(self._known(), self._activity())

    def _known(self) -> RenderableType:
        width, seen = self._console.width, self._seen
        state, here = self._state, seen.location_id if seen else None
        present = dict(state.present) if state else {}
        if state and (state.location is None or state.location.id != here):  # the file is some turns behind
            present.pop("memory", None)
        if state and state.turn != self._turn:
            present.pop("route", None)
        lists = {title: [printable(one_line(each)) for each in present.get(kind, ())] for title, kind in _LISTS.items()}
        things = [printable(one_line(thing.name)) for thing in (seen.inventory if seen else None) or ()]
        drawing: list[str] = []
        if here is not None and here in self._map.rooms:
            drawing, other = draw_around(self._map, here) if self._console.height >= HIGH else ([], [])
            if width - max(map(cell_len, drawing), default=0) < LIST_COLUMNS:
                drawing = []
            ways = "; ".join(other if drawing else ways_in_words(self._map, here))
            lists = {"Other ways" if drawing else "Ways": [printable(ways)] if ways else [], **lists}
        lists = {title: entries for title, entries in lists.items() if entries}
        body: RenderableType = _cut("\n".join(f"{title}: {'; '.join(entries)}" for title, entries in lists.items()))
        if self._console.height >= HIGH:
            columns = width - max(map(cell_len, drawing), default=0) - 2
            body = Table.grid(padding=(0, 2, 0, 0))
            body.add_column(width=columns)
            lines = _stacked(lists, columns, self._console.height // 3)
            body.add_row(_cut("\n".join(lines)), Text("\n".join(drawing), no_wrap=True))
        above = [Text(self._introduction, style="italic")] if self._introduction else []
        below: list[RenderableType] = [_cut(f"Carrying: {'; '.join(things)}")] if things else []
        below += [body] if lists or drawing else []
        return Group(Text("─" * width, style="dim"), *above, self._heading(), *below)

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
            shown = self._scores[-CURVE_LENGTH:]
            lowest, span = min(shown, default=0), max(shown, default=0) - min(shown, default=0)
            curve = (CURVE[(score - lowest) * (len(CURVE) - 1) // span] for score in shown if span)
            parts.append(f"score {out_of(seen.score, seen.max_score)} {''.join(curve)}")
        return _cut(printable(" · ".join(parts)), style="bold")

    def _activity(self) -> Text:
        spent = [f"{self._spending.tokens:,} tokens{' counted' if self._spending.uncounted else ''}"]
        if self._cached_tokens:
            spent.append(f"{self._cached_tokens / self._prompt_tokens:.0%} cached")
        if self._spending.dollars:
            spent.append(f"${self._spending.dollars:.4f}{' priced' if self._spending.unpriced else ''}")
        activity = "stopping; Ctrl-C again: at once" if self._stop.is_set() else self.activity
        seconds = time.monotonic() - self._since
        parts = [f"{activity}, {seconds:.0f} s", *spent, *([self.trouble] if self.trouble else [])]
        sign = Text(str(self._spinner.render(time.monotonic())))
        return Text.assemble(sign, " ", printable(one_line(" · ".join(parts))), no_wrap=True, overflow="ellipsis")


def _cut(text: str, style: str = "") -> Text:
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")


def _stacked(lists: Mapping[str, list[str]], columns: int, room: int) -> list[str]:
    """Return the lists below each other in at most so many lines: whole, else as many lines of each as have room."""
    lines = []
    for title, entries in lists.items():
        lines += [f"{title}:", *(f"  {line}" for entry in entries for line in folded(entry, columns - 2, 2))]
    most = room
    while len(lines) > room and most:
        lines = []
        for title, entries in lists.items():
            more = [f"  and {len(entries) - most} more"] if len(entries) > most else []
            lines += [f"{title}:", *(f"  {entry}" for entry in entries[:most]), *more]
        most -= 1
    return lines


_DESCRIPTIONS: dict[Stage, str] = {
    "waiting": "Another process fetches a model, waiting",
    "fetching": "Fetching the embedded model",
    "unpacking": "Unpacking and checking it",
    "checking": "Checking it",
}


@contextmanager
def download_bar(*, quiet: bool = False) -> Iterator[Callable[[Stage, int, int], None]]:
    """Yield what shows the progress of the model store on stderr: bytes done and all bytes of a stage."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    bar = Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal)
    task = bar.add_task("")

    def stop() -> None:
        if bar.live.is_started:  # stopping a bar that was never drawn prints an empty line
            bar.stop()

    def show(stage: Stage, done: int, total: int) -> None:
        if stage == "ready":
            stop()
        else:
            bar.update(task, description=_DESCRIPTIONS[stage], completed=done, total=total)
            bar.start()

    try:
        yield show
    finally:
        stop()
