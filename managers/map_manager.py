"""The map of a work folder: learnt turn by turn, kept across episodes."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass

from structlog.typing import FilteringBoundLogger
from typing_extensions import Self, override

from managers.base_manager import BaseManager, ManagerParts, ManagerStatus
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
    """What one turn taught the map.

    new_room: a location was entered that no episode had seen
    new_edge: a command led somewhere that had never led anywhere from there
    contradicted: a known edge led elsewhere, or nowhere
    pruned, unpruned: the exit was struck off for its failures; a struck-off exit worked after all
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
        logger: logging.Logger | FilteringBoundLogger,
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
        """Make the manager with the story's own directions."""
        return cls(parts.logger, parts.config, parts.game_state, directions=parts.story.directions)

    @classmethod
    @override
    def shared_files(cls, config: GameConfiguration) -> tuple[SharedFile, ...]:
        return (SharedFile(config.map_state_file, "map_state.json"),)

    @override
    def stores(self) -> tuple[MapStore, ...]:
        return (self._store,)

    def reset(self, game_state: GameState | None = None) -> None:
        """Begin a new episode; the map stays."""
        super().reset(game_state)
        self._previous_command = ""
        here = self.game_state.opening_location
        self._note_bearings(self.game_state.opening, here)
        if here is not None:
            self.game_map.add_room(here.num, here.name)
            self.game_map.add_visit(here.num, self.game_state.episode)

    def learn(self, turn: TurnRecord) -> MapChange:
        """Learn what the turn showed, and write the map where rooms or edges changed.

        Where changes are held, they go to the file with the commit of every ``SAVE_INTERVAL``-th turn. Raises
        ``StoreError`` where the file cannot be written; the map in memory has learnt the turn then.
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
        """Add the directions that these words name to the exits of the location, and return the new ones."""
        self.game_map.add_room(location.num, location.name)
        return self.game_map.add_exits(location.num, self._movements.exits_named(exits))

    def end(self, end: EpisodeEnd) -> None:
        """Let the map go to its file with the next commit, changed or not."""
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
        """Return the surest short way by known edges, ``None`` where there is none."""
        return navigation.shortest_route(self.game_map, from_id, to_id)

    @property
    def leads_farther(self) -> bool:
        """Whether known edges lead from here to a room that takes more than one command."""
        here = self.game_state.current_room_id
        return here is not None and navigation.leads_farther(self.game_map, here)

    def frontier(self) -> tuple[FrontierRoom, ...]:
        """Return the rooms with untried exits that can be reached from here, nearest first."""
        here = self.game_state.current_room_id
        return () if here is None else navigation.frontier(self.game_map, here)

    def local_view(self) -> str:
        """Describe the rooms within ``config.map.local_radius`` moves, one a line; "" where nowhere is known."""
        here = self.game_state.current_room_id
        return "" if here is None else local_view(self.game_map, here, self.config.map.local_radius)

    def routing_summary(self) -> str:
        """Describe the exits here and next door; "" where the location is not known."""
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
        """Add what a text names where it describes the location: so a prompt has exits before a model has read it."""
        bearings = self._bearings_in(text, here) if here else ()
        if here and bearings:
            self.game_map.add_room(here.num, here.name)
            self.game_map.add_exits(here.num, bearings)

    def _bearings_in(self, text: str, here: Location) -> tuple[str, ...]:
        _, _, body = (description_in(text, here.name) or "").partition("\n")
        return self._movements.bearings_named(body)

    def _note_death(self, turn: TurnRecord) -> None:
        """Note a death on taking an exit. If the story ended with it, the player is in the room that was reached."""
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
        """Return how often the player came to the location, and in how many episodes; the present visit counts."""
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
        """Tell whether a failed move says something: only of a direction, or of a command that has led away before."""
        return self._movements.is_direction(exit_) or exit_ in self.game_map.connections.get(location_id, {})
