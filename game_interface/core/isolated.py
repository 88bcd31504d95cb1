"""A game in a child process, which protects the program from crashes and hangs of the interpreter."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from typing_extensions import override

from game_interface.core.fork_helper import ERRORS, forked_child
from game_interface.core.game import Game, SavedState, require_command, require_saved_state, require_seed
from game_interface.core.machine.interpreter import private_folder
from game_interface.core.machine.story import Story
from session.errors import GameError, StoryError
from session.values import Observation, Seed, StoryFacts

OPENING_LIMIT = 20.0
"""Seconds within which a story must open, including the search for the status of an unknown story."""
_HELLO_LIMIT = 30.0  # seconds; the helper process loads the interpreter first


class IsolatedGame(Game):
    """A story that runs in its own process, in an empty working folder.

    rom_path, seed: as for ``JerichoInterface``
    time_limit: seconds within which the process must answer a request
    opening_limit: seconds within which the story must open

    A crash or a hang raises ``GameError``; then ``restore``, ``reset`` and ``restart`` start a fresh process.
    Every observation arrives with the saved state, so ``save`` needs no request and works after a crash.
    A copy, also by ``pickle``, has a process of its own, in the same state.
    """

    def __init__(
        self, rom_path: str | Path, *, seed: Seed = 1, time_limit: float = 10.0, opening_limit: float = OPENING_LIMIT
    ) -> None:
        require_seed(seed)
        self._path = Path(rom_path).absolute()
        Story.load(self._path)  # so that this process raises the error for a bad file
        self._seed = seed
        self._time_limit = time_limit
        self._opening_limit = opening_limit
        self._folder = private_folder()
        self._connection: Connection | None = None  # to the story's process, as long as that is not known to be dead
        self._pid = 0
        self._closed = False
        try:
            self.restart()
        except GameError as error:
            self.close()
            raise StoryError(f"{self._path} cannot be played: {error}") from error
        except StoryError:
            self.close()
            raise

    def restart(self) -> Observation:
        """Open the story again in a fresh process."""
        self._require_open()
        self._kill()
        if not Path(self._folder.name).is_dir():  # removed by another process
            self._folder.cleanup()
            self._folder = private_folder()
        self._connection = forked_child(self._folder.name)
        self._pid = int(self._received(self._connection, _HELLO_LIMIT))
        request = json.dumps([str(self._path), self._seed]).encode()
        line, _, state = self._request(request, self._opening_limit).partition(b"\n")
        facts = json.loads(line)
        self.facts = StoryFacts(**facts | {"directions": tuple(facts["directions"])})
        return self._keep(state)

    @override
    def reset(self, seed: Seed) -> Observation:
        require_seed(seed)
        return self._revived(b"n" + str(seed).encode())

    @override
    def step(self, command: str) -> Observation:
        require_command(command)
        return self._keep(self._request(b"s" + command.encode("utf-8", "surrogatepass"), self._time_limit))

    @override
    def valid_actions(self) -> tuple[str, ...]:
        return tuple(json.loads(self._request(b"a", self._time_limit)))

    @override
    def save(self) -> SavedState:
        self._require_open()
        return self._latest

    @override
    def restore(self, state: SavedState) -> Observation:
        require_saved_state(state)
        return self._revived(b"r" + state.packed())

    def __reduce__(self) -> tuple[Callable[..., IsolatedGame], tuple[str, Seed, float, float, bytes]]:
        self._require_open()
        return _reopened, (str(self._path), self._seed, self._time_limit, self._opening_limit, self._latest.packed())

    @override
    def close(self) -> None:
        self._closed = True
        self._kill()
        self._folder.cleanup()

    def _require_open(self) -> None:
        if self._closed:
            raise GameError("The story is closed.")

    def _revived(self, request: bytes) -> Observation:
        """Send ``request``, to a fresh process if the last one has died."""
        if self._connection is None:
            self.restart()
        return self._keep(self._request(request, self._time_limit))

    def _request(self, message: bytes, limit: float) -> bytes:
        """Return the answer to ``message``, or raise the error that it names.

        Raises ``GameError`` if the process dies or does not answer within ``limit`` seconds. It is killed then.
        """
        self._require_open()
        if self._connection is None:
            raise GameError("The interpreter's process is gone: restore a saved state or restart.")
        try:
            self._connection.send_bytes(message)
        except OSError as error:
            self._kill()
            raise GameError("The interpreter's process is gone.") from error
        answer = self._received(self._connection, limit)
        kind, value = answer[:1], answer[1:]
        if kind in ERRORS:
            raise ERRORS[kind](value.decode())
        return value

    def _received(self, connection: Connection, limit: float) -> bytes:
        try:
            if connection.poll(limit):
                return connection.recv_bytes()
        except (OSError, EOFError) as error:
            self._kill()
            raise GameError("The interpreter crashed.") from error
        self._kill()
        raise GameError(f"The interpreter gave no answer within {limit:g} seconds.")

    def _kill(self) -> None:
        if self._connection is not None:
            if self._pid:
                with suppress(ProcessLookupError):
                    os.kill(self._pid, signal.SIGKILL)
            self._connection.close()
            self._connection, self._pid = None, 0

    def _keep(self, packed: bytes) -> Observation:
        self._latest = SavedState.unpacked(packed)
        self.observation = self._latest.observation
        return self.observation


def _reopened(path: str, seed: Seed, time_limit: float, opening_limit: float, state: bytes) -> IsolatedGame:
    """Open a story again, in the given state."""
    game = IsolatedGame(path, seed=seed, time_limit=time_limit, opening_limit=opening_limit)
    game.restore(SavedState.unpacked(state))
    return game
