"""The graph of rooms and the walked ways between them, and its text for prompts and Mermaid.

An edge exists because it was walked. The way back is presumed until it is tried, and never becomes an edge by itself
(docs/specification.md, Map edges). Names come from a story and commands from a model, so both are escaped here.
``names`` are the names to show, by location id. ``connections`` are location ids by exit, by location id.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from pydantic import ValidationError
from pydantic_core import to_json
from typing_extensions import Self

from session.errors import StoreError
from session.files.shared_files import write_atomically
from session.values import Location
from zorkgpt.mapping.map_file import MapFile, NoMap, read_map_file

_BACK = {
    "north": "south",
    "east": "west",
    "northeast": "southwest",
    "northwest": "southeast",
    "up": "down",
    "in": "out",
    "fore": "aft",
    "port": "starboard",
}
OPPOSITES = _BACK | {back: exit_ for exit_, back in _BACK.items()}
"""The direction that leads back, as a rule, by each direction as the map spells it."""

MAX_ADJACENT = 5
MAX_ADJACENT_EXITS = 3

# All else has a meaning inside Mermaid's quotes in one version of it or another.
_SAFE_PUNCTUATION = frozenset(" ',.-/!?()")


def mermaid(names: Mapping[int, str], connections: Mapping[int, Mapping[str, int]]) -> str:
    """Return a Mermaid flowchart: a node ``L{id}`` for each room, an arrow with all commands for each pair of rooms.

    A connection whose room has no name in ``names`` is left out, so a part of the map is drawn by its names.
    """
    lines = ["graph TD"]
    lines += [f'    L{location_id}["{_escape(_name(location_id, names))}"]' for location_id in sorted(names)]
    for from_id, exits in sorted(connections.items()):
        for to_id, commands in by_destination(exits).items():
            if from_id in names and to_id in names:
                lines.append(f'    L{from_id} -->|"{_escape(" / ".join(commands))}"| L{to_id}')
    return "\n".join(lines)


def routing_summary(location_id: int, names: Mapping[int, str], connections: Mapping[int, Mapping[str, int]]) -> str:
    """Return the exits of a location and of at most five next to it (docs/specification.md, Map in prompts)."""
    lines = [f"## Current Location: {location_id} ({_name(location_id, names)})"]
    if connections.get(location_id):
        lines.append("**Available Exits:**")
        lines += [_exit_line(exit_, to_id, names) for exit_, to_id in sorted(connections[location_id].items())]
    else:
        lines.append("  - No mapped exits")
    adjacent = adjacent_ids(location_id, connections)
    if adjacent:
        lines.append("\n## Adjacent Locations (1 hop away):")
    for adjacent_id in adjacent[:MAX_ADJACENT]:
        lines.append(f"\n**Location {adjacent_id} ({_name(adjacent_id, names)}):**")
        exits = sorted(connections.get(adjacent_id, {}).items())[:MAX_ADJACENT_EXITS]
        for exit_, to_id in exits:
            back = " [back to current]" if to_id == location_id else ""
            lines.append(_exit_line(exit_, to_id, names) + back)
    return "\n".join(lines)


def adjacent_ids(location_id: int, connections: Mapping[int, Mapping[str, int]]) -> tuple[int, ...]:
    """Return the locations one move away in either direction, in order of their ids."""
    leading_here = {from_id for from_id, exits in connections.items() if location_id in exits.values()}
    return tuple(sorted(leading_here.union(connections.get(location_id, {}).values()) - {location_id}))


def by_destination(exits: Mapping[str, int]) -> dict[int, list[str]]:
    """Return the commands that lead to each location, both in a fixed order."""
    commands: defaultdict[int, list[str]] = defaultdict(list)
    for exit_, to_id in sorted(exits.items()):
        commands[to_id].append(exit_)
    return dict(sorted(commands.items()))


def _exit_line(exit_: str, to_id: int, names: Mapping[int, str]) -> str:
    return f"  - {plain_line(exit_)} → Location {to_id} ({_name(to_id, names)})"


def _name(location_id: int, names: Mapping[int, str]) -> str:
    return plain_line(names.get(location_id, "")) or f"Location #{location_id}"


def plain_line(text: str) -> str:
    """Return the text with white space and unprintable characters as single spaces: a name cannot start a new line."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(text.split())


@lru_cache(maxsize=4096)
def _escape(text: str) -> str:
    """Return the text for Mermaid's double quotes, with character codes for special characters."""
    return "".join(
        char if char.isalnum() or char in _SAFE_PUNCTUATION else f"#{ord(char)};" for char in plain_line(text)
    )


FORMAT_VERSION = "1.0"
INITIAL_CONFIDENCE = 0.8
SURE = 0.5
"""An edge of less confidence is shown as unsure: a command that is no direction, walked once, or one that failed."""
LEAST_CONFIDENCE = 0.01
_DEADLY = "deadly"
"""The refusal by which earlier versions recorded a death."""
_OWN_METADATA = ("version", "total_rooms", "total_connections", "timestamp")

WalkOutcome = Literal["new", "verified", "contradicted"]
FailureOutcome = Literal["counted", "pruned", "contradicted"]

Kept = TypeVar("Kept", int, float, str)


class Edge(NamedTuple):
    """An exit of a room, as a key: ``15_north`` in the file."""

    location_id: int
    exit: str

    @classmethod
    def from_key(cls, key: str) -> Edge:
        """Return the edge that the file calls ``key``."""
        location_id, _, exit_ = key.partition("_")
        return cls(int(location_id), exit_)

    @property
    def key(self) -> str:
        """The edge's name in the file."""
        return f"{self.location_id}_{self.exit}"


@dataclass(frozen=True, slots=True)
class Room:
    """A location of the map, identified by its Z-machine object number; names may be empty or shared.

    exits: exits that were walked or that the story names, without pruned ones
    extra: other keys of the room in the file
    visits: how often the player came here, and in how many episodes; the last of them was ``last_episode``
    """

    id: int
    name: str
    exits: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)
    visits: int = 0
    episodes: int = 0
    last_episode: int = 0

    @property
    def label(self) -> str:
        """A name to show, never empty."""
        return self.name or Location(self.id, "").label

    def to_dict(self) -> dict[str, object]:
        """Return the room in the shape of the file."""
        visits = {"visits": self.visits, "episodes": self.episodes, "last_episode": self.last_episode}
        return {
            **self.extra,
            "id": self.id,
            "name": self.name,
            "exits": list(self.exits),
            **(visits if self.visits else {}),
        }


@dataclass(slots=True)
class MapGraph:
    """A directed graph of rooms; an edge is an exit's command.

    connection_confidence: from 0.01 to 1; a verification halves the doubt, a contradiction the confidence
    connection_verifications: how often the edge was confirmed
    exit_failure_counts: how often an exit led nowhere since it last worked
    exit_refusals: the story's answer when an exit last led nowhere; removed when it works
    exit_deaths: how the player last died on taking an exit, which stays untried; removed when it works
    pruned_exits: exits that failed often enough and never worked
    extra, metadata: other content of the file
    """

    rooms: dict[int, Room] = field(default_factory=dict)
    connections: dict[int, dict[str, int]] = field(default_factory=dict)
    connection_confidence: dict[Edge, float] = field(default_factory=dict)
    connection_verifications: dict[Edge, int] = field(default_factory=dict)
    exit_failure_counts: dict[Edge, int] = field(default_factory=dict)
    exit_refusals: dict[Edge, str] = field(default_factory=dict)
    exit_deaths: dict[Edge, str] = field(default_factory=dict)
    pruned_exits: dict[int, set[str]] = field(default_factory=dict)
    extra: dict[str, object] = field(default_factory=dict)
    metadata: dict[str, object] = field(default_factory=dict)
    _ways_back: dict[int, dict[str, int]] | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def ways_back(self) -> Mapping[int, Mapping[str, int]]:
        """Location ids by exit, by location id, of untried exits that should lead back.

        Such an exit is the opposite of the only direction by which the player came from that location.
        """
        if self._ways_back is None:
            found: defaultdict[int, defaultdict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
            for from_id, exits in self.connections.items():
                for exit_, to_id in exits.items():
                    if from_id != to_id and self.confidence(Edge(from_id, exit_)) >= SURE and exit_ in OPPOSITES:
                        found[to_id][OPPOSITES[exit_]].add(from_id)
            self._ways_back = {
                room: {
                    exit_: min(sources)
                    for exit_, sources in sorted(exits.items())
                    if len(sources) == 1 and not self._is_tried(Edge(room, exit_))
                }
                for room, exits in found.items()
            }
        return self._ways_back

    @property
    def room_names(self) -> dict[int, str]:
        """A name to show for every room, by its id."""
        return {room.id: room.label for room in self.rooms.values()}

    @property
    def distinct_names(self) -> dict[int, str]:
        """A name for every room that no other has: rooms that share one have their numbers before it, ``L31 Maze``."""
        count = Counter(self.room_names.values())
        return {id_: name if count[name] == 1 else f"L{id_} {name}" for id_, name in self.room_names.items()}

    def add_room(self, id: int, name: str = "") -> bool:  # noqa: A002  the user's specification calls it so
        """Add a room, or give a known one its newest name that is not empty; return whether it is new.

        Raises ``ValueError`` for a negative id, as every method does that adds to the map.
        """
        _check_ids(id)
        known = self.rooms.get(id)
        if known is None:
            self.rooms[id] = Room(id, name)
        elif name and name != known.name:
            self.rooms[id] = replace(known, name=name)
        return known is None

    def add_visit(self, location_id: int, episode: int) -> None:
        """Count that the player came to a known room in that episode."""
        room = self.rooms[location_id]
        episodes = room.episodes + (room.last_episode != episode or not room.visits)
        self.rooms[location_id] = replace(room, visits=room.visits + 1, episodes=episodes, last_episode=episode)

    def add_exits(self, location_id: int, exits: Iterable[str]) -> tuple[str, ...]:
        """Add exits to a room, except pruned ones, and return those that are new."""
        self.add_room(location_id)
        room, pruned = self.rooms[location_id], self.pruned_exits.get(location_id, set())
        new = tuple(exit_ for exit_ in dict.fromkeys(exits) if exit_ not in room.exits and exit_ not in pruned)
        if new:
            self.rooms[location_id] = replace(room, exits=room.exits + new)
        return new

    def drop_exits(self, location_id: int, exits: Iterable[str]) -> None:
        """Take exits off a room that were named by mistake; one that was walked stays."""
        room, mistaken = self.rooms.get(location_id), {*exits} - self.connections.get(location_id, {}).keys()
        if room is not None and not mistaken.isdisjoint(room.exits):
            self.rooms[location_id] = replace(room, exits=tuple(each for each in room.exits if each not in mistaken))

    def add_connection(
        self,
        from_id: int,
        exit: str,  # noqa: A002  the user's specification calls it so
        to_id: int,
        confidence: float = INITIAL_CONFIDENCE,
    ) -> WalkOutcome:
        """Record that an exit led to ``to_id``. The newest observation is right, and the exit is no longer pruned.

        confidence: of a new edge, limited to 0.01 to 1; that of a known edge rises or falls with the observation
        """
        _check_ids(from_id, to_id)
        self._ways_back = None
        edge = Edge(from_id, exit)
        before = self.connections.get(from_id, {}).get(exit)
        self._lift_pruning(edge)
        self.add_exits(from_id, (exit,))
        self.add_room(to_id)
        self.connections[from_id] = {**self.connections.get(from_id, {}), exit: to_id}
        self.exit_failure_counts.pop(edge, None)
        self.exit_refusals.pop(edge, None)
        self.exit_deaths.pop(edge, None)
        if before is None:
            self.connection_confidence[edge] = min(1.0, max(LEAST_CONFIDENCE, confidence))
            self.connection_verifications[edge] = 1
            return "new"
        if before == to_id:
            self.connection_confidence[edge] = 1 - (1 - self.confidence(edge)) / 2
            self.connection_verifications[edge] = self.connection_verifications.get(edge, 0) + 1
            return "verified"
        self._contradict(edge)
        self.connection_verifications[edge] = 1
        return "contradicted"

    def record_refusal(self, location_id: int, exit_: str, words: str) -> None:
        """Record the story's answer when an exit led nowhere. The exit no longer counts as untried."""
        _check_ids(location_id)
        self._ways_back = None
        self.exit_refusals[Edge(location_id, exit_)] = words

    def record_death(self, location_id: int, exit_: str, words: str) -> None:
        """Record how the player died on taking an exit. It stays untried, since it may be safe later."""
        self._ways_back = None
        self.add_exits(location_id, (exit_,))
        self.exit_deaths[Edge(location_id, exit_)] = words

    def record_failure(self, location_id: int, exit_: str, *, prune_after: int) -> FailureOutcome:
        """Record that an exit led nowhere.

        An exit that never worked is pruned at the ``prune_after``-th failure. One that did work only loses
        confidence: what shut it may open again.
        """
        _check_ids(location_id)
        self._ways_back = None
        edge = Edge(location_id, exit_)
        failures = self.exit_failure_counts.get(edge, 0) + 1
        self.exit_failure_counts[edge] = failures
        if exit_ in self.connections.get(location_id, {}):
            self._contradict(edge)
            return "contradicted"
        if failures < prune_after or self.is_pruned(location_id, exit_):
            return "counted"
        self.pruned_exits.setdefault(location_id, set()).add(exit_)
        room = self.rooms.get(location_id, Room(location_id, ""))
        self.rooms[location_id] = replace(room, exits=tuple(each for each in room.exits if each != exit_))
        return "pruned"

    def absorb(self, other: MapGraph) -> None:
        """Add the entries of ``other`` that this map lacks; entries of this map are kept."""
        for room in other.rooms.values():
            self.add_room(room.id, "" if room.id in self.rooms else room.name)
            self.add_exits(room.id, room.exits)
            if room.visits > self.rooms[room.id].visits:
                self.rooms[room.id] = replace(
                    self.rooms[room.id], visits=room.visits, episodes=room.episodes, last_episode=room.last_episode
                )
        for from_id, exits in other.connections.items():
            self.connections.setdefault(from_id, {})
            for exit_, to_id in exits.items():
                if exit_ not in self.connections[from_id]:
                    edge = Edge(from_id, exit_)
                    self.add_connection(from_id, exit_, to_id, other.confidence(edge))
                    self.connection_verifications[edge] = other.connection_verifications.get(edge, 1)
        for edge, words in other.exit_refusals.items():
            if edge.exit not in self.connections.get(edge.location_id, {}):
                self.exit_refusals.setdefault(edge, words)
        for edge, words in other.exit_deaths.items():
            if edge.exit not in self.connections.get(edge.location_id, {}):
                self.exit_deaths.setdefault(edge, words)
        self._ways_back = None

    def copy(self) -> Self:
        """Return a map that stays as this one is now."""
        return replace(
            self,
            rooms=dict(self.rooms),
            connections=dict(self.connections),  # what is in it is never changed, but replaced
            connection_confidence=dict(self.connection_confidence),
            connection_verifications=dict(self.connection_verifications),
            exit_failure_counts=dict(self.exit_failure_counts),
            exit_refusals=dict(self.exit_refusals),
            exit_deaths=dict(self.exit_deaths),
            pruned_exits={location_id: set(exits) for location_id, exits in self.pruned_exits.items()},
        )

    def is_pruned(self, location_id: int, exit_: str) -> bool:
        """Return whether the exit failed as often as it takes, and never worked."""
        return exit_ in self.pruned_exits.get(location_id, ())

    def untried_exits(self, location_id: int) -> tuple[str, ...]:
        """Return the exits that the story names there and that were never tried, without the presumed ways back."""
        room = self.rooms.get(location_id)
        walked, back = self.connections.get(location_id, {}), self.ways_back.get(location_id, {})
        untried = (exit_ for exit_ in (room.exits if room else ()) if exit_ not in walked and exit_ not in back)
        return tuple(exit_ for exit_ in untried if not self._was_refused(Edge(location_id, exit_)))

    def refused_exits(self, location_id: int) -> dict[str, str]:
        """Return the exits there that led nowhere when last tried, with the story's answer if it is known.

        Such an exit may have an edge, like a door that was shut.
        """
        edges = {*self.exit_refusals, *self.exit_failure_counts}
        failed = {edge.exit for edge in edges if edge.location_id == location_id}
        failed |= self.pruned_exits.get(location_id, set())
        return {exit_: self.exit_refusals.get(Edge(location_id, exit_), "") for exit_ in sorted(failed)}

    def last_refusal(self, edge: Edge) -> str | None:
        """Return the story's answer when the exit last led nowhere, or "" if it is unknown.

        Returns ``None`` if the exit worked when last tried.
        """
        return self.exit_refusals.get(edge, "") if self._was_refused(edge) else None

    def confidence(self, edge: Edge) -> float:
        """Return the confidence in the edge, from 0.01 to 1."""
        return max(LEAST_CONFIDENCE, self.connection_confidence.get(edge, INITIAL_CONFIDENCE))

    def render_mermaid(self) -> str:
        """Return the whole map as a Mermaid flowchart with ``L{id}`` nodes."""
        return mermaid(self.room_names, self.connections)

    def to_dict(self) -> dict[str, object]:
        """Return the map in the shape of ``map_state.json``, unknown keys included."""
        return {
            **self.extra,
            "rooms": {str(room.id): room.to_dict() for room in self.rooms.values()},
            "connections": {str(from_id): dict(exits) for from_id, exits in self.connections.items()},
            "connection_confidence": _by_key(self.connection_confidence),
            "connection_verifications": _by_key(self.connection_verifications),
            "exit_failure_counts": _by_key(self.exit_failure_counts),
            **({"exit_refusals": _by_key(self.exit_refusals)} if self.exit_refusals else {}),
            **({"exit_deaths": _by_key(self.exit_deaths)} if self.exit_deaths else {}),
            "pruned_exits": {str(from_id): sorted(exits) for from_id, exits in self.pruned_exits.items()},
            "metadata": {
                **self.metadata,
                "version": FORMAT_VERSION,
                "total_rooms": len(self.rooms),
                "total_connections": sum(map(len, self.connections.values())),
                "timestamp": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            },
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, object]) -> Self:
        """Return the map that ``to_dict`` gave. Raises ``StoreError`` for anything of another shape."""
        try:
            return cls.from_file(MapFile.model_validate(state))
        except ValidationError as error:
            raise StoreError(f"not a map: {error}") from error

    def save_to_json(self, path: Path | str) -> None:
        """Write the map to a file, all of it or nothing. Raises ``StoreError``."""
        write_atomically(path, self.to_json())

    def to_json(self) -> bytes:
        """Return what the file of the map holds."""
        return to_json(self.to_dict(), indent=2)

    @classmethod
    def read(cls, path: Path | str, note: Callable[[str], object] = lambda _problem: None) -> Self | None:
        """Return the map in the file, or ``None`` if there is no file. Changes nothing.

        note: called with each invalid entry, which is left out
        Raises ``StoreError`` if the file cannot be read or is not a map.
        """
        read = read_map_file(path)
        if read is None:
            return None
        for where, problem in read.left_out.items():
            note(f"{path}: {where} is left out: {problem}")
        return cls.from_file(read.file)

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

    @classmethod
    def from_file(cls, file: MapFile) -> Self:
        """Return the map that a file holds."""
        refusals = _by_edge(file.exit_refusals)
        graph = cls(
            rooms={
                entry.id: Room(
                    entry.id,
                    entry.name,
                    tuple(entry.exits),
                    entry.model_extra or {},
                    entry.visits,
                    entry.episodes,
                    entry.last_episode,
                )
                for entry in file.rooms.values()
            },
            connections=file.connections,
            connection_confidence=_by_edge(file.connection_confidence),
            connection_verifications=_by_edge(file.connection_verifications),
            exit_failure_counts=_by_edge(file.exit_failure_counts),
            exit_refusals={edge: words for edge, words in refusals.items() if words != _DEADLY},
            exit_deaths={edge: "you died" for edge, words in refusals.items() if words == _DEADLY}
            | _by_edge(file.exit_deaths),
            pruned_exits={location_id: set(exits) for location_id, exits in file.pruned_exits.items()},
            extra=file.model_extra or {},
            metadata={key: value for key, value in file.metadata.items() if key not in _OWN_METADATA},
        )
        for from_id, exits in file.connections.items():
            for location_id in (from_id, *exits.values()):
                graph.add_room(location_id)
        return graph

    def _is_tried(self, edge: Edge) -> bool:
        is_walked = edge.exit in self.connections.get(edge.location_id, {})
        return is_walked or edge in self.exit_deaths or self._was_refused(edge)

    def _was_refused(self, edge: Edge) -> bool:
        return edge in self.exit_refusals or edge in self.exit_failure_counts or self.is_pruned(*edge)

    def _contradict(self, edge: Edge) -> None:
        self.connection_confidence[edge] = max(LEAST_CONFIDENCE, self.confidence(edge) / 2)

    def _lift_pruning(self, edge: Edge) -> None:
        pruned = self.pruned_exits.get(edge.location_id, set())
        pruned.discard(edge.exit)
        if not pruned:
            self.pruned_exits.pop(edge.location_id, None)


def _check_ids(*location_ids: int) -> None:
    for location_id in location_ids:
        if location_id < 0:
            raise ValueError(f"{location_id} is not a location id: expected a whole number, not negative")


def _by_key(kept: Mapping[Edge, Kept]) -> dict[str, Kept]:
    return {edge.key: each for edge, each in kept.items()}


def _by_edge(kept: Mapping[str, Kept]) -> dict[Edge, Kept]:
    return {Edge.from_key(key): each for key, each in kept.items()}
