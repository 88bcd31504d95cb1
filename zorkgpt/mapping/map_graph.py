"""The graph of rooms and the walked ways between them, its file, and its text for prompts and Mermaid.

An edge exists because it was walked. The way back is presumed until it is tried, and never becomes an edge by itself
(docs/records/specification.md, Map edges). Names come from a story and commands from a model, so both are escaped here.
``connections`` are location ids by exit, by location id.
"""

from __future__ import annotations

import logging
from codecs import BOM_UTF8
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cached_property, wraps
from itertools import chain
from operator import not_
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, TypeAdapter, ValidationError, model_validator
from pydantic_core import to_json
from typing_extensions import Self

from session.errors import StoreError
from session.files.shared_files import backup_of, read_shared, write_atomically
from session.values import require_location_id
from zorkgpt.mapping.map_values import (
    COMPASS,
    INITIAL_CONFIDENCE,
    LEADS_BACK,
    LEAST_CONFIDENCE,
    MOST_ANSWERS,
    OPPOSITES,
    OTHER_WORDS,
    SEVERAL,
    SURE,
    ByEdge,
    ByRoom,
    Carry,
    Edge,
    EdgeKey,
    FailureOutcome,
    FatalExit,
    Room,
    WalkOutcome,
    by_destination,
    in_order,
    plain_line,
)

# All else has a meaning inside Mermaid's quotes in one version of it or another.
_SAFE_PUNCTUATION = frozenset(" ',.-/!?()")


def _escape(text: str) -> str:
    """Return the text for Mermaid's double quotes, with character codes for special characters."""
    return "".join(
        char if char.isalnum() or char in _SAFE_PUNCTUATION else f"#{ord(char)};" for char in plain_line(text)
    )


FORMAT_VERSION = "1.0"
_OWN_METADATA = ("version", "total_rooms", "total_connections", "timestamp")

_STATE = TypeAdapter(dict[str, Any])
P = ParamSpec("P")
T = TypeVar("T")


class NoMap(StoreError):
    """The file is not a map.

    where: the keys that lead to the invalid value
    """

    def __init__(self, path: Path, where: str, problem: str) -> None:
        backup = backup_of(path)
        before = f"; {backup} is the version before" if backup.exists() else ""
        super().__init__(f"{path} holds no map ({where}: {problem}){before}")
        self.where, self.problem = where, problem


@dataclass(frozen=True, slots=True)
class _Derived:
    """What follows from the map.

    at: what methods returned for a location, by its id and their options, kept until something changes there
    names: of all rooms, kept until one of them changes
    paths: of ``navigation.paths_from``, by its arguments, kept until anything changes
    """

    at: defaultdict[int, dict[object, Any]] = field(default_factory=lambda: defaultdict(dict), compare=False)
    names: dict[int, str] = field(default_factory=dict, compare=False)
    paths: dict[tuple[int | bool, ...], Mapping[int, Any]] = field(default_factory=dict, compare=False)

    def forget(self, *location_ids: int) -> None:
        self.paths.clear()
        for location_id in location_ids:
            self.at.pop(location_id, None)


def kept(find: Callable[Concatenate[MapGraph, int, P], T]) -> Callable[Concatenate[MapGraph, int, P], T]:
    """Return the function, which keeps what it finds for a location until something changes there."""

    @wraps(find)
    def find_once(graph: MapGraph, location_id: int, /, *args: P.args, **options: P.kwargs) -> T:
        known = graph.derived.at[location_id]
        key = (find, *options.values()) if options else find
        if key not in known:
            known[key] = find(graph, location_id, *args, **options)
        found: T = known[key]
        return found

    return find_once


class MapGraph(BaseModel):
    """A directed graph of rooms, and the content of ``map_state.json`` with unknown keys; an edge is an exit's command.

    connection_confidence: from 0.01 to 1; a verification halves the doubt, a contradiction the confidence
    connection_verifications: how often the edge was confirmed
    exit_failure_counts: how often an exit led nowhere since it last worked
    exit_refusals: the story's answers when an exit led nowhere since it last worked
    first_refusals: the story's answers when an exit led nowhere before it, or the way back, worked for the first time,
        or at first in a later game
    exit_deaths: how the player died on taking an exit, which stays untried, or how the story ended with it; removed
        when it works without that; a text in files of earlier versions
    pruned_exits: exits that failed often enough and never worked
    misread_exits: exits that a text seemed to name, according to a model's reading of it
    named_exits: points of the compass that the text of a room names, also according to a model's reading
    read_exits: exits that a text seemed to name, and that no model has read there
    carries: commands that are not exits, such as waiting, with the room to which the story moved the player meanwhile
    rides: exits that were only walked while the player was in or on a thing, such as a boat, with its name
    """

    model_config = ConfigDict(extra="allow")

    rooms: dict[NonNegativeInt, Room] = {}
    connections: dict[NonNegativeInt, dict[str, NonNegativeInt]] = {}
    connection_confidence: dict[EdgeKey, Annotated[float, Field(ge=0, le=1)]] = {}
    connection_verifications: dict[EdgeKey, NonNegativeInt] = {}
    exit_failure_counts: dict[EdgeKey, NonNegativeInt] = {}
    exit_refusals: ByEdge = {}
    first_refusals: ByEdge = {}
    exit_deaths: Annotated[dict[EdgeKey, Annotated[tuple[FatalExit | str, ...], SEVERAL]], Field(exclude_if=not_)] = {}
    pruned_exits: ByRoom = {}
    misread_exits: Annotated[ByRoom, Field(exclude_if=not_)] = {}
    read_exits: Annotated[ByRoom, Field(exclude_if=not_)] = {}
    named_exits: Annotated[ByRoom, Field(exclude_if=not_)] = {}
    carries: Annotated[dict[EdgeKey, Carry], Field(exclude_if=not_)] = {}
    rides: Annotated[dict[EdgeKey, str], Field(exclude_if=not_)] = {}
    metadata: dict[str, Any] = {}

    @model_validator(mode="after")
    def _complete(self) -> Self:
        """Add rooms that are only named by connections."""
        if any(key != room.id for key, room in self.rooms.items()):
            raise ValueError("a room has the id of another room")
        for from_id, exits in self.connections.items():
            self.add_room(from_id)
            for to_id in exits.values():
                self.add_room(to_id)
                self._sources.setdefault(to_id, set()).add(from_id)
        for edge, carry in self.carries.items():
            self.add_room(edge.location_id)
            self.add_room(carry.to_id)
        for key in _OWN_METADATA:
            self.metadata.pop(key, None)
        return self

    @cached_property  # Pydantic looks a private attribute up anew each time, which takes as long as what is kept there
    def derived(self) -> _Derived:
        """What was derived from the map, kept until it changes."""
        return _Derived()

    @property
    def kept_paths(self) -> dict[tuple[int | bool, ...], Mapping[int, Any]]:
        """What ``navigation.paths_from`` returned, by its arguments; empty once the map has changed."""
        return self.derived.paths

    @cached_property
    def tried_now(self) -> dict[Edge, bool]:
        """The exits that were tried in this game, and whether they led to another room the last time."""
        return {}

    def begin_game(self) -> None:
        """Forget what was tried in the game before."""
        self.derived.forget(*(edge.location_id for edge in self.tried_now))
        self.tried_now.clear()

    def is_refused(self, edge: Edge) -> bool:
        """Return whether the exit was tried in this game, and led nowhere the last time."""
        return not self.tried_now.get(edge, True)

    def is_shut(self, edge: Edge, *, is_new_game: bool = False) -> bool:
        """Return whether the exit led nowhere before it worked, in earlier games, and was not walked in this one."""
        first = next(iter(self.first_refusals.get(edge, ())), LEADS_BACK)
        return first != LEADS_BACK and (is_new_game or not self.tried_now.get(edge))

    @cached_property
    def _sources(self) -> dict[int, set[int]]:
        """The locations from which edges lead to a location, by its id."""
        return {}

    def sources(self, location_id: int) -> AbstractSet[int]:
        """Return the locations from which edges lead to a location."""
        return self._sources.get(location_id, frozenset())

    @kept
    def ways_back(self, location_id: int) -> Mapping[str, int]:
        """Return the location ids by exit, of untried exits of that room that should lead back.

        Such an exit is the opposite of the only direction by which the player came from that location. None is presumed
        between rooms with the same name, such as in a maze, nor in a room in which a move led to that room again, nor
        if another opposite has not led back from the room, nor if its text names other points of the compass but not
        this one (ADR 33).
        """
        sources: defaultdict[str, set[int]] = defaultdict(set)
        for from_id in self.sources(location_id) - {location_id}:
            for exit_, to_id in self.connections[from_id].items():
                if to_id == location_id and exit_ in OPPOSITES and self.confidence(Edge(from_id, exit_)) >= SURE:
                    sources[OPPOSITES[exit_]].add(from_id)
        is_wide = location_id in self.connections.get(location_id, {}).values()  # such as a desert
        if is_wide or any(self._is_disproved(location_id, exit_, from_ids) for exit_, from_ids in sources.items()):
            return {}
        name = self.rooms[location_id].name if location_id in self.rooms else ""
        named = self.named_exits.get(location_id)
        return {
            exit_: min(from_ids)
            for exit_, from_ids in sorted(sources.items())
            if len(from_ids) == 1
            and not self._is_tried(edge := Edge(location_id, exit_))
            and edge not in self.exit_deaths
            and not (name and name == self.rooms[min(from_ids)].name)
            and not (named and exit_ in COMPASS - named)
        }

    def _is_disproved(self, location_id: int, exit_: str, from_ids: Collection[int]) -> bool:
        """Return whether the opposite of the way by which the player came was tried and did not lead back."""
        led_to = self.connections.get(location_id, {}).get(exit_)
        return led_to not in from_ids if led_to is not None else self.last_refusal(Edge(location_id, exit_)) is not None

    @property
    def room_names(self) -> Mapping[int, str]:
        """A name to show for every room, by its id."""
        names = self.derived.names
        if len(names) < len(self.rooms):
            names.update((room.id, room.label) for room in self.rooms.values())
        return names

    @property
    def distinct_names(self) -> dict[int, str]:
        """A name for every room that no other has: rooms that share one have their numbers before it, ``L31 Maze``."""
        count = Counter(self.room_names.values())
        return {id_: name if count[name] == 1 else f"L{id_} {name}" for id_, name in self.room_names.items()}

    def add_room(self, id: int, name: str = "") -> bool:  # noqa: A002  the user's specification calls it so
        """Add a room, or give a known one its newest name that is not empty; return whether it is new.

        Raises ``ValueError`` for a negative id, as every method does that adds to the map.
        """
        require_location_id(id)
        known = self.rooms.get(id)
        if known is None:
            self.rooms[id] = Room(id=id, name=name)
        elif name and name != known.name:
            self.rooms[id] = known.model_copy(update={"name": name})
            self.derived.forget(id, *self.connections.get(id, {}).values())  # rooms of one name may be a maze
            self.derived.names.clear()
        return known is None

    def add_visit(self, location_id: int, episode: int, *, is_dark: bool = False) -> None:
        """Count that the player came to a known room in that episode, and note whether it was dark there."""
        room = self.rooms[location_id]
        episodes = room.episodes + (room.last_episode != episode or not room.visits)
        visits = {"visits": room.visits + 1, "episodes": episodes, "last_episode": episode, "is_dark": is_dark}
        self.rooms[location_id] = room.model_copy(update=visits)

    def add_exits(self, location_id: int, exits: Iterable[str]) -> tuple[str, ...]:
        """Add exits to a room, except pruned ones, and return those that are new."""
        self.add_room(location_id)
        room, pruned = self.rooms[location_id], self.pruned_exits.get(location_id, set())
        new = tuple(exit_ for exit_ in dict.fromkeys(exits) if exit_ not in room.exits and exit_ not in pruned)
        if new:
            self.rooms[location_id] = room.model_copy(update={"exits": room.exits + new})
            self.derived.forget(location_id)
        return new

    def name_exits(self, location_id: int, exits: Collection[str]) -> None:
        """Note which points of the compass the text of a room names."""
        known = self.named_exits.get(location_id, set())
        named = known | COMPASS.intersection(exits)
        if named != known:
            self.named_exits[location_id] = named
            self.derived.forget(location_id)

    def add_read_exits(self, location_id: int, exits: Iterable[str]) -> None:
        """Add exits that the prose of a room's text seems to name, with a mark on those that are new."""
        new = self.add_exits(location_id, exits)
        if new:
            self.read_exits.setdefault(location_id, set()).update(new)

    def deny_exit(self, location_id: int, exit_: str) -> None:
        """Take an exit off a room for good, unless a model reads it: it leads to no other room, but into a thing."""
        self.drop_exits(location_id, (exit_,))
        self.misread_exits.setdefault(location_id, set()).add(exit_)

    def drop_exits(self, location_id: int, exits: Iterable[str]) -> None:
        """Take exits off a room that were named by mistake; one that was walked stays."""
        room, mistaken = self.rooms.get(location_id), {*exits} - self.connections.get(location_id, {}).keys()
        if room is not None and not mistaken.isdisjoint(room.exits):
            kept = tuple(exit_ for exit_ in room.exits if exit_ not in mistaken)
            self.rooms[location_id] = room.model_copy(update={"exits": kept})
            self.derived.forget(location_id)

    def drop_refused_commands(self) -> None:
        """Forget commands such as ``open door`` that earlier versions kept as exits, though they were only refused."""
        for room, exits in self.refused_exits_of(self.rooms).items():
            for edge in (Edge(room, exit_) for exit_ in exits if " " in exit_):
                if not self.has_led(edge) and edge not in self.exit_deaths:
                    self.drop_exits(room, (edge.exit,))
                    self._unblock(edge)
                    self.first_refusals.pop(edge, None)

    def correct_exits(self, location_id: int, named: Collection[str], misread: Collection[str]) -> None:
        """Add the exits that a model read, and take off those that the text only seemed to name.

        If the model read any, the others stay off the map until a reading names them.
        """
        self.add_exits(location_id, named)
        self.drop_exits(location_id, misread)
        read = self.read_exits.pop(location_id, set()).difference(named, misread)
        if read:
            self.read_exits[location_id] = read
        known = self.misread_exits.pop(location_id, set())
        denied = known.union(misread if named else ()).difference(named)
        if denied:
            self.misread_exits[location_id] = denied

    def add_connection(
        self,
        from_id: int,
        exit: str,  # noqa: A002  the user's specification calls it so
        to_id: int,
        confidence: float = INITIAL_CONFIDENCE,
        *,
        ride: str = "",
    ) -> WalkOutcome:
        """Record that an exit led to ``to_id``. The newest observation is right, and the exit is no longer pruned.

        confidence: of a new edge, limited to 0.01 to 1; that of a known edge rises or falls with the observation
        ride: the name of the thing that the player was in or on all the time
        """
        require_location_id(from_id, to_id)
        edge = Edge(from_id, exit)
        before = self.connections.get(from_id, {}).get(exit)
        self.derived.forget(from_id, to_id, *(() if before is None else (before,)))
        self._unblock(edge)
        self.exit_deaths.pop(edge, None)
        self.add_exits(from_id, (exit,))
        self.add_room(to_id)
        self.connections.setdefault(from_id, {})[exit] = to_id
        if before is not None and before not in self.connections[from_id].values():
            self._sources[before].remove(from_id)
        self._sources.setdefault(to_id, set()).add(from_id)
        if not ride:
            self.rides.pop(edge, None)
        elif before is None or edge in self.rides:
            self.rides[edge] = ride
        if before is None:
            back = Edge(to_id, OPPOSITES.get(exit, ""))
            if self.last_refusal(back) != LEADS_BACK and not self.has_led(back):
                self._unblock(back)  # such as a locked door, which the player now comes from behind
            self.connection_confidence[edge] = min(1.0, max(LEAST_CONFIDENCE, confidence))
            self.connection_verifications[edge] = 1
            return "new"
        if before == to_id:
            self.connection_confidence[edge] = 1 - (1 - self.confidence(edge)) / 2
            self.connection_verifications[edge] = self.connection_verifications.get(edge, 0) + 1
            return "verified"
        self.connection_confidence[edge] = max(LEAST_CONFIDENCE, self.confidence(edge) / 2)
        self.connection_verifications[edge] = 1
        return "contradicted"

    def _unblock(self, edge: Edge) -> None:
        """Forget that an exit led nowhere; if it has led nowhere yet, the answers are kept as the first ones."""
        if self.is_pruned(*edge):
            self.pruned_exits[edge.location_id].remove(edge.exit)
            self.pruned_exits = {room: exits for room, exits in self.pruned_exits.items() if exits}
        if edge in self.exit_refusals and not self.has_led(edge):
            self.first_refusals[edge] = self.exit_refusals[edge]
        for failures in (self.exit_failure_counts, self.exit_refusals):
            failures.pop(edge, None)

    def has_led(self, edge: Edge) -> bool:
        """Return whether the exit has led to a room."""
        return edge.exit in self.connections.get(edge.location_id, {})

    def record_carry(self, from_id: int, command: str, carry: Carry) -> None:
        """Record that the story carried the player to another room. Of all commands between two rooms it is the last.

        No path to be walked leads there, because the same command need not do it again.
        """
        require_location_id(from_id, carry.to_id)
        same = [
            edge for edge, known in self.carries.items() if (edge.location_id, known.to_id) == (from_id, carry.to_id)
        ]
        for edge in same:
            del self.carries[edge]
        self.carries[Edge(from_id, command)] = carry
        self.derived.forget(from_id)

    @kept
    def carries_from(self, location_id: int) -> dict[str, Carry]:
        """Return the carries from that room by command, without those to rooms to which an exit leads."""
        walked = self.connections.get(location_id, {}).values()
        found = ((edge.exit, carry) for edge, carry in self.carries.items() if edge.location_id == location_id)
        return {command: carry for command, carry in found if carry.to_id not in walked}

    def record_refusal(self, location_id: int, exit_: str, words: str) -> None:
        """Record the story's answer when an exit led nowhere. The exit no longer counts as untried."""
        require_location_id(location_id)
        _add_answers(self.exit_refusals, Edge(location_id, exit_), (words,))
        self.derived.forget(location_id)

    def record_death(self, location_id: int, exit_: str, end: FatalExit) -> None:
        """Record how the player died on taking an exit, or how the story ended. It stays untried."""
        self.add_exits(location_id, (exit_,))
        _add_answers(self.exit_deaths, Edge(location_id, exit_), (end,))
        self.derived.forget(location_id)

    def record_failure(self, location_id: int, exit_: str, *, prune_after: int) -> FailureOutcome:
        """Record that an exit led nowhere.

        An exit that never worked is pruned at the ``prune_after``-th failure. One that did work only loses
        confidence: what shut it may open again.
        """
        require_location_id(location_id)
        edge = Edge(location_id, exit_)
        failures = self.exit_failure_counts.get(edge, 0) + 1
        self.exit_failure_counts[edge] = failures
        self.derived.forget(location_id)
        if exit_ in self.connections.get(location_id, {}):
            self.derived.forget(self.connections[location_id][exit_])
            self.connection_confidence[edge] = max(LEAST_CONFIDENCE, self.confidence(edge) / 2)
            return "contradicted"
        if failures < prune_after or self.is_pruned(location_id, exit_):
            return "counted"
        self.pruned_exits.setdefault(location_id, set()).add(exit_)
        self.drop_exits(location_id, (exit_,))
        return "pruned"

    def absorb(self, other: MapGraph) -> None:
        """Add the entries of ``other`` that this map lacks; entries of this map are kept."""
        self.named_exits = {**other.named_exits, **self.named_exits}
        self.first_refusals = {**other.first_refusals, **self.first_refusals}
        pairs = {(edge.location_id, carry.to_id) for edge, carry in self.carries.items()}
        more = {at: carry for at, carry in other.carries.items() if (at.location_id, carry.to_id) not in pairs}
        self.carries = {**more, **self.carries}
        for room in other.rooms.values():
            self.add_room(room.id, "" if room.id in self.rooms else room.name)
            if room.id in other.misread_exits:
                self.misread_exits.setdefault(room.id, other.misread_exits[room.id])
            misread = self.misread_exits.get(room.id, ())
            read = other.read_exits.get(room.id, ())
            self.add_exits(room.id, [exit_ for exit_ in room.exits if exit_ not in (*misread, *read)])
            self.add_read_exits(room.id, [exit_ for exit_ in room.exits if exit_ in read and exit_ not in misread])
            if room.visits > self.rooms[room.id].visits:
                visits = {each: getattr(room, each) for each in ("visits", "episodes", "last_episode", "is_dark")}
                self.rooms[room.id] = self.rooms[room.id].model_copy(update=visits)
        for from_id, exits in other.connections.items():
            self.connections.setdefault(from_id, {})
            for exit_, to_id in exits.items():
                if exit_ not in self.connections[from_id]:
                    edge = Edge(from_id, exit_)
                    self.add_connection(from_id, exit_, to_id, other.confidence(edge), ride=other.rides.get(edge, ""))
                    self.connection_verifications[edge] = other.connection_verifications.get(edge, 1)
        mine: dict[Edge, tuple[Any, ...]]
        for mine, theirs in ((self.exit_refusals, other.exit_refusals), (self.exit_deaths, other.exit_deaths)):
            for edge, answers in theirs.items():
                ends_walk = mine is self.exit_deaths and edge.exit in other.connections.get(edge.location_id, {})
                if ends_walk or edge.exit not in self.connections.get(edge.location_id, {}):
                    _add_answers(mine, edge, answers)
        self.derived.forget(*self.derived.at)

    def is_pruned(self, location_id: int, exit_: str) -> bool:
        """Return whether the exit failed as often as it takes, and never worked."""
        return exit_ in self.pruned_exits.get(location_id, ())

    @kept
    def untried_exits(self, location_id: int) -> tuple[str, ...]:
        """Return the exits that the story names there and that were never tried.

        Presumed ways back are left out, and ``up`` if the player has climbed from there: another command is a way, too.
        """
        exits = self.rooms[location_id].exits if location_id in self.rooms else ()
        others = (set(command.split()) for command in self.connections.get(location_id, {}) if " " in command)
        gone = {next((exit_ for exit_, meant in OTHER_WORDS.items() if meant & words), "") for words in others}
        untried = [exit_ for exit_ in exits if exit_ not in gone and not self._is_tried(Edge(location_id, exit_))]
        back = self.ways_back(location_id) if untried else {}
        return tuple(exit_ for exit_ in untried if exit_ not in back)

    @kept
    def barred_exits(self, location_id: int) -> tuple[str, ...]:
        """Return the exits that the story names there and that never worked, however often they failed.

        What barred such an exit may go away. The exits of the room do not include pruned ones.
        """
        exits = self.rooms[location_id].exits if location_id in self.rooms else ()
        pruned = self.named_exits.get(location_id, set()) & self.pruned_exits.get(location_id, set())
        named = dict.fromkeys([*exits, *sorted(pruned)])
        walked = self.connections.get(location_id, {})
        failed = (exit_ for exit_ in named if Edge(location_id, exit_) in self.exit_failure_counts)
        return tuple(exit_ for exit_ in failed if exit_ not in walked)

    def _is_tried(self, edge: Edge) -> bool:
        return self.has_led(edge) or self.last_refusal(edge) is not None

    @kept
    def refused_exits(self, location_id: int) -> dict[str, str]:
        """Return the exits there that led nowhere when last tried, with the story's answers, "" if they are unknown.

        Such an exit may have an edge, like a door that was shut.
        """
        return self.refused_exits_of((location_id,)).get(location_id, {})

    def refused_exits_of(self, location_ids: Container[int]) -> dict[int, dict[str, str]]:
        """Return the refused exits of each of these locations that has any, without those that led back to it."""
        edges = chain(
            self.exit_refusals,
            self.exit_failure_counts,
            (Edge(room, exit_) for room, exits in self.pruned_exits.items() for exit_ in exits),
        )
        found: dict[int, dict[str, str]] = {}
        for edge in sorted({edge for edge in edges if edge.location_id in location_ids}):
            walked = self.connections.get(edge.location_id, {})
            if edge.exit in walked or LEADS_BACK not in self.exit_refusals.get(edge, ()):
                found.setdefault(edge.location_id, {})[edge.exit] = in_order(self.exit_refusals.get(edge, ()))
        return found

    @kept
    def exits_back(self, location_id: int) -> dict[str, tuple[str, ...]]:
        """Return the exits there that led to the room itself and to no other, with all else that is known of them."""
        walked, room = self.connections.get(location_id, {}), self.rooms.get(location_id)
        exits = {*OPPOSITES, *(room.exits if room else ())} - walked.keys()
        answers = ((exit_, self.exit_refusals.get(Edge(location_id, exit_), ())) for exit_ in sorted(exits))
        return {
            exit_: tuple(each for each in known if each != LEADS_BACK)
            for exit_, known in answers
            if LEADS_BACK in known
        }

    def last_refusal(self, edge: Edge) -> str | None:
        """Return the story's answers when the exit last led nowhere, or "" if they are unknown.

        Returns ``None`` if the exit worked when last tried.
        """
        is_refused = edge in self.exit_refusals or edge in self.exit_failure_counts or self.is_pruned(*edge)
        return in_order(self.exit_refusals.get(edge, ())) if is_refused else None

    def confidence(self, edge: Edge) -> float:
        """Return the confidence in the edge, from 0.01 to 1."""
        return max(LEAST_CONFIDENCE, self.connection_confidence.get(edge, INITIAL_CONFIDENCE))

    def render_mermaid(self) -> str:
        """Return a Mermaid flowchart: a node ``L{id}`` for each room, an arrow with all commands for each pair."""
        names = {each: room.name or f"Location {each}" for each, room in sorted(self.rooms.items())}
        lines = ["graph TD", *(f'    L{each}["{_escape(name)}"]' for each, name in names.items())]
        for from_id, exits in sorted(self.connections.items()):
            for to_id, commands in by_destination(exits).items():
                lines.append(f'    L{from_id} -->|"{_escape(" / ".join(commands))}"| L{to_id}')
        return "\n".join(lines)

    def to_dict(self) -> dict[str, object]:
        """Return the map in the shape of ``map_state.json``, unknown keys included."""
        own_metadata = {
            "version": FORMAT_VERSION,
            "total_rooms": len(self.rooms),
            "total_connections": sum(map(len, self.connections.values())),
            "timestamp": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        return {**self.model_dump(mode="json"), "metadata": {**self.metadata, **own_metadata}}

    @classmethod
    def from_dict(cls, state: Mapping[str, object]) -> Self:
        """Return the map that ``to_dict`` gave. Raises ``StoreError`` for anything of another shape."""
        try:
            return cls.model_validate(state)
        except ValidationError as error:
            raise StoreError(f"not a map: {error}") from error

    def save_to_json(self, path: Path | str) -> None:
        """Write the map to a file, all of it or nothing. Raises ``StoreError``."""
        write_atomically(Path(path), to_json(self.to_dict(), indent=2))

    @classmethod
    def read(cls, path: Path | str, note: Callable[[str], object] = lambda _problem: None) -> Self | None:
        """Return the map in the file, or ``None`` if there is no file. Changes nothing.

        note: called with each invalid entry, which is left out
        Raises ``StoreError`` if the file cannot be read or is not a map.
        """
        path = Path(path)
        content = read_shared(path)
        if content is None:
            return None
        return cls.parse(content, path, lambda where, problem: note(f"{path}: {where} is left out: {problem}"))

    @classmethod
    def parse(
        cls, content: bytes, path: Path, note: Callable[[str, str], object] = lambda _where, _problem: None
    ) -> Self:
        """Return the map in the content of the file at ``path``.

        note: called with the keys that lead to each invalid entry, which is left out, and with the reason
        Raises ``NoMap``.
        """
        try:
            state = _STATE.validate_json(content.removeprefix(BOM_UTF8))
            if "rooms" not in state:
                raise NoMap(path, "rooms", "Field required")
            for entry, problem in _faults(state).items():
                holder: Any = state
                for key in entry[:-1]:
                    holder = holder.get(key, {})
                holder.pop(entry[-1], None)
                note(".".join(map(str, entry)), problem)
            graph = cls.model_validate(state)
        except ValidationError as error:
            first = error.errors()[0]
            raise NoMap(path, ".".join(map(str, first["loc"])) or "the file", first["msg"]) from error
        graph.drop_refused_commands()
        return graph

    @classmethod
    def load_from_json(cls, path: Path | str) -> Self | None:
        """Return the map in the file, or ``None`` if there is no file or no map in it. Changes nothing.

        Invalid files and entries are logged to the logger ``zorkgpt``. Raises ``StoreError`` if the file cannot be
        read.
        """
        warn = logging.getLogger("zorkgpt").warning
        try:
            return cls.read(path, warn)
        except NoMap as error:
            warn(str(error))
            return None


def _add_answers(known: dict[Edge, tuple[Any, ...]], edge: Edge, answers: Iterable[Any]) -> None:
    """Add those of the answers that are not known, after the others."""
    for answer in answers:
        before = known.setdefault(edge, ())
        if answer and answer not in before:
            known[edge] = (*before[: MOST_ANSWERS - 1], answer)


def _faults(state: dict[str, Any]) -> dict[tuple[int | str, ...], str]:
    """Return what is wrong with each invalid entry; a map without ``rooms`` has no such entries."""
    rooms = state["rooms"]
    faults: dict[tuple[int | str, ...], str] = {
        ("rooms", key): "a room has the id of another room"
        for key, room in (rooms.items() if isinstance(rooms, dict) else ())
        if isinstance(room, dict) and str(room.get("id", key)) != key
    }
    try:
        MapGraph.model_validate(state)
    except ValidationError as error:
        for problem in error.errors():
            if problem["loc"] not in {(), ("rooms",)}:
                where = problem["loc"]
                one_exit = where[0] == "connections" and where[2:] != ("[key]",)
                faults.setdefault(where[: 3 if one_exit else 2], problem["msg"])
    return faults
