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
    from session.values import TurnRecord

FEWEST_TURNS = 5
LONGEST_NAME = 60  # characters


@dataclass(frozen=True, slots=True)
class LearntTurn:
    """The facts of a turn. Its command and response are in the game state.

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
        """Whether it changed the score or ended in death; what such a turn shows holds in every episode."""
        return bool(self.score_change) or self.died


def learnt_turn(record: TurnRecord, visited: Collection[int]) -> LearntTurn:
    """Return the facts of a turn. ``visited``: ids of the locations in which turns of the episode were begun."""
    location = record.before.location
    return LearntTurn(
        turn=record.turn,
        place="an unknown place" if location is None else f"{cut_at(location.label, LONGEST_NAME)} ({location.num})",
        facts=tuple(fact.text for fact in evidence_of(record, visited)),
        score_change=record.score_change or 0,
        died=record.after.died,
    )


@dataclass(frozen=True, slots=True)
class Played:
    """What was played and remembered in this episode, as far as a model is asked about it.

    turns: those played since the knowledge was last updated, oldest first
    history: every command of the episode with its response; the first is that of turn 1
    ephemeral, persistent: the memories made in this episode, each with the label of its location
    ephemeral_turns: the turns that an ephemeral memory is about
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


def ephemeral_turns(memories: LocationMemories | None, episode: int) -> frozenset[int]:
    """Return the turns of an episode that taught what is true of it alone.

    An ephemeral memory is about them, or was about such turns in an earlier episode. It does not matter whether that
    memory was superseded since. Without memories there are no such turns.
    """
    if memories is None:
        return frozenset()
    kept = (memory for at_location in memories.ephemeral_cache.values() for memory in at_location)
    told = {turn for memory in kept if memory.episode == episode for turn in memory.ephemeral_turns}
    return frozenset(told | memories.ephemeral_turns)


def what_was_played(
    state: GameState, turns: Sequence[LearntTurn], memories: LocationMemories | None, names: Mapping[int, str]
) -> Played:
    """Return these turns of the episode with the memories made in it. ``names``: of locations, by id."""
    episode = state.episode
    return Played(
        episode=episode,
        turns=turns,
        history=state.action_history,
        ephemeral=_of_episode(episode, memories.ephemeral_cache, names) if memories else (),
        persistent=_of_episode(episode, memories.memory_cache, names) if memories else (),
        ephemeral_turns=ephemeral_turns(memories, episode),
    )


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
