"""The objectives of an episode and the evidence for them (docs/specification.md, Objectives)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ObjectiveStatus = Literal["active", "completed", "dropped"]
EvidenceKind = Literal["score_up", "score_down", "new_room", "item_gained", "item_lost", "death"]

PROGRESS: frozenset[EvidenceKind] = frozenset({"score_up", "new_room", "item_gained"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """A fact of one turn, read from the Z-machine's state and never from text (docs/specification.md, Evidence).

    location_id: of the fact; for a new room, of that room; ``None`` if it is unknown
    """

    turn: int
    location_id: int | None
    kind: EvidenceKind
    text: str


@dataclass(frozen=True, slots=True)
class Objective:
    """Something to achieve in this episode.

    id: counts from 1 within an episode
    text: one line; contains ``Location N`` if ``location_id`` is known
    turn, found_at: the turn in which it was set, and the player's location id then
    evidence: the source, in the model's words
    location_id: of its place; ``None`` for no particular place
    ended_turn, ending: the turn in which it was completed or dropped, and the evidence or reason
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
