"""A game that goes on after its interpreter died: the command over which it died counts as one that did not work."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from typing_extensions import override

from game_interface.core.game import Game
from session.errors import GameError
from session.events import GameFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from game_interface.core.machine.saved_state import SavedState
    from session.events import Event
    from session.files.recording import Recording
    from session.values import Observation, StoryFacts


class RestoringGame(Game):
    """A game around ``inner`` that is put back to before any command over which the interpreter dies.

    emit: told of every such failure
    recording: a failure that comes next in it is repeated without asking the interpreter

    ``GameError`` is raised where the game cannot be put back either.
    """

    def __init__(self, inner: Game, emit: Callable[[Event], None], recording: Recording) -> None:
        self._inner = inner
        self._emit = emit
        self._recording = recording
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
    def reset(self, seed: int) -> Observation:
        return self._kept(self._inner.reset(seed))

    @override
    def step(self, command: str) -> Observation:
        recorded = self._recording.next_event
        if isinstance(recorded, GameFailed) and recorded.command == command:
            return self._put_back(recorded)
        try:
            return self._kept(self._inner.step(command))
        except GameError as error:
            return self._put_back(GameFailed(command, str(error)))

    @override
    def valid_actions(self) -> tuple[str, ...]:
        recorded = self._recording.next_event
        if isinstance(recorded, GameFailed) and not recorded.command:
            self._put_back(recorded)
            return ()
        try:
            return self._inner.valid_actions()
        except GameError as error:
            self._put_back(GameFailed("", str(error)))
            return ()

    @override
    def save(self) -> SavedState:
        return self._saved

    @override
    def restore(self, state: SavedState) -> Observation:
        return self._kept(self._inner.restore(state))

    @override
    def close(self) -> None:
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
