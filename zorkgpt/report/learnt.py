"""What a run knows at a moment: memories, knowledge, routes and objectives, as items that can be compared."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from managers.knowledge_manager import KnowledgeManager
from managers.objective_manager import ObjectiveManager
from managers.route_manager import RouteManager
from managers.routes import view
from managers.simple_memory_manager import SimpleMemoryManager
from session.knowledge import KnowledgeEntry, Source
from session.memory import INVALIDATION_MARKER, Memory
from session.route import KnownRoute
from session.text import one_line, text_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from managers.base_manager import BaseManager
    from session.objective import Objective

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
    """An item as its manager keeps it; ``place`` is the id of a memory's location."""

    source: Memory | KnowledgeEntry | KnownRoute | Objective
    place: int | None = None


Known = dict[str, KnownThing]
"""All that is known at a moment, by the keys of the items."""


def known_by(managers: Iterable[BaseManager]) -> Known:
    """Return what these managers know now."""
    known: Known = {}
    for manager in managers:
        if isinstance(manager, SimpleMemoryManager):
            known |= known_memories(manager.memory_cache) | known_memories(manager.ephemeral_cache, "e")
        elif isinstance(manager, KnowledgeManager):
            known |= known_knowledge(manager.entries())
        elif isinstance(manager, RouteManager):
            known |= known_routes(manager.book.routes)
        elif isinstance(manager, ObjectiveManager):
            episode = manager.game_state.episode
            known |= {f"o:{episode}:{each.id}": KnownThing(each) for each in manager.objectives}
    return known


def known_memories(memories: Mapping[int, Iterable[Memory]], kind: str = "m") -> Known:
    """Return memories by location id as what is known; ``kind`` tells those that go with their episode from others."""
    known: Known = {}
    for place, each in memories.items():
        titles: Counter[str] = Counter()
        for memory in each:
            title = text_key(memory.title)
            titles[title] += 1
            known[f"{kind}:{place}:{title}:{titles[title]}"] = KnownThing(memory, place)
    return known


def known_knowledge(entries: Iterable[KnowledgeEntry]) -> Known:
    """Return lines of knowledge as what is known."""
    return {f"k:{text_key(each.section)}:{text_key(each.line.text)}": KnownThing(each) for each in entries}


def known_routes(routes: Iterable[KnownRoute]) -> Known:
    """Return routes as what is known."""
    return {f"r:{each.number}": KnownThing(each) for each in routes}


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
    return tuple(key for key, learnt in known.items() if _words(learnt.source) in prompt)


def item_of(key: str, learnt: KnownThing) -> Item:
    """Return the item in words."""
    source, place = learnt
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


def _words(source: Memory | KnowledgeEntry | KnownRoute | Objective) -> str:
    """Return how the words begin by which a prompt shows the item."""
    if isinstance(source, Memory):
        return f"[{source.category}] {source.title}: {one_line(source.text)[:_RECOGNISED]}"
    if isinstance(source, KnowledgeEntry):
        return f"- {source.line.text[:_RECOGNISED]}"
    if isinstance(source, KnownRoute):
        return f"\n{source.number}: {view.aim(source)} in "
    return f"\n{source.id}. {source.text[:_RECOGNISED]}"
