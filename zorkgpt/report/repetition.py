"""What a run taught: the changes of each turn and the rebuilt prompts, from repeating it; its files at their ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from managers.base_manager import BaseManager
from managers.knowledge.document import parse_knowledge
from managers.known import Item, Items, Known, merged
from managers.route_manager import ROUTES_FILE
from managers.routes.document import parse_routes
from session.errors import StoreError
from session.events import EpisodeEnded, EpisodeStarted, Event, FileEdited, RunMoment, TurnPlayed, moment_of
from session.files.run_folders import AT_END
from session.memory import Memory
from zorkgpt.llm.run_model import RepeatedCall
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.report.played_run import PlayedRun, text_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ItemChange:
    """A change of an item: ``before`` is ``None`` for a new one, ``after`` for one that is gone.

    by_others: people or other runs edited the file
    """

    key: str
    before: Item | None
    after: Item | None
    by_others: bool = False

    @property
    def item(self) -> Item:
        """The item after the change, or before it if it is gone."""
        return cast("Item", self.after or self.before)


def changes_between(before: Items, after: Items, *, by_others: bool = False) -> Iterator[ItemChange]:
    """Yield every item that is new, says something else, or is gone."""
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key), after.get(key)
        if old != new:
            yield ItemChange(key, old, new, by_others)


def read_known(
    copy_of: Callable[[str], Path],
    memories: Mapping[int, Sequence[Memory]],
    note: Callable[[str], None],
    failed: Callable[[StoreError], None],
) -> tuple[Known, MapGraph | None]:
    """Read what is known from shared files, and the map.

    copy_of: returns the path of a file by the name that it has in copies
    note, failed: called with a line for each invalid entry of the map, and for each file that cannot be read
    """

    def read(name: str, parse: Callable[[Path], T]) -> T | None:
        try:
            return parse(copy_of(name)) if text_of(copy_of(name)) else None
        except StoreError as error:
            failed(error)
            return None

    knowledge = read("knowledgebase.md", lambda path: parse_knowledge(text_of(path)).entries)
    routes = read(ROUTES_FILE, lambda path: parse_routes(text_of(path), path).routes)
    graph = read("map_state.json", lambda path: MapGraph.read(path, note))
    return Known(memories, knowledge=tuple(knowledge or ()), routes=tuple(routes or ())), graph


def read_end(folder: Path, run: PlayedRun, note: Callable[[str], None]) -> tuple[Items, MapGraph | None]:
    """Read what the run in that folder left behind, and its map; ``note`` gets a line for each unreadable file."""
    copies, options = folder / AT_END, run.manifest.configuration

    def copy_of(name: str) -> Path:
        if copies.is_dir():
            return copies / name
        option = {"knowledgebase.md": "knowledge_file", "map_state.json": "map_state_file"}.get(name, "")
        return folder.parent.parent / Path(str(options.get(option, name))).name

    known, graph = read_known(copy_of, run.memories or {}, note, lambda error: note(str(error)))
    return known.items(), graph


Ranges = tuple[int, ...]
"""A text: the number of a line and how many lines follow from it, again and again; () for "". """


def lines_kept(text: str, table: dict[str, int]) -> Ranges:
    """Keep the distinct lines of a text in the table, each with its number, and return the ranges of the text.

    The lines of the ranges, joined by line feeds, are the text. Prompts of a run share most of their lines.
    """
    ranges: list[int] = []
    following = -1
    for line in text.split("\n") if text else ():
        number = table.setdefault(line, len(table))
        if number == following:
            ranges[-1] += 1
        else:
            ranges += (number, 1)
        following = number + 1
    return tuple(ranges)


@dataclass(frozen=True, slots=True)
class RebuiltPrompt:
    """A prompt in the lines of a table; ``agrees``: its checksum is the recorded one."""

    system: Ranges
    user: Ranges
    agrees: bool


class Repetition:
    """Collects prompts and changes of items while a run is repeated.

    prompts: of every repeated model call, in the order of the journal; in the lines of ``lines``
    start, known: the items before the first episode, and the current ones
    changes: what was learned from each turn
    shown: the keys of the items in the agent's prompt of each turn
    is_whole: whether the whole recorded run was repeated
    moment: the latest repeated turn
    map: as it is now
    """

    def __init__(self) -> None:
        self.lines: dict[str, int] = {}
        self.prompts: list[RebuiltPrompt] = []
        self.start: Items = {}
        self.known: Items = {}
        self.changes: defaultdict[RunMoment, list[ItemChange]] = defaultdict(list)
        self.shown: dict[RunMoment, tuple[str, ...]] = {}
        self.is_whole = False
        self.moment = RunMoment(0, 0)
        self.map: MapGraph | None = None
        self._managers: Sequence[BaseManager] = ()
        self._is_known = True  # the managers have learned nothing since the last look
        self._is_edit = False  # the latest event is a file that others edited, which the managers then read

    def meet(self, managers: Sequence[BaseManager], graph: MapGraph) -> None:
        """Take the managers of the repeated run, and its map, before it begins."""
        self._managers, self.map = managers, graph
        self.start = self.known = _items_of(managers)

    def hear(self, call: RepeatedCall) -> None:
        """Take a call as it is made again."""
        prompt = call.prompt
        system, user = lines_kept(prompt.system, self.lines), lines_kept(prompt.user, self.lines)
        self.prompts.append(RebuiltPrompt(system, user, call.is_as_recorded))
        if call.role == "agent":
            self._look()
            self.shown[RunMoment(call.episode, call.turn)] = tuple(key for key in prompt.shows if key in self.known)

    def see(self, event: Event) -> None:
        """Take an event as it happens again; the managers have learned from the event before, but not from this one."""
        moment = moment_of(event) or self.moment
        if isinstance(event, EpisodeStarted):
            self.moment = moment
        if self._is_edit or isinstance(event, EpisodeStarted | TurnPlayed | EpisodeEnded | FileEdited):
            self._look()
            self._is_known = False
        self._is_edit = isinstance(event, FileEdited)
        self.moment = moment

    def end(self, *, is_whole: bool) -> None:
        """Take what the last turn taught."""
        self._look()
        self.is_whole = is_whole

    def _look(self) -> None:
        if self._is_known:
            return
        self._is_known = True
        now = _items_of(self._managers)
        self.changes[self.moment] += changes_between(self.known, now, by_others=self._is_edit)
        self.known = now


def _items_of(managers: Iterable[BaseManager]) -> Items:
    return merged(manager.known() for manager in managers).items()
