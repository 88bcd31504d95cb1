"""The state of the episode being played. A new episode gets a new ``GameState``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from session.values import Observation, TurnRecord


class PlayedAction(NamedTuple):
    """A command and the story's answer: one entry of ``GameState.action_history``."""

    action: str
    response: str


@dataclass(slots=True)
class GameState:
    """One episode as it was played so far. Only :meth:`begin` and :meth:`record` change it.

    episode: its number, which goes up across the runs of a work folder
    episode_id: its name; where none is given, its number as text
    turn_count: turns recorded so far; the turn being played is ``turn_count + 1``
    current_room_id, current_room_name_for_map: where the player is; ``None`` and "" where that is not known
    previous_zork_score: points after the last recorded turn; ``None`` where the story keeps no score
    opening: what the story printed before the first turn
    action_history: every command with its response, oldest first
    action_reasoning_history: dicts of turn, reasoning, action, timestamp (ISO 8601), oldest first
    memory_log_history: always empty, kept because users of this class expect it; ``Memories.md`` has what was learnt
    visited_locations: ids of the locations in which at least one turn was begun
    times_played: how often each command was played at each location, by (location id, command)
    last_room_description…: text, turn and location id of the last text that was read as a room description
    """

    episode: int = 1
    episode_id: str = ""
    turn_count: int = 0
    current_room_id: int | None = None
    current_room_name_for_map: str = ""
    current_inventory: list[str] = field(default_factory=list)
    previous_zork_score: int | None = None
    is_dead: bool = False
    game_over: bool = False
    opening: str = ""
    action_history: list[PlayedAction] = field(default_factory=list)
    action_reasoning_history: list[dict[str, Any]] = field(default_factory=list)
    memory_log_history: list[str] = field(default_factory=list)
    visited_locations: set[int] = field(default_factory=set)
    times_played: Counter[tuple[int | None, str]] = field(default_factory=Counter)
    last_room_description: str = ""
    last_room_description_turn: int = 0
    last_room_description_location_id: int | None = None

    def __post_init__(self) -> None:
        self.episode_id = self.episode_id or str(self.episode)

    def begin(self, opening: Observation) -> None:
        """Take over the opening of the story, before any turn is played."""
        self.opening = opening.text
        self._look_at(opening)

    def record(self, turn: TurnRecord) -> None:
        """Add a played turn to the history, and take over what it led to."""
        self.turn_count = turn.turn
        self.times_played[self.current_room_id, turn.action] += 1
        if turn.before.location is not None:
            self.visited_locations.add(turn.before.location.num)
        self.action_history.append(PlayedAction(turn.action, turn.after.text))
        if turn.reading and turn.reading.is_room_description and turn.before.location:
            self.last_room_description = turn.before.text
            self.last_room_description_turn = turn.turn - 1
            self.last_room_description_location_id = turn.before.location.num
        self.add_reasoning(turn.turn, turn.reasoning, turn.action)
        self._look_at(turn.after)

    def add_reasoning(self, turn: int, reasoning: str, action: str) -> None:
        """Add the reasoning behind a turn's command to the history."""
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self.action_reasoning_history.append({"turn": turn, "reasoning": reasoning, "action": action, "timestamp": now})

    def _look_at(self, observation: Observation) -> None:
        location = observation.location
        self.current_room_id = location.num if location else None
        self.current_room_name_for_map = location.label if location else ""
        self.current_inventory = [thing.name for thing in observation.inventory or ()]
        self.previous_zork_score = observation.score
        self.is_dead = observation.died
        self.game_over = observation.ending is not None
