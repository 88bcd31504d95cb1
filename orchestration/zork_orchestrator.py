"""Plays a run: episodes one after the other, each from the story's opening to its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event as Flag
from typing import TYPE_CHECKING, Literal, NamedTuple

from game_interface.core.game import Game
from orchestration.learning import Learning
from orchestration.turn import Turn
from session.errors import GameError, LanguageModelError, StoreError
from session.events import EpisodeEnd, EpisodeEnded, EpisodeStarted, Event, RunEnded, RunPaused, TurnPlayed
from session.game_state import GameState

if TYPE_CHECKING:
    from session.values import Observation


@dataclass(frozen=True, slots=True)
class Plan:
    """What to play. ``seeds`` has one seed (1 or more) an episode; ``max_turns`` is an episode's limit."""

    seeds: tuple[int, ...]
    max_turns: int


RunEnd = Literal["done", "interrupted", "paused", "failed"]


class _Stop(NamedTuple):
    """Why no further turn is played, in one line where it was not to be expected."""

    end: EpisodeEnd
    reason: str = ""


@dataclass(slots=True)
class ZorkOrchestrator:
    """Plays episodes and tells ``emit`` of everything as it happens.

    take_number: gives the next episode's number
    stop: set from outside, ends the run after the turn in flight
    """

    game: Game
    turn: Turn
    learning: Learning
    plan: Plan
    emit: Callable[[Event], None]
    take_number: Callable[[], int]
    stop: Flag

    def play(self) -> RunEnd:
        """Every episode of the plan was played, or the run was interrupted or paused on the way.

        An episode whose interpreter failed does not keep the next from being played. Raises ``StoreError`` where
        not even that can be written down.
        """
        ends: list[EpisodeEnd] = []
        for seed in self.plan.seeds:
            ended = self._play_episode(seed)
            if ended.end == "paused":
                self.emit(RunPaused(ended.reason))
                return "paused"
            ends.append(ended.end)
            if self.stop.is_set():
                break
        self.emit(RunEnded(episodes=len(ends)))
        if "failed" in ends:
            return "failed"
        return "interrupted" if self.stop.is_set() else "done"

    def _play_episode(self, seed: int) -> EpisodeEnded:
        start = time.monotonic()
        state = GameState(episode=self.take_number())
        opening = self.game.reset(seed)
        state.begin(opening)
        self.learning.begin(state)
        self.emit(EpisodeStarted(state.episode, seed, opening))
        tally = _Tally(opening)
        stop = self._play_turns(state, tally)
        try:
            self.learning.end()
        except StoreError as error:
            stop = _Stop("paused", str(error))
        ended = tally.ended(state, stop, time.monotonic() - start)
        self.emit(ended)
        return ended

    def _play_turns(self, state: GameState, tally: _Tally) -> _Stop:
        while (end := self._end(state)) is None:
            try:
                self._play_turn(state, tally)
            except (LanguageModelError, StoreError) as error:
                return _Stop("interrupted") if self.stop.is_set() else _Stop("paused", str(error))
            except GameError as error:
                return _Stop("failed", str(error))
        return _Stop(end)

    def _play_turn(self, state: GameState, tally: _Tally) -> None:
        start = time.monotonic()
        record = self.turn.play(state, self.learning.notes(self.game.observation))
        self.emit(TurnPlayed(record, round(time.monotonic() - start, 3)))
        state.record(record)
        self.learning.learn(record)
        tally.count(record.after)

    def _end(self, state: GameState) -> EpisodeEnd | None:
        ending = self.game.observation.ending
        if ending is not None:
            return ending
        if self.stop.is_set():
            return "interrupted"
        return "turn_limit" if state.turn_count >= self.plan.max_turns else None


class _Tally:
    """The figures of an episode, kept as it is played."""

    def __init__(self, opening: Observation) -> None:
        self._latest = opening
        self._best = opening.score
        self._rooms: set[int] = set()
        self.count(opening)

    def count(self, observation: Observation) -> None:
        self._latest = observation
        if observation.score is not None:
            self._best = observation.score if self._best is None else max(self._best, observation.score)
        if observation.location is not None:
            self._rooms.add(observation.location.num)

    def ended(self, state: GameState, stop: _Stop, seconds: float) -> EpisodeEnded:
        return EpisodeEnded(
            episode=state.episode,
            end=stop.end,
            turns=state.turn_count,
            score=self._latest.score,
            best_score=self._best,
            max_score=self._latest.max_score,
            rooms=len(self._rooms),
            seconds=round(seconds, 1),
            reason=stop.reason,
        )
