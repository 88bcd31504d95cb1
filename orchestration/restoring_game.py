"""A game that survives a crash of its interpreter: the command is retried once, then counts as failed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from typing_extensions import override

from game_interface.core.game import Game
from game_interface.core.machine.saved_state import SavedState
from session.errors import GameError
from session.events import GameFailed
from session.files.inputs import Inputs
from session.values import Observation, Seed, StoryFacts

Answer = TypeVar("Answer")

_LOG = logging.getLogger("zorkgpt.game")


class RestoringGame(Game):
    """Wraps ``inner``, and restores it to its last state whenever the interpreter crashes.

    The command is retried once, since the process may have been killed from outside or have run out of memory. After a
    second crash the command counts as failed.

    inputs: records every failed command, and repeats the recorded ones

    ``GameError`` is raised if the game cannot be restored.
    """

    def __init__(self, inner: Game, inputs: Inputs) -> None:
        self._inner = inner
        self._inputs = inputs
        self._observation = inner.observation
        self._saved = inner.save()

    @property
    @override
    def facts(self) -> StoryFacts:
        return self._inner.facts

    @property
    @override
    def observation(self) -> Observation:
        return self._observation

    @override
    def reset(self, seed: Seed) -> Observation:
        try:
            return self._kept(self._inner.reset(seed))
        except GameError as error:
            _log_restart(error)
            return self._kept(self._inner.reset(seed))

    @override
    def step(self, command: str) -> Observation:
        answer = self._ask(command, partial(self._inner.step, command))
        return self._observation if answer is None else self._kept(answer)

    @override
    def valid_actions(self) -> tuple[str, ...]:
        return self._ask("", self._inner.valid_actions) or ()

    @override
    def save(self) -> SavedState:
        return self._saved

    @override
    def restore(self, state: SavedState) -> Observation:
        return self._kept(self._inner.restore(state))

    @override
    def close(self) -> None:
        self._inner.close()

    def _ask(self, command: str, ask: Callable[[], Answer]) -> Answer | None:
        """Return the answer of the inner game, after one retry if necessary; ``None`` if the command failed."""
        failure = self._inputs.get(GameFailed, lambda: None, lambda event: event.command == command)
        if failure is None:
            try:
                return ask()
            except GameError as error:
                _log_restart(error)
            self._inner.restore(self._saved)
            try:
                return ask()
            except GameError as error:
                failure = GameFailed(command, str(error))
                self._inputs.emit(failure)
        self.put_back(failure)
        return None

    def put_back(self, failure: GameFailed) -> None:
        """Restore the game to the state before a failed command; the observation has the reason."""
        before = self._saved
        if failure.command:
            reason = f"The command did not work, and nothing has changed: {failure.error}"
            observation = replace(before.observation, text=reason, died=False, refusal=reason)
            before = replace(before, observation=observation)
        self._kept(self._inner.restore(before))

    def _kept(self, observation: Observation) -> Observation:
        self._observation = observation
        self._saved = self._inner.save()
        return observation


def _log_restart(error: GameError) -> None:
    _LOG.warning("the interpreter crashed; the command is retried: %s", error)
