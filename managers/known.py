"""What is known at a moment, as one value: prompts list its keys, and reports, screens and programs show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Final, Literal

from managers.objectives import Objective
from managers.routes.document import last_command, route_aim, route_record
from session.knowledge import KnowledgeEntry, Source
from session.memory import Memory
from session.route import Course, Route
from session.text import counted, text_key

Kind = Literal["memory", "knowledge", "route", "objective"]
INVALIDATED = "invalidated"  # the tag of a memory that was given up without a better one
ROUTES_SHOWN = 6  # on screens
SOURCES_NAMED: Final = 12
"""Of a line of knowledge, the first and the last ones; the file has all of them."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something that was learned, in words.

    key: stays the same when the words change
    place: the id of the location that it is about; ``None`` for none in particular
    tags: its kind and its status, each in a word
    status: of a memory or an objective, in lower case; "" for others
    is_lasting: whether it outlives the episode
    by: its source
    sources: the turns that it cites
    """

    key: str
    kind: Kind
    title: str
    text: str
    place: int | None = None
    tags: tuple[str, ...] = ()
    by: str = ""
    sources: tuple[Source, ...] = ()
    status: str = ""
    is_lasting: bool = True


Items = dict[str, Item]
"""Items by their keys."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a manager, or all of them, know at a moment.

    memories, ephemeral: persistent memories and those of this episode by location id, including superseded ones
    knowledge: every line, in the order of the file
    episode: that of the objectives
    objectives: including those that have ended
    routes: all of them
    usable: how many of the routes can be followed from somewhere
    from_here: those that can be followed at this moment, best first, each with how many of its commands are done
    under_way: the course that is being followed
    """

    memories: Mapping[int, Sequence[Memory]] = field(default_factory=dict)
    ephemeral: Mapping[int, Sequence[Memory]] = field(default_factory=dict)
    knowledge: tuple[KnowledgeEntry, ...] = ()
    episode: int = 0
    objectives: tuple[Objective, ...] = ()
    routes: tuple[Route, ...] = ()
    usable: int = 0
    from_here: tuple[tuple[Route, int], ...] = ()
    under_way: Course | None = None

    @property
    def believed(self) -> dict[int, tuple[Memory, ...]]:
        """The memories that are not superseded by location id, persistent ones first."""
        return {place: self.believed_at(place) for place in dict.fromkeys([*self.memories, *self.ephemeral])}

    def believed_at(self, place: int) -> tuple[Memory, ...]:
        """Return the memories of a location that are not superseded, persistent ones first."""
        memories = (*self.memories.get(place, ()), *self.ephemeral.get(place, ()))
        return tuple(memory for memory in memories if not memory.is_given_up)

    def items(self) -> Items:
        """Return everything that is known in words."""
        memories = (
            _memory_item(key, place, memory)
            for kind, by_place in (("m", self.memories), ("e", self.ephemeral))
            for place, at_place in by_place.items()
            for key, memory in zip(memory_keys(place, at_place, kind), at_place, strict=True)
        )
        others = (
            *map(_knowledge_item, self.knowledge),
            *map(_route_item, self.routes),
            *(_objective_item(self.episode, objective) for objective in self.objectives),
        )
        return {item.key: item for item in chain(memories, others)}

    def present(self, here: int | None) -> dict[Kind, tuple[str, ...]]:
        """Return in lines what matters at this moment and this location, for screens."""
        objectives = tuple(objective.text for objective in self.objectives if objective.is_active)
        memories = () if here is None else self.believed_at(here)
        return {
            "objective": objectives,
            "memory": tuple(memory.headline(memory.persistence) for memory in memories),
            "route": self._route_lines(),
        }

    def _route_lines(self) -> tuple[str, ...]:
        course = self.under_way
        if course is not None:
            aim = f", {course.aim}, ending with {last_command(course.steps)}" if course.aim else ""
            return (f"{course.name}: {course.done} of {counted(len(course.steps), 'command')}{aim}",)
        lines = []
        for route, done in self.from_here[:ROUTES_SHOWN]:
            left = counted(len(route.steps) - done, "command")
            end = f", ending with {last_command(route.steps[done:])}" if route.goal.kind == "score" else ""
            lines.append(f"{route.number}: {route_aim(route, done)} in {left} from here{end}")
        others = self.usable - len(lines)
        if others:
            lines.append(counted(others, "other route") if lines else f"{counted(others, 'route')}, none from here")
        return tuple(lines)


def merged(parts: Iterable[Known]) -> Known:
    """Return as one what several managers know."""
    whole = tuple(parts)
    return Known(
        _merged([each.memories for each in whole]),
        _merged([each.ephemeral for each in whole]),
        tuple(chain.from_iterable(each.knowledge for each in whole)),
        max((each.episode for each in whole), default=0),
        tuple(chain.from_iterable(each.objectives for each in whole)),
        tuple(chain.from_iterable(each.routes for each in whole)),
        sum(each.usable for each in whole),
        tuple(chain.from_iterable(each.from_here for each in whole)),
        next((each.under_way for each in whole if each.under_way), None),
    )


def _merged(mappings: Iterable[Mapping[int, Sequence[Memory]]]) -> Mapping[int, Sequence[Memory]]:
    found: dict[int, Sequence[Memory]] = {}
    for mapping in mappings:
        for place, memories in mapping.items():
            found[place] = (*found.get(place, ()), *memories)
    return found


def memory_keys(place: int, memories: Iterable[Memory], kind: str = "m") -> list[str]:
    """Return the keys of all memories of a location; ``kind``: "m" for persistent, "e" for ephemeral ones."""
    titles: Counter[str] = Counter()
    keys = []
    for memory in memories:
        title = text_key(memory.title)
        titles[title] += 1
        keys.append(memory_key(place, memory.title, titles[title], kind))
    return keys


def memory_key(place: int, title: str, number: int = 1, kind: str = "m") -> str:
    """Return the key of a memory; ``number``: its number among those of a location with one title."""
    return f"{kind}:{place}:{text_key(title)}:{number}"


def knowledge_key(section: str, text: str) -> str:
    """Return the key of a line of knowledge."""
    return f"k:{text_key(section)}:{text_key(text)}"


def route_key(number: int) -> str:
    """Return the key of a route."""
    return f"r:{number}"


def objective_key(episode: int, objective: Objective) -> str:
    """Return the key of an objective."""
    return f"o:{episode}:{objective.id}"


def _memory_item(key: str, place: int, memory: Memory) -> Item:
    text = memory.text
    if memory.is_invalidated:
        text += f"\nInvalidated: {memory.invalidation_reason or 'no reason given'}"
    elif memory.superseded_by is not None:
        text += f"\nIn its place: {memory.superseded_by}"
    status = memory.status.lower()
    tags = (memory.category, memory.persistence, INVALIDATED if memory.is_invalidated else status)
    span = memory.span
    spans = (Source(memory.episode, span[0], span[-1]),) if span else ()
    known = (f"episode {memory.episode}" if memory.episode else "", *map(_turns, spans))
    sources = spans if memory.episode else ()
    by, lasts = ", ".join(filter(None, known)), memory.persistence != "ephemeral"
    return Item(key, "memory", memory.title, text, place, tags, by, sources, status, lasts)


@lru_cache(maxsize=1024)  # all lines are looked at each turn, and few change
def _knowledge_item(entry: KnowledgeEntry) -> Item:
    key, sources = knowledge_key(entry.section, entry.line.text), entry.line.sources
    return Item(key, "knowledge", entry.section, entry.line.text, by=_cited(sources), sources=sources)


def _cited(sources: Sequence[Source]) -> str:
    first, last = sources[: SOURCES_NAMED // 2], sources[max(SOURCES_NAMED // 2, len(sources) - SOURCES_NAMED // 2) :]
    left_out = len(sources) - len(first) - len(last)
    between = (f"{left_out} more, which the file names",) if left_out else ()
    return "; ".join((*map(_turns_of, first), *between, *map(_turns_of, last)))


def _turns_of(source: Source) -> str:
    return f"episode {source.episode}, {_turns(source)}"


def _route_item(route: Route) -> Item:
    end = f", ending with {last_command(route.steps)}" if route.goal.kind == "score" else ""
    title, by = f"Route {route.number}: {route_aim(route)}{end}", f"episode {route.episode}; {route_record(route)}"
    return Item(route_key(route.number), "route", title, "\n".join(route.commands), by=by)


def _objective_item(episode: int, objective: Objective) -> Item:
    text = "\n".join(filter(None, (objective.evidence, objective.ending)))
    status, by = objective.status, f"turn {objective.turn}"
    key, place = objective_key(episode, objective), objective.location_id
    return Item(key, "objective", objective.text, text, place, (status,), by, status=status, is_lasting=False)


def _turns(source: Source) -> str:
    return f"{'turn' if len(source.span) == 1 else 'turns'} {source.turns}"
