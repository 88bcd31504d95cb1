"""What a Python program that plays sees of a run, and a run that it plays turn by turn: ``zorkgpt.api.session``."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cached_property
from queue import Queue
from threading import Event as Flag

from typing_extensions import Self

from managers.known import Known
from managers.memory.document import stands
from managers.memory.synthesis import LONGEST_TEXT, LONGEST_TITLE, VisitMemory
from managers.objectives import Objective
from orchestration.run import Run
from session.errors import WaitInterrupted
from session.events import MemoryGiven
from session.game_state import LONGEST_NOTE
from session.knowledge import KnowledgeEntry
from session.memory import PERSISTENCES, Memory, Persistence
from session.route import Route
from session.text import text_key
from session.values import Observation
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.map_layout import COMPASS
from zorkgpt.mapping.map_values import Edge
from zorkgpt.mapping.navigation import shortest_path
from zorkgpt.players.player import Action, Remember, TurnContext
from zorkgpt.report.played_run import PlayedRun

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_LONGEST_COMMAND, _LONGEST_REASONING = 1000, 10_000  # characters


@dataclass(frozen=True, slots=True)
class Map:
    """The known part of the map. Locations are identified by their object numbers.

    locations: the names of all known locations
    exits: for each location, its known exits and where they lead
    untried: for each location, the exits that have not been tried, without those in ``presumed``
    presumed: for each location, the exits that should lead back to another one, and were never tried
    """

    locations: Mapping[int, str]
    exits: Mapping[int, Mapping[str, int]]
    untried: Mapping[int, tuple[str, ...]]
    presumed: Mapping[int, Mapping[str, int]]
    _graph: MapGraph = field(repr=False, compare=False)

    def has_all_exits(self, location: int) -> bool:
        """Return whether each direction of the compass, up and down has been walked or refused at a location."""
        walked = self.exits.get(location, {})
        return all(
            each in walked or self._graph.last_refusal(Edge(location, each)) is not None
            for each in (*COMPASS, "up", "down")
        )

    def way(self, start: int, end: int) -> tuple[str, ...] | None:
        """Return the commands of a shortest way, by presumed exits only if no other is known; ``None`` for no way."""
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
        return self._context.turns_left

    @cached_property
    def map(self) -> Map:
        """The map."""
        graph = self._run.orchestrator.learning.map.game_map.model_copy(deep=True)
        exits = {room: dict(graph.connections.get(room, {})) for room in graph.rooms}
        untried = {room: graph.untried_exits(room) for room in graph.rooms}
        return Map(graph.room_names, exits, untried, {room: graph.ways_back(room) for room in graph.rooms}, graph)

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


class Session:
    """A run that a program plays turn by turn: ``for situation in session: session.act("north")``.

    At the end of its block, a run that has not ended is paused, and can be resumed. Errors of the run are raised by the
    method that waits for its next turn.

    A text that contains control characters or is too long is a ``ValueError``. The limits in characters are 1,000 for a
    command, 10,000 for a reasoning, 300 for a note, 120 for a memory's title, and 1,000 for its text or the reason to
    withdraw it.

    play: plays the run with an agent and returns it
    stop: pauses the run
    player: the agent's name
    """

    def __init__(self, play: Callable[[Agent], PlayedRun], stop: Flag, player: str) -> None:
        self._stop = stop
        self._situations: Queue[Situation | None] = Queue()
        self._actions: Queue[Action | Remember | None] = Queue()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="zorkgpt-session")

        def choose(situation: Situation) -> Choice:
            self._situations.put(situation)
            action = self._actions.get()
            if action is None:
                raise WaitInterrupted("the session was closed")
            return action

        choose.__name__ = player
        self._played = self._thread.submit(play, choose)
        self._played.add_done_callback(lambda _played: self._situations.put(None))
        self._latest: Situation | None = None
        self._is_waiting = True

    @property
    def situation(self) -> Situation | None:
        """The current situation; ``None`` after the end of the run."""
        if self._is_waiting:
            self._latest = self._situations.get()
            self._is_waiting = False
            if self._latest is None:
                self._played.result()
        return self._latest

    def act(self, command: str, *, reasoning: str = "", note: str = "") -> Situation | None:
        """Play a command, and return the next situation; ``None`` if the run has ended.

        Raises ``ValueError`` for an empty command, one that is not among ``choices``, and after the end of the session.
        """
        return self._do(Action(command, reasoning, note=note))

    def follow(self, route: int, *, until: int | None = None, reasoning: str = "", note: str = "") -> Situation | None:
        """Follow a route from here, and return the situation in which it ends or stops.

        until: the number of its last command to play, from 1

        Raises ``ValueError`` if the route does not begin here.
        """
        if self.situation is not None and route not in {each.number for each in self.situation.routes}:
            raise ValueError(f"route {route} does not begin here")
        return self._do(Action(reasoning=reasoning, follow=route, until=until, note=note))

    def go_to(self, location_id: int, *, reasoning: str = "", note: str = "") -> Situation | None:
        """Walk to a location, and return the situation there, or where the walk stops.

        Raises ``ValueError`` if no way is known.
        """
        now = self.situation
        if now is not None:
            here = now.observation.location
            way = None if here is None else now.map.way(here.num, location_id)
            if not way:
                raise ValueError(f"no way from here to location {location_id} is known")
            if len(way) == 1:
                return self._do(Action(way[0], reasoning, note=note))
        return self._do(Action(reasoning=reasoning, go_to=location_id, note=note))

    def remember(self, location_id: int, title: str, text: str, *, persistence: Persistence = "permanent") -> Memory:
        """Remember something of a location, and return the memory as it was stored.

        persistence: ``core`` for what the story shows on arrival, before the first command there; ``permanent`` for how
            the game works; ``ephemeral`` for what applies to this episode only. The rules for a model's memories may
            change it (docs/records/specification.md, Core memories)

        Raises ``ValueError`` for an unknown location, an invalid memory, or a title that the location already has.
        """
        require_text("the title", title, LONGEST_TITLE)
        require_text("the text", text, LONGEST_TEXT)
        if not title.strip() or not text.strip() or persistence not in PERSISTENCES:
            raise ValueError("a memory needs a title, a text, and core, permanent or ephemeral as its persistence")
        if stands(self._now().memories.get(location_id, ()), title):
            raise ValueError(f"location {location_id} has a memory of this title: invalidate it, or use another title")
        answer = {"should_remember": True, "memory_title": title, "memory_text": text, "persistence": persistence}
        stored = self._give(location_id, answer).memories.get(location_id, ())
        for memory in stored:
            if text_key(memory.title) == text_key(title):
                return memory
        raise ValueError("the memory is not stored: memories are off in this run (simple_memory.enabled)")

    def invalidate(self, location_id: int, title: str, *, reason: str) -> None:
        """Mark a memory of a location as false. Raises ``ValueError`` if there is none of that title."""
        require_text("the title", title, LONGEST_TITLE)
        require_text("the reason", reason, LONGEST_TEXT)
        if not reason.strip():
            raise ValueError("the reason is empty: explain why the memory is not true")
        if not stands(self._now().memories.get(location_id, ()), title):
            raise ValueError(f"location {location_id} has no memory of this title")
        answer = {"should_remember": False, "invalidate_memory_titles": [title], "invalidation_reason": reason}
        self._give(location_id, answer)

    @property
    def run(self) -> PlayedRun:
        """The whole run. Waits for its end."""
        return self._played.result()

    def close(self) -> None:
        """Pause the run unless it has ended, and wait for it."""
        self._stop.set()
        self._actions.put(None)
        wait([self._played])
        self._thread.shutdown()
        self._latest, self._is_waiting = None, False

    def __iter__(self) -> Iterator[Situation]:
        """Yield the situation before each turn until the run ends."""
        while (situation := self.situation) is not None:
            yield situation

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _now(self) -> Situation:
        now = self.situation
        if now is None:
            raise ValueError("the session has ended")
        return now

    def _do(self, action: Action) -> Situation | None:
        now = self._now()
        require_text("the command", action.command, _LONGEST_COMMAND)
        require_text("the reasoning", action.reasoning, _LONGEST_REASONING)
        require_text("the note", action.note, LONGEST_NOTE)
        if not action.command.strip():
            raise ValueError("An empty command does nothing.")
        if now.choices and action.command not in now.choices and not action.wants_way:
            raise ValueError(f"{action.command!r} is not one of the commands to choose from")
        self._actions.put(action)
        self._is_waiting = True
        return self.situation

    def _give(self, location_id: int, answer: dict[str, object]) -> Situation:
        """Have the run learn from an answer about a location, and return the situation with what it has learned."""
        if location_id not in self._now().map.locations:
            raise ValueError(f"location {location_id} is not on the map")
        given = VisitMemory.model_validate({**answer, "location_id": location_id})
        self._actions.put(Remember(MemoryGiven(given.model_dump(mode="json"))))
        self._is_waiting = True
        return self._now()


def require_text(name: str, text: str, longest: int) -> None:
    """Raise ``ValueError`` for a text that must not be recorded, and ``TypeError`` for anything else."""
    if not isinstance(text, str):
        raise TypeError(f"{name} is {type(text).__name__}; expected a string")
    if len(text) > longest:
        raise ValueError(f"{name} has {len(text):,} characters; at most {longest:,} are allowed")
    if _CONTROL.search(text):
        raise ValueError(f"{name} contains a control character")
