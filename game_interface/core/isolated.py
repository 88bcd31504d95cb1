"""A game in a child process: what crashes or hangs the interpreter costs a child, not the program."""

from __future__ import annotations

import json
from pathlib import Path

from typing_extensions import override

from game_interface.core.game import Game, require_command, require_saved_state, require_seed
from game_interface.core.machine.saved_state import SavedState
from game_interface.core.machine.story import Story
from game_interface.core.private_folder import private_folder
from game_interface.core.process.fork_helper import GameProcess
from game_interface.core.process.served_game import ERRORS, opening_request
from game_interface.core.process.trial import OPENING_LIMIT
from session.errors import GameError, StoryError
from session.values import Observation, Seed, StoryFacts


class IsolatedGame(Game):
    """A story that is played in a process and an empty working folder of its own.

    rom_path, seed, use_profile: as for ``JerichoInterface``
    time_limit, opening_limit: seconds in which every answer has to come, and the story's opening

    A crash or a hang raises ``GameError``; after it ``restore``, ``reset`` and ``restart`` begin with a fresh process.
    The state comes with every observation, so that ``save`` costs nothing and outlives the process.
    """

    def __init__(
        self,
        rom_path: str | Path,
        *,
        seed: Seed = 1,
        use_profile: bool = True,
        time_limit: float = 10.0,
        opening_limit: float = OPENING_LIMIT,
    ) -> None:
        require_seed(seed)
        self._path = Path(rom_path).absolute()
        Story.load(self._path)  # raises what is wrong with the file in this process
        self._seed = seed
        self._use_profile = use_profile
        self._time_limit = time_limit
        self._opening_limit = opening_limit
        self._folder = private_folder()
        self._process: GameProcess | None = None
        self._closed = False
        try:
            self.restart()
        except GameError as error:
            self.close()
            raise StoryError(f"{self._path} cannot be played: {error}") from error
        except StoryError:
            self.close()
            raise

    @property
    @override
    def facts(self) -> StoryFacts:
        return self._facts

    @property
    @override
    def observation(self) -> Observation:
        return self._latest.observation

    def restart(self) -> Observation:
        """Open the story anew in a fresh process."""
        self._open()
        return self._observe(b"o")

    @override
    def reset(self, seed: Seed) -> Observation:
        require_seed(seed)
        self._revive()
        return self._observe(b"n" + str(seed).encode())

    @override
    def step(self, command: str) -> Observation:
        require_command(command)
        return self._observe(b"s" + command.encode("utf-8", "surrogatepass"))

    @override
    def valid_actions(self) -> tuple[str, ...]:
        return tuple(json.loads(self._request(b"a")))

    @override
    def save(self) -> SavedState:
        self._require_open()
        return self._latest

    @override
    def restore(self, state: SavedState) -> Observation:
        require_saved_state(state)
        self._revive()
        return self._observe(b"r" + state.packed())

    @override
    def close(self) -> None:
        self._closed = True
        if self._process:
            self._process.kill()
            self._process = None
        self._folder.cleanup()

    def _open(self) -> None:
        self._require_open()
        if self._process:
            self._process.kill()
        if not Path(self._folder.name).is_dir():  # somebody has cleaned up
            self._folder.cleanup()
            self._folder = private_folder()
        self._process = GameProcess(self._folder.name)
        request = opening_request(self._path, self._seed, use_profile=self._use_profile)
        facts = json.loads(self._request(request, self._opening_limit))
        self._facts = StoryFacts(**facts | {"directions": tuple(facts["directions"])})

    def _require_open(self) -> None:
        if self._closed:
            raise GameError("The story is closed.")

    def _revive(self) -> None:
        if self._process is None:
            self._open()

    def _observe(self, request: bytes) -> Observation:
        self._latest = SavedState.unpacked(self._request(request))
        return self._latest.observation

    def _request(self, message: bytes, limit: float | None = None) -> bytes:
        self._require_open()
        if self._process is None:
            raise GameError("The interpreter's process is gone: restore a saved state or restart.")
        try:
            answer = self._process.request(message, limit or self._time_limit)
        except GameError:
            self._process = None
            raise
        kind, value = answer[:1], answer[1:]
        if kind in ERRORS:
            raise ERRORS[kind](value.decode())
        return value
