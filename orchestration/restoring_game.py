"""A game that outlives its interpreter: what crashes or hangs it counts as a command that did not work."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from session.closing import Closing
from session.errors import GameError
from session.events import GameFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from game_interface.core.game import Game
    from game_interface.core.machine.saved_state import SavedState
    from session.events import Event
    from session.files.recording import Recording
    from session.values import Observation, StoryFacts


class RestoringGame(Closing):
    """A ``Game`` around ``inner`` that is put back to before a command over which the interpreter died.

    emit: told of every such failure
    recording: a failure that comes next in it is repeated without asking the interpreter
    """

    def __init__(self, inner: Game, emit: Callable[[Event], None], recording: Recording) -> None:
        self._inner = inner
        self._emit = emit
        self._recording = recording
        self._observation = inner.observation
        self._saved = inner.save()

    @property
    def facts(self) -> StoryFacts:
        """What is fixed for the story file."""
        return self._inner.facts

    @property
    def observation(self) -> Observation:
        """The latest observation."""
        return self._observation

    def reset(self, seed: int) -> Observation:
        """The story is at its opening. Raises ``GameError``."""
        return self._kept(self._inner.reset(seed))

    def step(self, command: str) -> Observation:
        """The story has answered ``command``, or is as it was before, with the reason as ``refusal``.

        Raises ``GameError`` where not even that can be had.
        """
        recorded = self._recording.next_event
        if isinstance(recorded, GameFailed) and recorded.command == command:
            return self._put_back(recorded)
        try:
            return self._kept(self._inner.step(command))
        except GameError as error:
            return self._put_back(GameFailed(command, str(error)))

    def valid_actions(self) -> tuple[str, ...]:
        """Commands that would change the world now; none where the interpreter died over it."""
        recorded = self._recording.next_event
        if isinstance(recorded, GameFailed) and not recorded.command:
            self._put_back(recorded)
            return ()
        try:
            return self._inner.valid_actions()
        except GameError as error:
            self._put_back(GameFailed("", str(error)))
            return ()

    def save(self) -> SavedState:
        """The whole state as of the latest observation."""
        return self._saved

    def restore(self, state: SavedState) -> Observation:
        """The story is where ``state`` was saved. Raises ``GameError``."""
        return self._kept(self._inner.restore(state))

    def close(self) -> None:
        """The inner game is closed."""
        self._inner.close()

    def _kept(self, observation: Observation) -> Observation:
        self._observation = observation
        self._saved = self._inner.save()
        return observation

    def _put_back(self, failure: GameFailed) -> Observation:
        self._emit(failure)
        before = self._saved
        if failure.command:
            reason = f"The command did not work, and nothing has changed: {failure.error}"
            observation = replace(before.observation, text=reason, died=False, refusal=reason)
            before = replace(before, observation=observation)
        return self._kept(self._inner.restore(before))
