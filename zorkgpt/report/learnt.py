"""What a run taught: the changes of each turn and the rebuilt prompts, from repeating it; its files at their ends."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from managers.base_manager import BaseManager
from managers.knowledge.document import parse_knowledge
from managers.knowledge_manager import KnowledgeManager
from managers.map_manager import MapManager
from managers.objective_manager import ObjectiveManager
from managers.route_manager import ROUTES_FILE, RouteManager
from managers.routes.document import parse_routes, route_aim, route_record
from managers.simple_memory_manager import SimpleMemoryManager
from session.errors import StoreError
from session.events import EpisodeEnded, EpisodeStarted, Event, TurnPlayed
from session.files.run_folders import AT_END
from session.knowledge import KnowledgeEntry
from session.memory import INVALIDATION_MARKER, Memory
from session.route import KnownRoute
from session.text import one_line, text_key
from zorkgpt.llm.run_model import RepeatedCall
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.report.played_run import PlayedRun, text_of

_RECOGNISED = 60  # characters by which a prompt is known to show a text


@dataclass(frozen=True, slots=True)
class Item:
    """Something that was learnt, in words.

    key: stays the same when the words change
    place: the id of the location that it is about; ``None`` for none in particular
    tags: its kind and its status, each in a word
    by: its source
    """

    key: str
    kind: Literal["memory", "knowledge", "route", "objective"]
    title: str
    text: str
    place: int | None = None
    tags: tuple[str, ...] = ()
    by: str = ""


@dataclass(frozen=True, slots=True)
class ItemChange:
    """A change of an item: ``before`` is ``None`` for a new one, ``after`` for one that is gone."""

    key: str
    before: Item | None
    after: Item | None


Known = dict[str, Item]
"""All that is known at a moment, by the keys of the items."""


def known_to(managers: Iterable[BaseManager]) -> Known:
    """Return what the managers know now."""
    known: Known = {}
    for manager in managers:
        if isinstance(manager, SimpleMemoryManager):
            known |= known_memories(manager.memory_cache) | known_memories(manager.ephemeral_cache, "e")
        elif isinstance(manager, KnowledgeManager):
            known |= known_knowledge(manager.entries())
        elif isinstance(manager, RouteManager):
            known |= known_routes(manager.book.routes)
        elif isinstance(manager, ObjectiveManager):
            for each in manager.objectives:
                key = f"o:{manager.game_state.episode}:{each.id}"
                text = "\n".join(filter(None, (each.evidence, each.ending)))
                tags, by = (each.status,), f"turn {each.turn}"
                known[key] = Item(key, "objective", each.text, text, each.location_id, tags, by)
    return known


def known_memories(memories: Mapping[int, Iterable[Memory]], kind: str = "m") -> Known:
    """Return memories by location id as what is known; ``kind``: "m" for persistent, "e" for ephemeral ones."""
    known: Known = {}
    for place, each in memories.items():
        titles: Counter[str] = Counter()
        for memory in each:
            title, text = text_key(memory.title), memory.text
            titles[title] += 1
            if memory.superseded_by == INVALIDATION_MARKER:
                text += f"\nGiven up: {memory.invalidation_reason or 'it was found to be false'}"
            elif memory.superseded_by is not None:
                text += f"\nIn its place: {memory.superseded_by}"
            key = f"{kind}:{place}:{title}:{titles[title]}"
            tags = (memory.category, memory.persistence, memory.status.lower())
            by = f"episode {memory.episode}" + (f", {_turns(memory.turns)}" if memory.turns else "")
            known[key] = Item(key, "memory", memory.title, text, place, tags, by)
    return known


def known_knowledge(entries: Iterable[KnowledgeEntry]) -> Known:
    """Return lines of knowledge as what is known."""
    known: Known = {}
    for each in entries:
        key = f"k:{text_key(each.section)}:{text_key(each.line.text)}"
        spans = ((source, dict.fromkeys((source.first_turn, source.last_turn))) for source in each.line.sources)
        by = "; ".join(f"episode {source.episode}, {_turns('-'.join(map(str, span)))}" for source, span in spans)
        known[key] = Item(key, "knowledge", each.section, each.line.text, by=by)
    return known


def known_routes(routes: Iterable[KnownRoute]) -> Known:
    """Return routes as what is known."""
    known: Known = {}
    for each in routes:
        key, title = f"r:{each.number}", f"Route {each.number}: {route_aim(each)}"
        by = f"episode {each.episode}; {route_record(each)}"
        known[key] = Item(key, "route", title, "\n".join(each.commands), by=by)
    return known


def _turns(span: str) -> str:
    return f"turns {span}" if "-" in span else f"turn {span}"


def changes_between(before: Known, after: Known) -> Iterator[ItemChange]:
    """Yield every item that is new, says something else, or is gone."""
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key), after.get(key)
        if old != new:
            yield ItemChange(key, old, new)


def keys_shown(known: Known, prompt: str) -> tuple[str, ...]:
    """Return the keys of the items whose text in the prompt begins as theirs."""
    return tuple(key for key, item in known.items() if _beginning(item) in prompt)


def _beginning(item: Item) -> str:
    """Return the beginning of an item's text in a prompt."""
    if item.kind == "memory":
        return f"[{item.tags[0]}] {item.title}: {one_line(item.text)[:_RECOGNISED]}"
    if item.kind == "knowledge":
        return f"- {item.text[:_RECOGNISED]}"
    if item.kind == "route":
        return f"\n{item.title.removeprefix('Route ')} in "
    return f"\n{item.key.rpartition(':')[2]}. {item.title[:_RECOGNISED]}"


def read_end(folder: Path, run: PlayedRun, note: Callable[[str], None]) -> tuple[Known, MapGraph | None]:
    """Read what the run in that folder left behind, and its map; ``note`` gets a line for each unreadable file."""
    options, copies = run.manifest.configuration, folder / AT_END
    known, graph = known_memories(run.memories or {}), None

    def kept(copy: str, option: str = "") -> Path:
        return copies / copy if copies.is_dir() else folder.parent.parent / Path(str(options.get(option, copy))).name

    @contextmanager
    def noted() -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            note(str(error))

    with noted():
        known |= known_knowledge(parse_knowledge(text_of(kept("knowledgebase.md", "knowledge_file"))).entries())
    with noted():
        routes = kept(ROUTES_FILE)
        known |= known_routes(parse_routes(text_of(routes), routes).routes)
    with noted():
        map_file = kept("map_state.json", "map_state_file")
        graph = MapGraph.read(map_file, note) if text_of(map_file) else None
    return known, graph


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


class RunMoment(NamedTuple):
    """A turn of an episode; 0 is the opening."""

    episode: int
    turn: int


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
    changes: what was learnt from each turn
    shown: the keys of the items in the agent's prompt of each turn
    is_whole: whether the whole recorded run was repeated
    moment: the latest repeated turn
    """

    def __init__(self) -> None:
        self.lines: dict[str, int] = {}
        self.prompts: list[RebuiltPrompt] = []
        self.start: Known = {}
        self.known: Known = {}
        self.changes: defaultdict[RunMoment, list[ItemChange]] = defaultdict(list)
        self.shown: dict[RunMoment, tuple[str, ...]] = {}
        self.is_whole = False
        self.moment = RunMoment(0, 0)
        self._managers: Sequence[BaseManager] = ()
        self._is_known = True  # the managers have learnt nothing since the last look

    @property
    def map(self) -> MapGraph | None:
        """The map as it is now."""
        return next((each.game_map for each in self._managers if isinstance(each, MapManager)), None)

    def meet(self, managers: Sequence[BaseManager]) -> None:
        """Take the managers of the repeated run, before it begins."""
        self._managers = managers
        self.start = self.known = known_to(managers)

    def hear(self, call: RepeatedCall) -> None:
        """Take a call as it is made again."""
        prompt = call.prompt
        system, user = lines_kept(prompt.system, self.lines), lines_kept(prompt.user, self.lines)
        self.prompts.append(RebuiltPrompt(system, user, call.is_as_recorded))
        if call.role == "agent":
            self._look()
            self.shown[RunMoment(call.episode, call.turn)] = keys_shown(self.known, prompt.user)

    def see(self, event: Event) -> None:
        """Take an event as it happens again; the managers have learnt from the event before, but not from this one."""
        if isinstance(event, EpisodeStarted):
            self.moment = RunMoment(event.episode, 0)
        if isinstance(event, EpisodeStarted | TurnPlayed | EpisodeEnded):
            self._look()
            self._is_known = False
        if isinstance(event, TurnPlayed):
            self.moment = RunMoment(event.record.episode, event.record.turn)

    def end(self, *, is_whole: bool) -> None:
        """Take what the last turn taught."""
        self._look()
        self.is_whole = is_whole

    def _look(self) -> None:
        if self._is_known:
            return
        self._is_known = True
        now = known_to(self._managers)
        self.changes[self.moment] += changes_between(self.known, now)
        self.known = now
