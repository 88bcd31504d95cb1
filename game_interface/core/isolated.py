"""The same game in a child process: what crashes or hangs the interpreter costs a child, not the program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from game_interface.core.arguments import require_command, require_seed
from game_interface.core.machine.saved_state import SavedState
from game_interface.core.machine.story import Story
from game_interface.core.private_folder import PrivateFolder
from game_interface.core.process.fork_helper import GameProcess
from game_interface.core.process.served_game import ERRORS
from game_interface.core.process.trial import OPENING_LIMIT
from session.closing import Closing
from session.errors import GameError, StoryError
from session.values import StoryFacts

if TYPE_CHECKING:
    from session.values import Observation


class IsolatedGame(Closing):
    """A ``Game`` in a process and an empty working folder of its own.

    rom_path, seed, use_profile: as for ``JerichoInterface``
    time_limit, opening_limit: seconds in which every answer has to come, and the story's opening

    A crash or a hang raises ``GameError``; after it ``restore``, ``reset`` and ``restart`` begin with a fresh child.
    The state comes with every observation, so that ``save`` costs nothing and outlives the child.
    """

    def __init__(
        self,
        rom_path: str | Path,
        *,
        seed: int = 1,
        use_profile: bool = True,
        time_limit: float = 10.0,
        opening_limit: float = OPENING_LIMIT,
    ) -> None:
        require_seed(seed)
        self._path = Path(rom_path).absolute()
        self._story = Story.load(self._path)
        self._seed = seed
        self._use_profile = use_profile
        self._time_limit = time_limit
        self._opening_limit = opening_limit
        self._folder = PrivateFolder()
        self._child: GameProcess | None = None
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
    def facts(self) -> StoryFacts:
        """What is fixed for the story file."""
        return self._facts

    @property
    def observation(self) -> Observation:
        """The latest observation."""
        return self._latest.observation

    def restart(self) -> Observation:
        """A fresh child has opened the story anew."""
        self._open()
        return self._observe(b"o")

    def reset(self, seed: int) -> Observation:
        """The story is at its opening, its random numbers drawn from ``seed``."""
        require_seed(seed)
        self._revive()
        return self._observe(b"n" + str(seed).encode())

    def step(self, command: str) -> Observation:
        """The story has answered ``command``."""
        require_command(command)
        return self._observe(b"s" + command.encode("utf-8", "surrogatepass"))

    def valid_actions(self) -> tuple[str, ...]:
        """Commands that would change the world now, one for each outcome."""
        return tuple(json.loads(self._request(b"a")))

    def save(self) -> SavedState:
        """The whole state."""
        self._require_open()
        return self._latest

    def restore(self, state: SavedState) -> Observation:
        """The story is where ``state`` was saved, in a fresh child if the last one died."""
        self._revive()
        return self._observe(b"r" + state.to_bytes())

    def close(self) -> None:
        """The child and its folder are gone."""
        self._closed = True
        if self._child:
            self._child.kill()
            self._child = None
        self._folder.remove()

    def _open(self) -> None:
        self._require_open()
        if self._child:
            self._child.kill()
        self._child = GameProcess(self._folder.path)
        request = json.dumps([str(self._path), self._seed, self._use_profile]).encode()
        facts = json.loads(self._request(request, self._opening_limit))
        self._facts = StoryFacts(**facts | {"directions": tuple(facts["directions"])})

    def _require_open(self) -> None:
        if self._closed:
            raise GameError("The story is closed.")

    def _revive(self) -> None:
        if self._child is None:
            self._open()

    def _observe(self, request: bytes) -> Observation:
        self._latest = SavedState.from_bytes(self._request(request))
        return self._latest.observation

    def _request(self, message: bytes, limit: float | None = None) -> bytes:
        self._require_open()
        if self._child is None:
            raise GameError("The interpreter's process is gone: restore a saved state or restart.")
        try:
            answer = self._child.request(message, limit or self._time_limit)
        except GameError:
            self._child = None
            raise
        kind, value = answer[:1], answer[1:]
        if kind in ERRORS:
            raise ERRORS[kind](value.decode())
        return value
