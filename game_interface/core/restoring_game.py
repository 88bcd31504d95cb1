"""A game that is restored to its last state whenever the interpreter crashes or hangs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from game_interface.core.game import Game
from session.errors import GameError
from session.events import GameFailed
from session.files.recording import Recording
from session.values import Observation, Seed

Answer = TypeVar("Answer")

_LOG = logging.getLogger("zorkgpt.game")
_RETRIED = "the interpreter crashed; the command is retried: %s"


class RestoringGame:
    """Wraps ``inner``, and restores it to its last state whenever the interpreter crashes.

    The command is retried once, since the process may have been killed from outside or have run out of memory. After a
    second crash the command counts as failed.

    recording: of a run, in which each failed command is recorded, and from which it is repeated
    Every method raises ``GameError`` if the game cannot be restored.
    """

    def __init__(self, inner: Game, recording: Recording | None = None) -> None:
        self._inner = inner
        self._recording = recording
        self.observation = inner.observation
        self._saved = inner.save()

    def reset(self, seed: Seed) -> Observation:
        """Begin the story again, and return its opening."""
        try:
            return self._kept(self._inner.reset(seed))
        except GameError as error:
            _LOG.warning(_RETRIED, error)
            return self._kept(self._inner.reset(seed))

    def step(self, command: str) -> Observation:
        """Play a command. If it failed, the observation has the reason."""
        answer = self._ask(command, partial(self._inner.step, command))
        return self.observation if answer is None else self._kept(answer)

    def valid_actions(self) -> tuple[str, ...]:
        """Return the commands that the interpreter knows to have an effect; none if it crashed."""
        return self._ask("", self._inner.valid_actions) or ()

    def close(self) -> None:
        """Shut the interpreter down."""
        self._inner.close()

    def _ask(self, command: str, ask: Callable[[], Answer]) -> Answer | None:
        """Return the answer of the inner game, after one retry if necessary; ``None`` if the command failed."""
        recording, failure = self._recording, None
        if recording is not None:
            failure = recording.get(GameFailed, lambda: None, lambda event: event.command == command)
        if failure is None:
            try:
                return ask()
            except GameError as error:
                _LOG.warning(_RETRIED, error)
            self._inner.restore(self._saved)
            try:
                return ask()
            except GameError as error:
                failure = GameFailed(command, str(error))
                if recording is not None:
                    recording.emit(failure)
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
        self.observation = observation
        self._saved = self._inner.save()
        return observation
