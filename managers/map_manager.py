"""The map of a work folder: learned turn by turn, kept across episodes (seed 2)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from managers.base_manager import BaseManager, ManagerStatus
from managers.map_store import MapState, MapStore, digest
from zorkgpt.mapping import map_render, navigation
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer, repeated

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterable

    from structlog.typing import FilteringBoundLogger

    from session.files.document_store import Watch
    from session.game_configuration import GameConfiguration
    from session.game_state import GameState
    from session.values import Location, Observation, TurnRecord
    from zorkgpt.mapping.map_graph import MapGraph
    from zorkgpt.mapping.movement_analyzer import Attempt
    from zorkgpt.mapping.navigation import FrontierRoom, Route


@dataclass(frozen=True, slots=True)
class MapChange:
    """What one turn taught the map.

    new_room: a location was entered that no episode had seen
    new_edge: a command was walked that had never led anywhere from there
    contradicted: a known edge led elsewhere, or nowhere
    pruned, unpruned: the exit was struck off for its failures; it worked after all
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
        self._store = MapStore(self.path, self.log_warning)
        self.game_map = graph or self._store.load()
        self._holds = False
        self._is_due = False
        self._movements = MovementAnalyzer(directions)
        self._previous_command = ""

    def reset(self, game_state: GameState | None = None) -> None:
        """A new episode begins; the map stays."""
        super().reset(game_state)
        self._previous_command = ""

    def learn(self, turn: TurnRecord) -> MapChange:
        """The map holds what the turn showed, and is on disk where rooms or edges changed, unless it is held.

        Raises ``StoreError`` where the file cannot be written; the map in memory has learnt the turn then.
        """
        attempt = self._movements.attempt(turn, self._previous_command)
        if turn.after.refusal is None:
            self._previous_command = repeated(turn.action, self._previous_command)
        entered = [self._enter(observation) for observation in (turn.before, turn.after)]
        change = self._learn_attempt(attempt, new_room=any(entered))
        self._is_due = self._is_due or change != MapChange()
        if not self._holds:
            self.commit()
        return change

    def note_exits(self, location: Location, exits: Iterable[str]) -> tuple[str, ...]:
        """The directions that these words name are exits of the location; the new ones come back."""
        self.game_map.add_room(location.num, location.name)
        return self.game_map.add_exits(location.num, self._movements.exits_named(exits))

    def hold(self, watch: Watch) -> None:
        """The file changes in :meth:`commit` alone, and looks at it are told to ``watch``."""
        self._holds, self._store.watch = True, watch

    def conclude(self) -> None:
        """The episode is over: the map goes to its file with the next commit, changed or not."""
        self._is_due = True

    def commit(self) -> None:
        """The map is on disk where rooms or edges changed since the last time. Raises ``StoreError``."""
        if self._is_due:
            self.save_map_state()

    @property
    def digest(self) -> str:
        """64 hex digits, equal for equal maps."""
        return digest(self.game_map)

    def save_map_state(self) -> None:
        """The map is on disk. Raises ``StoreError``."""
        self._store.save(self.game_map)
        self._is_due = False

    def state(self) -> MapState:
        """The map as it stands, for a snapshot."""
        store = self._store
        return MapState(self.game_map.to_dict(), self._is_due, store.known, store.reads, self._previous_command)

    def restore(self, state: MapState) -> None:
        """The map, which stays the same object, stands as it did when ``state`` was taken."""
        restored = self._store.restore(state)
        for each in fields(restored):
            setattr(self.game_map, each.name, getattr(restored, each.name))
        self._is_due, self._previous_command = state.is_due, state.previous_command

    def route(self, from_id: int, to_id: int) -> Route | None:
        """The surest short way by known edges; ``None`` where there is none."""
        return navigation.shortest_route(self.game_map, from_id, to_id)

    def frontier(self) -> tuple[FrontierRoom, ...]:
        """The rooms with untried exits that can be reached from here, nearest first."""
        here = self.game_state.current_room_id
        return () if here is None else navigation.frontier(self.game_map, here)

    def local_view(self) -> str:
        """The rooms within ``config.map.local_radius`` moves, one a line; "" where nowhere is known."""
        here = self.game_state.current_room_id
        if here is None:
            return ""
        graph = self.game_map
        hops = navigation.neighbourhood(graph, here, self.config.map.local_radius)
        untried = {location_id: graph.untried_exits(location_id) for location_id in hops}
        return map_render.local_view(hops, graph.room_names, graph.connections, untried)

    def routing_summary(self) -> str:
        """Exits here and next door (seed 4, Routing Summary); "" where the location is not known."""
        here = self.game_state.current_room_id
        if here is None:
            return ""
        return map_render.routing_summary(here, self.game_map.room_names, self.game_map.connections)

    def get_status(self) -> ManagerStatus:
        """Where the map is kept and how much it holds."""
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

    def _enter(self, observation: Observation) -> bool:
        location = observation.location
        return location is not None and self.game_map.add_room(location.num, location.name)

    def _learn_attempt(self, attempt: Attempt | None, *, new_room: bool) -> MapChange:
        graph = self.game_map
        if attempt is None:
            return MapChange(new_room)
        if attempt.to_id is not None:
            unpruned = graph.is_pruned(attempt.from_id, attempt.exit)
            walk = graph.add_connection(attempt.from_id, attempt.exit, attempt.to_id, attempt.confidence)
            return MapChange(new_room, new_edge=walk == "new", contradicted=walk == "contradicted", unpruned=unpruned)
        if not self._is_exit(attempt):
            return MapChange(new_room)
        failure = graph.record_failure(attempt.from_id, attempt.exit, prune_after=self.config.map.prune_after)
        return MapChange(new_room, contradicted=failure == "contradicted", pruned=failure == "pruned")

    def _is_exit(self, attempt: Attempt) -> bool:
        """Staying put only says something about a direction, or about a command that has led away before."""
        return self._movements.is_direction(attempt.exit) or attempt.exit in self.game_map.connections.get(
            attempt.from_id, {}
        )
