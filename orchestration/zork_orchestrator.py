"""Plays a run: episodes one after the other, each from the story's opening to its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Event as Flag
from typing import Literal

from game_interface.core.restoring_game import RestoringGame
from orchestration.learning import Learning
from orchestration.turn import Turn
from session.context import Place, PromptSection
from session.errors import BudgetSpent, GameError, LanguageModelError, StoreError, WaitInterrupted
from session.events import (
    EpisodeEnd,
    EpisodeEnded,
    EpisodeStarted,
    GameFailed,
    MemoryGiven,
    MemoryRemoved,
    RunEnded,
    RunPaused,
    TurnPlayed,
)
from session.files.recording import Recording
from session.game_state import EpisodeProgress, GameState
from session.values import Seed
from zorkgpt.players.player import Leave, Remember

RunEnd = Literal["done", "interrupted", "paused"]


@dataclass(slots=True)
class ZorkOrchestrator:
    """Plays episodes and records every event in ``recording``.

    seeds: one for each episode
    stop: when set by another thread, pauses the run after the current turn, or before its player is asked
    checkpoint: called after every episode, when its files are written
    after_episode: called with the number of an episode after its managers have learned from it
    players: called before each new turn; returns the ``Turn`` with its players
    rebuilds_prompts: whether recorded turns are repeated with their prompts, to compare these
    """

    turn: Turn
    seeds: tuple[Seed, ...]
    max_turns: int
    first_episode: int
    stop: Flag
    checkpoint: Callable[[], None]
    players: Callable[[Turn], Turn] = lambda turn: turn
    after_episode: Callable[[int], None] = lambda _episode: None
    rebuilds_prompts: bool = False
    _state: GameState | None = None

    @property
    def game(self) -> RestoringGame:
        """The story that is played."""
        return self.turn.game

    @property
    def learning(self) -> Learning:
        """The managers."""
        return self.turn.learning

    @property
    def recording(self) -> Recording:
        """What the run takes from outside."""
        return self.turn.recording

    def play(self, first: int = 0, delay: float = 0.0) -> RunEnd:
        """Play every episode from the index ``first`` on, until the run ends or pauses.

        delay: seconds to wait before each new turn; a stop ends the wait
        Raises ``StoreError`` if even the pause cannot be recorded.
        """
        try:
            for index in range(first, len(self.seeds)):
                if not self._play_episode(index, delay):
                    return self._paused("interrupted", "interrupted")
        except (LanguageModelError, BudgetSpent, WaitInterrupted, StoreError, GameError) as error:
            return self._paused("interrupted" if self.stop.is_set() else "paused", str(error))
        self.recording.emit(RunEnded(len(self.seeds), self.learning.digests()))
        return "done"

    def _play_episode(self, index: int, delay: float) -> bool:
        """Play an episode; return false if it was interrupted."""
        seed = self.seeds[index]
        opening = self.game.reset(seed)
        state, progress = GameState(episode=self.first_episode + index, seed=seed), EpisodeProgress(opening)
        state.begin(opening)
        self.learning.look(self.recording)
        self.learning.begin(state)
        self.turn.critic.reset(state.tries)
        self.recording.emit(EpisodeStarted(state.episode, seed, opening))
        self._state = state
        while (end := self._end(state)) is None:
            if delay and not self.recording.is_repeating:
                self.stop.wait(delay)
            if self.stop.is_set():
                return False
            played = self._play_turn(state)
            if isinstance(played, Leave):
                end = "left"
                break
            if isinstance(played, Remember):
                self._remember(played.memory)
                continue
            progress.count(played.record, played.seconds)
            self.learning.commit(self.recording)
        self.learning.end(end)
        self.after_episode(state.episode)
        ended = EpisodeEnded(
            episode=state.episode,
            end=end,
            turns=state.turn_count,
            score=progress.score,
            best_score=progress.best_score,
            max_score=progress.max_score,
            rooms=len(progress.rooms),
            seconds=round(progress.seconds, 1),
        )
        self.recording.emit(ended)
        self._state = None
        self.learning.commit(self.recording)
        self.learning.look(self.recording)  # what the checkpoint copies is part of the recording
        self.checkpoint()
        return True

    def _end(self, state: GameState) -> EpisodeEnd | None:
        ending = self.game.observation.ending
        if ending is not None:
            return ending
        if state.turn_count >= self.max_turns:
            return "turn_limit"
        return "stuck" if self.learning.circling.turns_left == 0 else None

    def _remember(self, given: MemoryGiven) -> None:
        """Learn what the player remembers before the next turn, and write it."""
        if recorded := self.recording.get(MemoryGiven, lambda: given):
            self.learning.remember(recorded, self.game.observation)
            self.learning.commit(self.recording)

    def _play_turn(self, state: GameState) -> TurnPlayed | Remember | Leave:
        self.learning.look(self.recording)
        while removed := self.recording.get(MemoryRemoved, lambda: None):
            self.learning.remove_memory(removed.title)
        played = None if self.rebuilds_prompts else self._repeated_turn()
        if played is None:
            self.turn = self.players(self.turn)
            start = time.monotonic()
            if self.learning.courses.next_proposal is None:  # else no player is called
                self.learning.state.catch_up()
            before, sections = self.game.observation, list[PromptSection]()

            def learned() -> list[PromptSection]:
                """Return the managers' sections, which are built when a prompt needs them."""
                if not sections:
                    sections.extend(self.learning.sections(before, self.stop))
                return sections

            record = self.turn.play(state, learned)
            if isinstance(record, Remember | Leave):
                return record
            seconds = round(time.monotonic() - start, 3)
            memory = "".join(section.text for section in sections if section.place == Place.MEMORY)
            played = TurnPlayed(record, seconds, self.learning.context.tokens.estimate(memory))
        self.recording.emit(played)
        understood = self.learning.context.movements.understood(played.record, state.turns)
        state.record(understood)
        self.turn.critic.learn(understood)
        self.learning.learn(understood)
        return played

    def _repeated_turn(self) -> TurnPlayed | None:
        """Play the command of the next recorded turn without its prompts; ``None`` if no whole turn is recorded."""
        recorded = self.recording.next_turn()
        if recorded is None:
            return None
        events, played = recorded
        before, failures = self.game.observation, [event for event in events if isinstance(event, GameFailed)]
        self.turn.repeat(played.record, failures)
        return replace(played, record=replace(played.record, before=before, after=self.game.observation))

    def _paused(self, end: RunEnd, reason: str) -> RunEnd:
        state = self._state
        self.recording.emit(RunPaused(reason, state.episode if state else 0, state.turn_count if state else 0))
        return end
