"""What a run taught: its files at their ends, and the changes of each turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from managers.base_manager import BaseManager
from managers.knowledge.document import parse_knowledge
from managers.knowledge_manager import KnowledgeManager
from managers.objective_manager import ObjectiveManager
from managers.route_manager import ROUTES_FILE, RouteManager
from managers.routes import view
from managers.routes.document import parse_routes
from managers.simple_memory_manager import SimpleMemoryManager
from session.errors import StoreError
from session.files.run_folders import AT_END
from session.files.shared_files import read_shared
from session.knowledge import KnowledgeEntry, Source
from session.memory import INVALIDATION_MARKER, Memory
from session.objective import Objective
from session.route import KnownRoute
from session.text import one_line, text_key
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.report.played_run import PlayedRun

_KNOWLEDGE, _MAP = "knowledgebase.md", "map_state.json"


class AtEnd(NamedTuple):
    """What is known, and the map; ``None`` where there is none."""

    known: Known
    map: MapGraph | None


NOTHING_LEFT = AtEnd({}, None)


def read_end(folder: Path, run: PlayedRun, note: Callable[[str], None]) -> AtEnd:
    """Read what the run in that folder left behind; ``note`` is told of what cannot be read."""
    options = run.manifest.configuration
    known = known_memories(run.memories or {})
    for name, copy, read in (
        (options.get("knowledge_file", _KNOWLEDGE), _KNOWLEDGE, _knowledge),
        (ROUTES_FILE, ROUTES_FILE, _routes),
    ):
        path = _path(folder, str(name), copy)
        try:
            known |= read((read_shared(path) or b"").decode("utf-8", "replace"), path)
        except StoreError as error:
            note(str(error))
    return AtEnd(known, _map(_path(folder, str(options.get("map_state_file", _MAP)), _MAP), note))


def _path(folder: Path, name: str, copy: str) -> Path:
    """Return the copy of the file ``name`` from the end of the run, or where there are none, the file itself."""
    at_end = folder / AT_END
    return at_end / copy if at_end.is_dir() else folder.parent.parent / name


def _knowledge(text: str, _path: Path) -> Known:
    return known_knowledge(parse_knowledge(text).entries())


def _routes(text: str, path: Path) -> Known:
    return known_routes(parse_routes(text, path).routes)


def _map(path: Path, note: Callable[[str], None]) -> MapGraph | None:
    """Read a map; of one that was not there a run keeps an empty copy."""
    try:
        return MapGraph.read(path, note) if read_shared(path) else None
    except StoreError as error:
        note(str(error))
        return None


_RECOGNISED = 60  # characters by which a prompt is known to show a text


@dataclass(frozen=True, slots=True)
class Item:
    """Something that was learnt, in words.

    key: the same as long as it is the same item, whatever it says
    place: the id of the location that it is about; ``None`` for none in particular
    tags: of what kind it is and how it stands, each in a word
    by: where it comes from
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
    """What became of an item: ``before`` is ``None`` for a new one, ``after`` for one that is gone."""

    key: str
    before: Item | None
    after: Item | None


class KnownThing(NamedTuple):
    """An item as its manager keeps it.

    words: how the words begin by which a prompt shows it
    place: of a memory, the id of its location
    """

    source: Memory | KnowledgeEntry | KnownRoute | Objective
    words: str
    place: int | None = None


Known = dict[str, KnownThing]
"""All that is known at a moment, by the keys of the items."""


class Knower:
    """Tells what managers know, again and again. The memories of a place that are the same are not looked at twice."""

    def __init__(self, managers: Iterable[BaseManager]) -> None:
        self._managers = tuple(managers)
        self._seen: dict[tuple[str, int], tuple[tuple[Memory, ...], Known]] = {}

    def known(self) -> Known:
        """Return what the managers know now."""
        known: Known = {}
        for manager in self._managers:
            if isinstance(manager, SimpleMemoryManager):
                for kind, memories in (("m", manager.memory_cache), ("e", manager.ephemeral_cache)):
                    for place, each in memories.items():
                        known |= self._memories_at(place, tuple(each), kind)
            elif isinstance(manager, KnowledgeManager):
                known |= known_knowledge(manager.entries())
            elif isinstance(manager, RouteManager):
                known |= known_routes(manager.book.routes)
            elif isinstance(manager, ObjectiveManager):
                episode = manager.game_state.episode
                known |= {
                    f"o:{episode}:{each.id}": KnownThing(each, f"\n{each.id}. {each.text[:_RECOGNISED]}")
                    for each in manager.objectives
                }
        return known

    def _memories_at(self, place: int, memories: tuple[Memory, ...], kind: str) -> Known:
        seen, known = self._seen.get((kind, place), ((), {}))
        if seen != memories:
            known = known_memories({place: memories}, kind)
            self._seen[kind, place] = memories, known
        return known


def known_memories(memories: Mapping[int, Iterable[Memory]], kind: str = "m") -> Known:
    """Return memories by location id as what is known; ``kind`` tells those that go with their episode from others."""
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
    return {f"r:{each.number}": KnownThing(each, f"\n{each.number}: {view.aim(each)} in ") for each in routes}


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
    """Return the keys of the items whose words stand in the prompt."""
    return tuple(key for key, learnt in known.items() if learnt.words in prompt)


def item_of(key: str, learnt: KnownThing) -> Item:
    """Return the item in words."""
    source, place = learnt.source, learnt.place
    if isinstance(source, Memory):
        tags = (source.category, source.persistence, source.status.lower())
        by = f"episode {source.episode}" + (f", {_turns(source.turns)}" if source.turns else "")
        return Item(key, "memory", source.title, _with_its_end(source), place, tags, by)
    if isinstance(source, KnowledgeEntry):
        by = "; ".join(f"episode {each.episode}, {_turns(_span(each))}" for each in source.line.sources)
        return Item(key, "knowledge", source.section, source.line.text, by=by)
    if isinstance(source, KnownRoute):
        title, by = f"Route {source.number}: {view.aim(source)}", f"episode {source.episode}; {view.record(source)}"
        return Item(key, "route", title, "\n".join(source.commands), by=by)
    text = "\n".join(filter(None, (source.evidence, source.ending)))
    return Item(key, "objective", source.text, text, source.location_id, (source.status,), f"turn {source.turn}")


def _turns(span: str) -> str:
    return f"turns {span}" if "-" in span else f"turn {span}"


def _span(source: Source) -> str:
    first, last = source.first_turn, source.last_turn
    return f"{first}-{last}" if first != last else str(first)


def _with_its_end(memory: Memory) -> str:
    if memory.superseded_by is None:
        return memory.text
    if memory.superseded_by == INVALIDATION_MARKER:
        return f"{memory.text}\nGiven up: {memory.invalidation_reason or 'it was found to be false'}"
    return f"{memory.text}\nIn its place: {memory.superseded_by}"
