"""The child process of a game: it answers the requests of ``IsolatedGame`` over a socket, in bytes, without pickle.

A request is one letter followed by its argument: ``s`` step, ``r`` restore, ``n`` new seed, ``o`` no operation, ``a``
valid actions. An answer is ``+`` followed by its value, or the letter of an error followed by its message.
"""

from __future__ import annotations

import json
import resource
import signal
import time
from dataclasses import asdict
from pathlib import Path
from socket import socket

from game_interface.core.jericho_game import JerichoGame
from game_interface.core.machine.saved_state import SavedState
from game_interface.core.machine.story import Story
from session.errors import ConfigurationError, GameError, StoryError, ZorkGPTError
from session.values import Seed

ERRORS: dict[bytes, type[ZorkGPTError]] = {b"c": ConfigurationError, b"g": GameError, b"s": StoryError}
_HEADER_SIZE = 4
_CHUNK = 1 << 16


def send_message(connection: socket, content: bytes) -> None:
    """Send one message: four bytes of length, then ``content``. Raises ``OSError`` if the peer is gone."""
    connection.sendall(len(content).to_bytes(_HEADER_SIZE, "big") + content)


def receive_message(connection: socket, limit: float | None = None) -> bytes:
    """Return the next message. The peer must not send another one before it is answered.

    Raises ``TimeoutError`` if it is not complete after ``limit`` seconds, and ``EOFError`` or another ``OSError`` if
    the peer is gone.
    """
    deadline = None if limit is None else time.monotonic() + limit
    received, size = b"", _HEADER_SIZE
    while len(received) < size:
        connection.settimeout(None if deadline is None else max(deadline - time.monotonic(), 0.001))
        chunk = connection.recv(_CHUNK)
        if not chunk:
            raise EOFError
        received += chunk
        if len(received) >= _HEADER_SIZE:
            size = _HEADER_SIZE + int.from_bytes(received[:_HEADER_SIZE], "big")
    return received[_HEADER_SIZE:]


def opening_request(path: Path, seed: Seed, *, use_profile: bool) -> bytes:
    """Return the first request, which opens a story. Its answer is the story's facts."""
    return json.dumps([str(path), seed, use_profile]).encode()


def serve(connection: socket) -> None:
    """Answer every request on ``connection`` until the peer is gone."""
    game: JerichoGame | None = None
    while True:
        try:
            message = receive_message(connection)
        except (EOFError, OSError):
            return
        try:
            if game is None:
                game = _open(message)
                answer = json.dumps(asdict(game.facts)).encode()
            else:
                answer = _answer(game, message[:1], message[1:])
        except ZorkGPTError as error:
            letter = next(letter for letter, kind in ERRORS.items() if isinstance(error, kind))
            send_message(connection, letter + str(error).encode())
        else:
            send_message(connection, b"+" + answer)


def _open(message: bytes) -> JerichoGame:
    """Open the game of the first request, then forbid this process to write to files."""
    path, seed, use_profile = json.loads(message)
    game = JerichoGame(Story.load(Path(path)), seed=seed, use_profile=use_profile)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    return game


def _answer(game: JerichoGame, request: bytes, argument: bytes) -> bytes:
    """Return the valid actions as JSON, or the packed state after the request."""
    if request == b"a":
        return json.dumps(game.valid_actions()).encode()
    if request == b"s":
        game.step(argument.decode("utf-8", "surrogatepass"))
    elif request == b"r":
        game.restore(SavedState.unpacked(argument))
    elif request == b"n":
        game.reset("jericho" if argument == b"jericho" else int(argument))
    return game.save().packed()
