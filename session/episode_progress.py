"""What an episode comes to, counted turn by turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session.values import Observation, TurnRecord


@dataclass(frozen=True, slots=True)
class NewBest:
    """A score that was higher than any before it in the episode: points, and the turn that brought it."""

    turn: int
    score: int


class EpisodeProgress:
    """Counts what an episode has come to so far.

    latest: what was seen last
    turns: how many were played
    best_score: points; ``None`` where the story keeps none
    new_bests: every new best score, first to last; that of the opening is none
    rooms: ids of the locations that were seen
    seconds: of its turns, from each observation to the next
    """

    def __init__(self, opening: Observation) -> None:
        self.turns = 0
        self.best_score = opening.score
        self.new_bests: list[NewBest] = []
        self.rooms: set[int] = set()
        self.seconds = 0.0
        self._see(opening)

    def count(self, record: TurnRecord, seconds: float) -> None:
        """Add a turn, which took so many seconds."""
        self.turns += 1
        self.seconds += seconds
        score = record.after.score
        if score is not None and (self.best_score is None or score > self.best_score):
            if self.best_score is not None:
                self.new_bests.append(NewBest(record.turn, score))
            self.best_score = score
        self._see(record.after)

    def _see(self, observation: Observation) -> None:
        self.latest = observation
        if observation.location is not None:
            self.rooms.add(observation.location.num)
