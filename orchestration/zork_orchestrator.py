"""Plays a run: episodes one after the other, each from the story's opening to its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event as Flag
from typing import TYPE_CHECKING, Literal, Protocol

from game_interface.core.game import Game
from orchestration.learning import Learning
from orchestration.turn import PlayerLeft, Turn
from session.context import Place
from session.episode_progress import EpisodeProgress
from session.errors import BudgetSpent, GameError, LanguageModelError, StoreError, WaitInterrupted
from session.events import EpisodeEnd, EpisodeEnded, EpisodeStarted, Event, RunEnded, RunPaused, TurnPlayed
from session.game_state import GameState
from session.values import Seed

if TYPE_CHECKING:
    from session.values import Observation, TurnRecord


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What to play: ``seeds`` has one seed for each episode, ``max_turns`` is the limit of each."""

    seeds: tuple[Seed, ...]
    max_turns: int
    first_episode: int = 1


RunEnd = Literal["done", "interrupted", "paused"]


class Commit(Protocol):
    """Writes down what was played: see ``orchestration.committer.Committer.commit``."""

    def __call__(self, episode_index: int, *, in_episode: bool) -> None:
        """Write down how the run stands, so that it can be resumed from here."""
        ...


class Episode:
    """An episode being played: its state, and what it has come to so far."""

    def __init__(self, state: GameState, opening: Observation) -> None:
        self.state = state
        self.state.begin(opening)
        self._progress = EpisodeProgress(opening)

    def count(self, record: TurnRecord, seconds: float) -> None:
        """Add a turn to the figures that the end of the episode tells."""
        self._progress.count(record, seconds)

    def ended(self, end: EpisodeEnd) -> EpisodeEnded:
        """Return the event of this end, with the figures of the episode."""
        progress = self._progress
        return EpisodeEnded(
            episode=self.state.episode,
            end=end,
            turns=self.state.turn_count,
            score=progress.latest.score,
            best_score=progress.best_score,
            max_score=progress.latest.max_score,
            rooms=len(progress.rooms),
            seconds=round(progress.seconds, 1),
        )


@dataclass(frozen=True, slots=True)
class RunPosition:
    """How far a run has come.

    index: place of the episode in the plan, from 0
    episode: the one that is being played; ``None`` where it is still to begin
    """

    index: int = 0
    episode: Episode | None = None

    def describe(self) -> str:
        """Return the position in words that end a sentence; "" for the beginning of the run."""
        if self.episode is not None:
            return f", episode {self.episode.state.episode}, after turn {self.episode.state.turn_count}"
        return f", at the beginning of its episode {self.index + 1}" if self.index else ""


@dataclass(slots=True)
class ZorkOrchestrator:
    """Plays episodes and tells ``emit`` of everything as it happens.

    commit: called after every turn and every episode
    stop: set from outside, pauses the run after the turn in flight
    before_turn: called before every turn
    after_episode: called with the number of an episode when its managers have drawn their conclusions
    """

    game: Game
    turn: Turn
    learning: Learning
    plan: RunPlan
    emit: Callable[[Event], None]
    commit: Commit
    stop: Flag
    before_turn: Callable[[], None] = lambda: None
    after_episode: Callable[[int], None] = lambda _episode: None
    _episode: Episode | None = None

    def play(self, position: RunPosition = RunPosition()) -> RunEnd:
        """Play every episode of the plan from ``position`` on, or until the run has to pause.

        Raises ``StoreError`` where not even the pause can be written down.
        """
        self._episode = position.episode
        try:
            for index in range(position.index, len(self.plan.seeds)):
                if not self._play_episode(index):
                    return self._paused("interrupted", "interrupted")
        except (LanguageModelError, BudgetSpent, WaitInterrupted, StoreError, GameError) as error:
            return self._paused("interrupted" if self.stop.is_set() else "paused", str(error))
        self.emit(RunEnded(len(self.plan.seeds), self.learning.digests()))
        return "done"

    def _play_episode(self, index: int) -> bool:
        """Play an episode; return false where it was interrupted."""
        episode = self._episode = self._episode or self._begin(index)
        while (end := self._end(episode)) is None:
            if self.stop.is_set():
                return False
            try:
                self._play_turn(episode)
            except PlayerLeft:
                end = "left"
                break
            self.commit(index, in_episode=True)
        self.learning.end(end)
        self.after_episode(episode.state.episode)
        self.emit(episode.ended(end))
        self._episode = None
        self.commit(index + 1, in_episode=False)
        return True

    def _begin(self, index: int) -> Episode:
        seed = self.plan.seeds[index]
        opening = self.game.reset(seed)
        episode = Episode(GameState(episode=self.plan.first_episode + index), opening)
        self.learning.begin(episode.state)
        self.emit(EpisodeStarted(episode.state.episode, seed, opening))
        return episode

    def _play_turn(self, episode: Episode) -> None:
        self.before_turn()
        start = time.monotonic()
        state = episode.state
        learnt = []
        if not self.turn.on_route:
            self.learning.show_before_asking()
            learnt = self.learning.sections(self.game.observation)
        record = self.turn.play(state, learnt)
        seconds = round(time.monotonic() - start, 3)
        memory = "".join(section.text for section in learnt if section.place == Place.MEMORY)
        self.emit(TurnPlayed(record, seconds, self.turn.context.tokens.estimate(memory)))
        state.record(record)
        self.learning.learn(record)
        episode.count(record, seconds)

    def _end(self, episode: Episode) -> EpisodeEnd | None:
        ending = self.game.observation.ending
        if ending is not None:
            return ending
        return "turn_limit" if episode.state.turn_count >= self.plan.max_turns else None

    def _paused(self, end: RunEnd, reason: str) -> RunEnd:
        state = self._episode.state if self._episode else None
        self.emit(RunPaused(reason, state.episode if state else 0, state.turn_count if state else 0))
        return end
