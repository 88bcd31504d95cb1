"""Objectives of an episode, and the evidence by which they are judged (docs/specification.md, Objectives)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ObjectiveStatus = Literal["active", "completed", "dropped"]
EvidenceKind = Literal["score_up", "score_down", "new_room", "item_gained", "item_lost", "death"]

PROGRESS: frozenset[EvidenceKind] = frozenset({"score_up", "new_room", "item_gained"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """A fact of one turn, read from the Z-machine's state and never from text (docs/specification.md, Evidence).

    location_id: where it happened; for a new room, that room; ``None`` where the story does not say
    """

    turn: int
    location_id: int | None
    kind: EvidenceKind
    text: str


@dataclass(frozen=True, slots=True)
class Objective:
    """Something to achieve in this episode.

    id: counts from 1 within an episode
    text: one line; names ``Location N`` where ``location_id`` is known
    turn, found_at: when it was found, and the location id of the player then
    evidence: what it was found from, in the model's words
    location_id: the place it is about; ``None`` for none in particular
    ended_turn, ending: when it was completed or dropped, and on what evidence or for what reason
    """

    id: int
    text: str
    turn: int
    found_at: int | None = None
    evidence: str = ""
    location_id: int | None = None
    status: ObjectiveStatus = "active"
    ended_turn: int | None = None
    ending: str = ""

    @property
    def is_active(self) -> bool:
        """Whether it is neither completed nor dropped."""
        return self.status == "active"

    def last_progress(self, evidence: tuple[Evidence, ...]) -> int:
        """Return the last turn with progress at the objective's place, or the turn in which it was found.

        For an objective without a place, progress anywhere counts.
        """
        turns = (
            each.turn for each in evidence if each.kind in PROGRESS and self.location_id in {None, each.location_id}
        )
        return max((self.turn, *turns))


@dataclass(frozen=True, slots=True)
class ObjectivesState:
    """The objectives of an episode with their evidence and counts.

    asked_turn: the last turn at which the model was asked, whether it answered or not
    updates, failures: calls that were answered, and calls that were not
    refused: parts of answers that were not used because they made no sense
    """

    objectives: tuple[Objective, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    asked_turn: int = 0
    updates: int = 0
    failures: int = 0
    refused: int = 0

    @property
    def active(self) -> tuple[Objective, ...]:
        """The active objectives, oldest first."""
        return tuple(each for each in self.objectives if each.is_active)
