"""What a Python program that plays sees of a run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from managers.known import Known
from managers.objectives import Objective
from orchestration.run import Run
from session.knowledge import KnowledgeEntry
from session.memory import Memory
from session.route import Route
from session.values import Observation
from zorkgpt.mapping.map_graph import Edge, MapGraph
from zorkgpt.mapping.map_layout import COMPASS
from zorkgpt.mapping.navigation import shortest_path
from zorkgpt.players.player import Action, Remember, TurnContext


@dataclass(frozen=True, slots=True)
class Map:
    """The map as far as it is known. Locations are identified by their object numbers.

    locations: the names of all known locations
    exits: for each location, its known exits and where they lead
    untried: for each location, the exits that have not been tried
    """

    locations: Mapping[int, str]
    exits: Mapping[int, Mapping[str, int]]
    untried: Mapping[int, tuple[str, ...]]
    _graph: MapGraph = field(repr=False, compare=False)

    def has_all_exits(self, location: int) -> bool:
        """Return whether each direction of the compass, up and down has been walked or refused at a location."""
        walked = self.exits.get(location, {})
        return all(
            each in walked or self._graph.last_refusal(Edge(location, each)) is not None
            for each in (*COMPASS, "up", "down")
        )

    def way(self, start: int, end: int) -> tuple[str, ...] | None:
        """Return the commands of a shortest known way; ``None`` if no way is known."""
        path = shortest_path(self._graph, start, end)
        return None if path is None else path.commands


@dataclass(frozen=True)
class Situation:
    """The argument of a function that chooses an action (docs/python.md).

    What was learned is read when it is first used, so use it before the next action.
    """

    _context: TurnContext
    _run: Run = field(repr=False, compare=False)

    @property
    def observation(self) -> Observation:
        """The state of the story, read from the machine."""
        return self._context.observation

    @cached_property
    def prompt(self) -> str:
        """The observation and everything learned, as the text that a language model would get as the agent."""
        return self._context.prompt("").render()

    @property
    def choices(self) -> tuple[str, ...]:
        """The commands to choose from; empty if any is allowed."""
        return self._context.valid_actions or ()

    @property
    def turn(self) -> int:
        """The number of this turn in its episode, from 1."""
        return self._context.turn

    @property
    def turns_left(self) -> int:
        """How many more turns follow it at most."""
        return self._run.orchestrator.max_turns - self.turn

    @cached_property
    def map(self) -> Map:
        """The map."""
        graph = self._run.orchestrator.learning.map.game_map.model_copy(deep=True)
        exits = {room: dict(graph.connections.get(room, {})) for room in graph.rooms}
        return Map(graph.room_names, exits, {room: graph.untried_exits(room) for room in graph.rooms}, graph)

    @cached_property
    def memories(self) -> Mapping[int, tuple[Memory, ...]]:
        """The valid memories of each location, by its number."""
        return self._known.believed

    @cached_property
    def knowledge(self) -> tuple[KnowledgeEntry, ...]:
        """The lines of the knowledge base, each with its section."""
        return self._known.knowledge

    @cached_property
    def objectives(self) -> tuple[Objective, ...]:
        """The open objectives of this episode."""
        return tuple(each for each in self._known.objectives if each.is_active)

    @cached_property
    def routes(self) -> tuple[Route, ...]:
        """The routes that can be followed from here, those with the highest expected gain per turn first."""
        return tuple(route for route, _ in self._known.from_here)

    @cached_property
    def _known(self) -> Known:
        return self._run.orchestrator.learning.known()


Choice = str | Action | Remember
"""A command, an ``Action``, or a memory to store first."""

Agent = Callable[[Situation], Choice] | Callable[[Situation], Awaitable[Choice]]
"""Returns what to do next. It may be a coroutine function."""
