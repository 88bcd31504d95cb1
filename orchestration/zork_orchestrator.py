"""Plays a run: episodes one after the other, each from the story's opening to its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event as Flag
from typing import TYPE_CHECKING, Literal

from game_interface.core.game import Game
from orchestration.learning import Learning
from orchestration.turn import Turn
from session.errors import LanguageModelError
from session.events import EpisodeEnded, EpisodeStarted, Event, RunEnded, RunPaused, TurnPlayed
from session.game_state import GameState

if TYPE_CHECKING:
    from session.events import EpisodeEnd
    from session.values import Observation


@dataclass(frozen=True, slots=True)
class Plan:
    """What to play. ``seeds`` has one seed (1 or more) an episode; ``max_turns`` is an episode's limit."""

    seeds: tuple[int, ...]
    max_turns: int


RunEnd = Literal["done", "interrupted", "paused"]


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
    _pause: str = field(default="", init=False)

    def play(self) -> RunEnd:
        """Every episode of the plan was played, or the run was interrupted or paused on the way.

        Raises ``GameError`` and ``StoreError``.
        """
        played = 0
        for seed in self.plan.seeds:
            end = self._play_episode(seed)
            if end == "paused":
                self.emit(RunPaused(self._pause))
                return "paused"
            played += 1
            if end == "interrupted":
                break
        self.emit(RunEnded(episodes=played))
        return "interrupted" if self.stop.is_set() else "done"

    def _play_episode(self, seed: int) -> EpisodeEnd:
        start = time.monotonic()
        state = GameState(episode=self.take_number())
        opening = self.game.reset(seed)
        state.begin(opening)
        self.learning.begin(state)
        self.emit(EpisodeStarted(state.episode, seed, opening))
        tally = _Tally(opening)
        while (end := self._end(state)) is None:
            try:
                self._play_turn(state, tally)
            except LanguageModelError as error:
                self._pause = str(error)
                end = "paused"
                break
        self.learning.end()
        self.emit(tally.ended(state, end, time.monotonic() - start))
        return end

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

    def ended(self, state: GameState, end: EpisodeEnd, seconds: float) -> EpisodeEnded:
        return EpisodeEnded(
            episode=state.episode,
            end=end,
            turns=state.turn_count,
            score=self._latest.score,
            best_score=self._best,
            max_score=self._latest.max_score,
            rooms=len(self._rooms),
            seconds=round(seconds, 1),
        )
