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
from managers.objectives import Objective
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


class KnownThing(NamedTuple):
    """An item as its manager keeps it.

    words: the beginning of its text in a prompt
    place: of a memory, the id of its location
    """

    source: Memory | KnowledgeEntry | KnownRoute | Objective
    words: str
    place: int | None = None


Known = dict[str, KnownThing]
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
                words = f"\n{each.id}. {each.text[:_RECOGNISED]}"
                known[f"o:{manager.game_state.episode}:{each.id}"] = KnownThing(each, words)
    return known


def known_memories(memories: Mapping[int, Iterable[Memory]], kind: str = "m") -> Known:
    """Return memories by location id as what is known; ``kind``: "m" for persistent, "e" for ephemeral ones."""
    known: Known = {}
    for place, each in memories.items():
        titles: Counter[str] = Counter()
        for memory in each:
            title = text_key(memory.title)
            titles[title] += 1
            words = f"[{memory.category}] {memory.title}: {one_line(memory.text)[:_RECOGNISED]}"
            known[f"{kind}:{place}:{title}:{titles[title]}"] = KnownThing(memory, words, place)
    return known


def known_knowledge(entries: Iterable[KnowledgeEntry]) -> Known:
    """Return lines of knowledge as what is known."""
    return {
        f"k:{text_key(each.section)}:{text_key(each.line.text)}": KnownThing(each, f"- {each.line.text[:_RECOGNISED]}")
        for each in entries
    }


def known_routes(routes: Iterable[KnownRoute]) -> Known:
    """Return routes as what is known."""
    return {f"r:{each.number}": KnownThing(each, f"\n{each.number}: {route_aim(each)} in ") for each in routes}


def items_of(known: Known) -> tuple[Item, ...]:
    """Return all that is known in words."""
    return tuple(item_of(key, learnt) for key, learnt in known.items())


def changes_between(before: Known, after: Known) -> Iterator[ItemChange]:
    """Yield every item that is new, says something else, or is gone."""
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key), after.get(key)
        if old != new:
            yield ItemChange(key, old and item_of(key, old), new and item_of(key, new))


def keys_shown(known: Known, prompt: str) -> tuple[str, ...]:
    """Return the keys of the items whose words are in the prompt."""
    return tuple(key for key, learnt in known.items() if learnt.words in prompt)


def item_of(key: str, learnt: KnownThing) -> Item:
    """Return the item in words."""
    source, place = learnt.source, learnt.place
    if isinstance(source, Memory):
        text = source.text
        if source.superseded_by == INVALIDATION_MARKER:
            text += f"\nGiven up: {source.invalidation_reason or 'it was found to be false'}"
        elif source.superseded_by is not None:
            text += f"\nIn its place: {source.superseded_by}"
        tags = (source.category, source.persistence, source.status.lower())
        by = f"episode {source.episode}" + (f", {_turns(source.turns)}" if source.turns else "")
        return Item(key, "memory", source.title, text, place, tags, by)
    if isinstance(source, KnowledgeEntry):
        spans = ((each, dict.fromkeys((each.first_turn, each.last_turn))) for each in source.line.sources)
        by = "; ".join(f"episode {each.episode}, {_turns('-'.join(map(str, span)))}" for each, span in spans)
        return Item(key, "knowledge", source.section, source.line.text, by=by)
    if isinstance(source, KnownRoute):
        title, by = f"Route {source.number}: {route_aim(source)}", f"episode {source.episode}; {route_record(source)}"
        return Item(key, "route", title, "\n".join(source.commands), by=by)
    text = "\n".join(filter(None, (source.evidence, source.ending)))
    return Item(key, "objective", source.text, text, source.location_id, (source.status,), f"turn {source.turn}")


def _turns(span: str) -> str:
    return f"turns {span}" if "-" in span else f"turn {span}"


def read_end(folder: Path, run: PlayedRun, note: Callable[[str], None]) -> tuple[Known, MapGraph | None]:
    """Read what the run in that folder left behind, and its map; ``note`` gets a line for each unreadable file."""
    options, copies = run.manifest.configuration, folder / AT_END
    known, graph = known_memories(run.memories or {}), None

    def kept(copy: str, option: str = "") -> Path:
        return copies / copy if copies.is_dir() else folder.parent.parent / str(options.get(option, copy))

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
