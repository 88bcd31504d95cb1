"""Notices when play goes round in circles. The agent is told; nothing is done about it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from managers.base_manager import BaseManager, ManagerStatus

if TYPE_CHECKING:
    import logging

    from structlog.typing import FilteringBoundLogger

    from session.game_configuration import GameConfiguration
    from session.game_state import GameState
    from session.values import Observation, TurnRecord

MAX_TURNS_SHOWN = 5


class WorldState(NamedTuple):
    """A state of the world that one can come back to."""

    world_hash: str
    location_id: int | None


class CirclingDetector(BaseManager):
    """Remembers the turns that led to each state of the world, and the last that brought points.

    ``config.circling`` says when either is worth a word.
    """

    _turn: int
    _no_points_since: int | None
    _seen_on: defaultdict[WorldState, list[int]]
    _same_state_on: tuple[int, ...]

    def __init__(
        self, logger: logging.Logger | FilteringBoundLogger, config: GameConfiguration, game_state: GameState
    ) -> None:
        super().__init__(logger, config, game_state)
        self._forget()

    def reset(self, game_state: GameState | None = None) -> None:
        """A new episode begins; nothing has been seen."""
        super().reset(game_state)
        self._forget()

    def learn(self, record: TurnRecord) -> None:
        """The state that the turn led to is seen; so is, before the first turn, the opening (as turn 0)."""
        if not self._turn:
            self._see(record.before, record.turn - 1)
        self._see(record.after, record.turn)
        if record.score_change is None:
            self._no_points_since = None
        elif record.score_change > 0:
            self._no_points_since = record.turn
        elif self._no_points_since is None:
            self._no_points_since = record.turn - 1
        self._turn = record.turn

    def text(self) -> str:
        """What the agent should know of going in circles, in a sentence; "" where there is nothing to say."""
        parts = []
        if len(self._same_state_on) >= self.config.circling.repeated_states:
            parts.append(f"the same state as on turns {_listed(self._same_state_on)}")
        if self._turns_without_score >= self.config.circling.turns_without_score:
            parts.append(f"no point scored for {self._turns_without_score} turns")
        sentence = "; ".join(parts)
        return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""

    def get_status(self) -> ManagerStatus:
        """How often the present state was there before, and for how long no point was scored."""
        return {
            "type": "circling",
            "state": {"text": self.text()},
            "metrics": {
                "states": len(self._seen_on),
                "same_state_before": len(self._same_state_on),
                "turns_without_score": self._turns_without_score,
            },
        }

    @property
    def _turns_without_score(self) -> int:
        return 0 if self._no_points_since is None else self._turn - self._no_points_since

    def _forget(self) -> None:
        self._turn = 0
        self._no_points_since = None
        self._seen_on = defaultdict(list)
        self._same_state_on = ()

    def _see(self, observation: Observation, turn: int) -> None:
        if not observation.world_hash:
            self._same_state_on = ()
            return
        location = observation.location
        turns = self._seen_on[WorldState(observation.world_hash, location.num if location else None)]
        self._same_state_on = tuple(turns)
        turns.append(turn)


def _listed(turns: tuple[int, ...]) -> str:
    earlier = len(turns) - MAX_TURNS_SHOWN
    return ", ".join(map(str, turns[-MAX_TURNS_SHOWN:])) + (f" and {earlier} earlier" if earlier > 0 else "")
