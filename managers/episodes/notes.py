"""Notes of the episode being played, so that it can be summed up when it is over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from managers.episodes.summary import Death, EpisodeSummary, Scored, Step
from session.text import cut_middle, one_line

if TYPE_CHECKING:
    from session.events import EpisodeEnd
    from session.game_state import GameState
    from session.values import Observation, TurnRecord, Verdict

STEPS_KEPT: Final = 6
LONGEST_RESPONSE: Final = 4000  # characters


@dataclass(frozen=True, slots=True)
class EpisodeNotes:
    """The facts of an episode so far.

    turns: how many were played
    score, best_score, max_score: points; ``None`` where the story keeps none
    rooms: ids of the locations, in the order in which they were seen
    scored, deaths: oldest first
    recent: the turns since the latest death, of which at most the last six are kept
    critic_total, critic_turns: the sum of the critic's scores, and how many turns have one
    """

    turns: int = 0
    score: int | None = None
    best_score: int | None = None
    max_score: int | None = None
    rooms: tuple[int, ...] = ()
    scored: tuple[Scored, ...] = ()
    deaths: tuple[Death, ...] = ()
    recent: tuple[Step, ...] = ()
    critic_total: float = 0.0
    critic_turns: int = 0

    def with_turn(self, record: TurnRecord) -> EpisodeNotes:
        """Return the notes with a turn added."""
        here = record.before.location
        response = cut_middle(one_line(record.after.text), LONGEST_RESPONSE)
        step = Step(record.turn, here, one_line(record.action), response)
        recent = (*self.recent, step)[-STEPS_KEPT:]
        change = record.score_change
        judged = critic_score(record.verdicts[-1]) if record.verdicts else None
        scores = [score for score in (self.best_score, record.before.score, record.after.score) if score is not None]
        return replace(
            self,
            turns=record.turn,
            score=record.after.score,
            best_score=max(scores, default=None),
            max_score=record.after.max_score,
            rooms=_with_rooms(self.rooms, record.before, record.after),
            scored=(*self.scored, Scored(step.turn, here, step.action, change)) if change else self.scored,
            deaths=(*self.deaths, Death(recent)) if record.after.died else self.deaths,
            recent=() if record.after.died else recent,
            critic_total=self.critic_total + (judged or 0.0),
            critic_turns=self.critic_turns + (judged is not None),
        )

    def summary(self, episode: int, end: EpisodeEnd) -> EpisodeSummary:
        """Return the summary of the episode, which ended in this way."""
        return EpisodeSummary(
            episode=episode,
            end=end,
            turns=self.turns,
            score=self.score,
            best_score=self.best_score,
            max_score=self.max_score,
            rooms=len(self.rooms),
            scored=self.scored,
            deaths=self.deaths,
            critic_score=self.critic_total / self.critic_turns if self.critic_turns else None,
        )


def notes_of_opening(state: GameState) -> EpisodeNotes:
    """Return the notes before the first turn of an episode."""
    here, score = state.current_room_id, state.previous_zork_score
    return EpisodeNotes(score=score, best_score=score, rooms=() if here is None else (here,))


def critic_score(verdict: Verdict) -> float | None:
    """Return the confidence of a verdict, as a negative number where it refuses; ``None`` where it has none."""
    if verdict.confidence is None:
        return None
    return verdict.confidence if verdict.accepted else -verdict.confidence


def _with_rooms(rooms: tuple[int, ...], *seen: Observation) -> tuple[int, ...]:
    for observation in seen:
        if observation.location is not None and observation.location.num not in rooms:
            rooms = (*rooms, observation.location.num)
    return rooms
