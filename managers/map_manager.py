"""Learns the map of a work folder turn by turn and keeps it across episodes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from typing_extensions import Self, override

from managers.base_manager import BaseManager, Log, ManagerParts, ManagerStatus
from session.context import Place, PromptSection
from session.events import EpisodeEnd
from session.files.run_folders import SharedFile
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import description_in, first_line, gist
from session.values import Location, Observation, TurnRecord
from zorkgpt.mapping import navigation
from zorkgpt.mapping.map_graph import MapGraph, routing_summary
from zorkgpt.mapping.map_store import MapStore
from zorkgpt.mapping.movement_analyzer import Attempt, MovementAnalyzer, repeated
from zorkgpt.mapping.navigation import FrontierRoom, Route, local_view

_DARK = re.compile(r"\b(?:pitch[ -](?:dark|black)|too dark|darkness)\b", re.IGNORECASE)
LONGEST_REFUSAL = 120  # characters
SAVE_INTERVAL = 10  # turns


@dataclass(frozen=True, slots=True)
class MapChange:
    """The changes that one turn made to the map.

    new_room: the player entered a location that is new in all episodes
    new_edge: a command led elsewhere for the first time from this location
    contradicted: a known edge led to another location, or nowhere
    pruned: the exit was pruned because it failed repeatedly
    unpruned: a pruned exit worked
    """

    new_room: bool = False
    new_edge: bool = False
    contradicted: bool = False
    pruned: bool = False
    unpruned: bool = False


class MapManager(BaseManager):
    """Owns the map graph ``game_map`` and its file, ``config.map_state_file`` in the work folder.

    directions: the story's own direction words (``StoryFacts.directions``)
    graph: a map to start from instead of the file's
    """

    def __init__(
        self,
        logger: Log,
        config: GameConfiguration,
        game_state: GameState,
        *,
        directions: Iterable[str] = (),
        graph: MapGraph | None = None,
    ) -> None:
        super().__init__(logger, config, game_state)
        self.path = config.zork_game_workdir / config.map_state_file
        self._store = MapStore(self.path, self.log_error, graph)
        self.game_map = self._store.graph
        self._movements = MovementAnalyzer(directions)
        self._previous_command = ""

    @classmethod
    def build(cls, parts: ManagerParts) -> Self:
        """Build the manager with the story's own directions."""
        return cls(parts.logger, parts.config, parts.game_state, directions=parts.story.directions)

    @classmethod
    @override
    def shared_files(cls, config: GameConfiguration) -> tuple[SharedFile, ...]:
        return (SharedFile(config.map_state_file, "map_state.json"),)

    @override
    def stores(self) -> tuple[MapStore, ...]:
        return (self._store,)

    def reset(self, game_state: GameState | None = None) -> None:
        """Begin a new episode. The map is kept."""
        super().reset(game_state)
        self._previous_command = ""
        here = self.game_state.opening_location
        self._note_bearings(self.game_state.opening, here)
        if here is not None:
            self.game_map.add_room(here.num, here.name)
            self.game_map.add_visit(here.num, self.game_state.episode)

    def learn(self, turn: TurnRecord) -> MapChange:
        """Learn from the turn, and write the map if rooms or edges changed.

        In a run, changes are written with the commit of every ``SAVE_INTERVAL``-th turn. Raises ``StoreError`` if the
        file cannot be written. The map in memory is then up to date.
        """
        attempt = self._movements.attempt(turn, self._previous_command)
        self._note_death(turn)
        if turn.after.refusal is None:
            self._previous_command = repeated(turn.action, self._previous_command)
        entered = [self._enter(observation) for observation in (turn.before, turn.after)]
        if turn.moved and turn.after.location is not None:
            self.game_map.add_visit(turn.after.location.num, turn.episode)
        change = self._learn_attempt(attempt, turn, new_room=any(entered))
        self._store.is_changed = self._store.is_changed or change != MapChange()
        if self._store.is_changed and (turn.turn % SAVE_INTERVAL == 0 or not self._store.holds):
            self._store.demand()
        if not self._store.holds:
            self.commit()
        self._note_bearings(turn.after.text, turn.after.location)
        if turn.reading and (turn.reading.exits or turn.reading.is_room_description) and turn.before.location:
            named = self._movements.exits_named(turn.reading.exits)
            self.game_map.add_exits(turn.before.location.num, named)
            self.game_map.drop_exits(
                turn.before.location.num, {*self._bearings_in(turn.before.text, turn.before.location)}.difference(named)
            )
        return change

    def note_exits(self, location: Location, exits: Iterable[str]) -> tuple[str, ...]:
        """Add the directions named by these words to the exits of the location. Returns the new ones."""
        self.game_map.add_room(location.num, location.name)
        return self.game_map.add_exits(location.num, self._movements.exits_named(exits))

    def end(self, end: EpisodeEnd) -> None:
        """Write the map with the next commit, even if it is unchanged."""
        del end
        self._store.demand()

    def section(self, observation: Observation) -> PromptSection | None:
        """Return the map around the player, unless ``config.map.shown`` is off."""
        del observation
        return PromptSection("Map", self.local_view(), 6, Place.MAP) if self.config.map.shown else None

    @override
    def outlook(self) -> str:
        opening = self.game_state.opening_location
        shown = self.config.map.shown and opening is not None
        return navigation.untried_from(self.game_map, opening.num) if shown and opening else ""

    def save_map_state(self) -> None:
        """Write the map. Raises ``StoreError``."""
        self._store.save()

    def route(self, from_id: int, to_id: int) -> Route | None:
        """Return the most reliable short route along known edges, or ``None`` if there is none."""
        return navigation.shortest_route(self.game_map, from_id, to_id)

    @property
    def leads_farther(self) -> bool:
        """Whether known edges lead from here to a room that is more than one command away."""
        here = self.game_state.current_room_id
        return here is not None and navigation.leads_farther(self.game_map, here)

    def frontier(self) -> tuple[FrontierRoom, ...]:
        """Return the reachable rooms with untried exits, nearest first."""
        here = self.game_state.current_room_id
        return () if here is None else navigation.frontier(self.game_map, here)

    def local_view(self) -> str:
        """Describe the rooms within ``config.map.local_radius`` moves, one a line; "" if the location is not known."""
        here = self.game_state.current_room_id
        return "" if here is None else local_view(self.game_map, here, self.config.map.local_radius)

    def routing_summary(self) -> str:
        """Describe the exits here and in adjacent rooms; "" if the location is not known."""
        here = self.game_state.current_room_id
        if here is None:
            return ""
        return routing_summary(here, self.game_map.room_names, self.game_map.connections)

    @override
    def get_status(self) -> ManagerStatus:
        graph = self.game_map
        return {
            "type": "map",
            "state": {"file": str(self.path), "location_id": self.game_state.current_room_id},
            "metrics": {
                "rooms": len(graph.rooms),
                "connections": sum(map(len, graph.connections.values())),
                "pruned_exits": sum(map(len, graph.pruned_exits.values())),
            },
        }

    def _note_bearings(self, text: str, here: Location | None) -> None:
        """Add the exits named in the location's description, so that prompts have them before it is extracted."""
        bearings = self._bearings_in(text, here) if here else ()
        if here and bearings:
            self.game_map.add_room(here.num, here.name)
            self.game_map.add_exits(here.num, bearings)

    def _bearings_in(self, text: str, here: Location) -> tuple[str, ...]:
        _, _, body = (description_in(text, here.name) or "").partition("\n")
        return self._movements.bearings_named(body)

    def _note_death(self, turn: TurnRecord) -> None:
        """Record a death on taking an exit. If the story ended with it, the location is the room behind the exit."""
        exit_, here = self._movements.exit_tried(turn, self._previous_command), turn.before.location
        if not turn.after.died or here is None or not self._movements.is_direction(exit_):
            return
        reached = turn.after.location if turn.moved and turn.after.ending is not None else None
        if reached is not None:
            self.game_map.add_room(reached.num, reached.name)
        is_dark = any(_DARK.search(text) for text in (turn.before.text, turn.after.text))
        words = gist(first_line(turn.after.text), LONGEST_REFUSAL)
        place = f" in L{reached.num} {reached.label}" if reached else ""
        told = f"you died{place}{', in the dark' if is_dark else ''}{f': {words}' if words else ''}"
        self.game_map.record_death(here.num, exit_, told)

    def visits(self, location_id: int) -> tuple[int, int]:
        """Return the numbers of visits to the location and of episodes with a visit, including the current visit."""
        room = self.game_map.rooms.get(location_id)
        return (room.visits, room.episodes) if room else (0, 0)

    def _enter(self, observation: Observation) -> bool:
        location = observation.location
        return location is not None and self.game_map.add_room(location.num, location.name)

    def _learn_attempt(self, attempt: Attempt | None, turn: TurnRecord, *, new_room: bool) -> MapChange:
        graph = self.game_map
        if attempt is None:
            return MapChange(new_room)
        if attempt.to_id is not None:
            unpruned = graph.is_pruned(attempt.from_id, attempt.exit)
            walk = graph.add_connection(attempt.from_id, attempt.exit, attempt.to_id, attempt.confidence)
            return MapChange(new_room, new_edge=walk == "new", contradicted=walk == "contradicted", unpruned=unpruned)
        if not self._is_exit(attempt.from_id, attempt.exit):
            return MapChange(new_room)
        text, here = turn.after.text, turn.before.location
        if here and description_in(text, here.name):
            graph.record_refusal(attempt.from_id, attempt.exit, "leads back here")
            return MapChange(new_room)
        graph.record_refusal(attempt.from_id, attempt.exit, gist(first_line(text), LONGEST_REFUSAL))
        failure = graph.record_failure(attempt.from_id, attempt.exit, prune_after=self.config.map.prune_after)
        return MapChange(new_room, contradicted=failure == "contradicted", pruned=failure == "pruned")

    def _is_exit(self, location_id: int, exit_: str) -> bool:
        """Return whether the command is an exit: a direction, or a command that has led elsewhere before."""
        return self._movements.is_direction(exit_) or exit_ in self.game_map.connections.get(location_id, {})
