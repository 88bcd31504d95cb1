"""What was played since the knowledge was last updated, and which of it was this episode's own doing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from managers.objectives.evidence import evidence_of
from session.memory import Memory, MemoryStatus
from session.text import cut_at

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from session.memory import LocationMemories
    from session.values import TurnRecord

FEWEST_TURNS = 5
LONGEST_NAME = 60  # characters


@dataclass(frozen=True, slots=True)
class LearntTurn:
    """What the machine tells of a turn; its words are in the game state.

    place: name and id of the location in which it began
    facts: points, belongings, a first visit, a death
    score_change: points, 0 where they are not known
    """

    turn: int
    place: str
    facts: tuple[str, ...] = ()
    score_change: int = 0
    died: bool = False

    @property
    def is_telling(self) -> bool:
        """It scored, lost points or ended in death: what it shows holds in every episode."""
        return bool(self.score_change) or self.died


def learnt_turn(record: TurnRecord, visited: Collection[int]) -> LearntTurn:
    """What the machine tells of that turn; ``visited`` are the location ids in which turns were begun."""
    location = record.before.location
    return LearntTurn(
        turn=record.turn,
        place="an unknown place" if location is None else f"{cut_at(location.label, LONGEST_NAME)} ({location.num})",
        facts=tuple(fact.text for fact in evidence_of(record, visited)),
        score_change=record.score_change or 0,
        died=record.after.died,
    )


def is_trivial(turns: Sequence[LearntTurn]) -> bool:
    """Nothing is to be learnt from these turns: none has a fact, or they are too few and none scored or killed."""
    if any(turn.is_telling for turn in turns):
        return False
    return len(turns) < FEWEST_TURNS or not any(turn.facts for turn in turns)


def ephemeral_turns(memories: LocationMemories | None, episode: int) -> frozenset[int]:
    """The turns of that episode that taught what is true of it alone: an ephemeral memory is about them, one that was
    given up since too, or was about their like in an earlier episode. None where there are no memories.
    """
    if memories is None:
        return frozenset()
    kept = (memory for at_location in memories.ephemeral_cache.values() for memory in at_location)
    told = {turn for memory in kept if memory.episode == episode for turn in memory.ephemeral_turns}
    return frozenset(told | memories.ephemeral_turns)


def of_episode(
    episode: int, memories: Mapping[int, Sequence[Memory]], names: Mapping[int, str]
) -> list[tuple[str, Memory]]:
    """The memories by location id that were learnt in that episode and still stand, each with its location's label.

    names: of locations, by id
    """
    return [
        (f"{cut_at(names.get(location_id, 'Location'), LONGEST_NAME)} ({location_id})", memory)
        for location_id, at_location in sorted(memories.items())
        for memory in at_location
        if memory.episode == episode and memory.status != MemoryStatus.SUPERSEDED
    ]
