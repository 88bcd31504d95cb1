"""What was played since the knowledge was last updated, and which turns are about this episode alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from managers.objectives.evidence import evidence_of
from session.game_state import PlayedAction
from session.memory import Memory, MemoryStatus
from session.text import cut_at

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from session.game_state import GameState
    from session.memory import LocationMemories
    from session.values import Location, TurnRecord

FEWEST_TURNS = 5
LONGEST_NAME = 60  # characters


@dataclass(frozen=True, slots=True)
class LearntTurn:
    """The facts of a turn. Its command and response are in the game state.

    place: name and id of the location in which it began
    facts: points, belongings, a first visit, a death
    score_change: points, 0 where they are not known
    destination: name and id of the location to which it led, "" where the player stayed
    revealed: something came to light that was neither seen nor carried before
    """

    turn: int
    place: str
    facts: tuple[str, ...] = ()
    score_change: int = 0
    died: bool = False
    revealed: bool = False
    destination: str = ""

    @property
    def is_telling(self) -> bool:
        """Whether it changed the score or ended in death; what such a turn shows holds in every episode."""
        return bool(self.score_change) or self.died

    @property
    def is_evidence(self) -> bool:
        """Whether it shows more than what the player did in this episode: it is telling, or revealed something."""
        return self.is_telling or self.revealed


def learnt_turn(record: TurnRecord, visited: Collection[int]) -> LearntTurn:
    """Return the facts of a turn. ``visited``: ids of the locations in which turns of the episode were begun."""
    return LearntTurn(
        turn=record.turn,
        place=_place(record.before.location),
        facts=tuple(fact.text for fact in evidence_of(record, visited)),
        score_change=record.score_change or 0,
        died=record.after.died,
        revealed=bool(record.came_to_light),
        destination=_place(record.after.location) if record.moved else "",
    )


def _place(location: Location | None) -> str:
    return "an unknown place" if location is None else f"{cut_at(location.label, LONGEST_NAME)} ({location.num})"


@dataclass(frozen=True, slots=True)
class Played:
    """What was played and remembered in this episode, as far as a model is asked about it.

    turns: those played since the knowledge was last updated, oldest first
    history: every command of the episode with its response; the first is that of turn 1
    ephemeral, persistent: the memories made in this episode, each with the label of its location
    ephemeral_turns: the turns that showed nothing but what the player did in this episode
    """

    episode: int
    turns: Sequence[LearntTurn]
    history: Sequence[PlayedAction]
    ephemeral: Sequence[tuple[str, Memory]] = ()
    persistent: Sequence[tuple[str, Memory]] = ()
    ephemeral_turns: frozenset[int] = frozenset()


def is_trivial(turns: Sequence[LearntTurn]) -> bool:
    """Tell whether nothing is to be learnt from the turns.

    That is so where none has a fact, or where they are few and none changed the score or ended in death.
    """
    if any(turn.is_telling for turn in turns):
        return False
    return len(turns) < FEWEST_TURNS or not any(turn.facts for turn in turns)


def ephemeral_turns(memories: LocationMemories | None, episode: int, evidence: Collection[int]) -> frozenset[int]:
    """Return the turns of an episode that showed nothing but what the player did in it.

    An ephemeral memory is about them, superseded since or not, and no permanent one is; a core memory tells what was
    there before anything was done. None of them is among the turns that are ``evidence`` by their own facts. Without
    memories there are no such turns.
    """
    if memories is None:
        return frozenset()
    ephemeral = _turns_told(memories.ephemeral_cache, episode)
    lessons = {
        place: [each for each in kept if each.persistence == "permanent"]
        for place, kept in memories.memory_cache.items()
    }
    return frozenset(ephemeral - _turns_told(lessons, episode) - set(evidence))


def what_was_played(
    state: GameState,
    turns: Sequence[LearntTurn],
    memories: LocationMemories | None,
    names: Mapping[int, str],
    evidence: Collection[int],
) -> Played:
    """Return these turns of the episode with the memories made in it.

    names: of locations, by id
    evidence: see :func:`ephemeral_turns`
    """
    episode = state.episode
    return Played(
        episode=episode,
        turns=turns,
        history=[PlayedAction(*entry) for entry in state.action_history],
        ephemeral=_of_episode(episode, memories.ephemeral_cache, names) if memories else (),
        persistent=_of_episode(episode, memories.memory_cache, names) if memories else (),
        ephemeral_turns=ephemeral_turns(memories, episode, evidence),
    )


def _turns_told(memories: Mapping[int, Sequence[Memory]], episode: int) -> set[int]:
    """Return the turns of the episode that any of the memories is about."""
    kept = (memory for at_location in memories.values() for memory in at_location if memory.episode == episode)
    return {turn for memory in kept for turn in memory.span}


def _of_episode(
    episode: int, memories: Mapping[int, Sequence[Memory]], names: Mapping[int, str]
) -> list[tuple[str, Memory]]:
    """Return the memories of an episode that were not superseded, each with the name and id of its location.

    names: of locations, by id
    """
    return [
        (f"{cut_at(names.get(location_id, 'Location'), LONGEST_NAME)} ({location_id})", memory)
        for location_id, at_location in sorted(memories.items())
        for memory in at_location
        if memory.episode == episode and memory.status != MemoryStatus.SUPERSEDED
    ]
