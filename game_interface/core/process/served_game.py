"""What a game's own process does: it answers the requests of ``IsolatedGame``, in bytes, never pickle.

A request is one letter and its argument: ``s`` step, ``r`` restore, ``n`` new seed, ``o`` nothing, ``a`` valid actions.
An answer is ``+`` and its value, or the letter of an error and its message.
"""

from __future__ import annotations

import json
import resource
import signal
from dataclasses import asdict
from pathlib import Path
from socket import socket

from game_interface.core.jericho_game import JerichoGame
from game_interface.core.machine.saved_state import SavedState
from game_interface.core.machine.story import Story
from game_interface.core.process.messages import receive_message, send_message
from session.errors import ConfigurationError, GameError, StoryError, ZorkGPTError
from session.values import Seed

ERRORS: dict[bytes, type[ZorkGPTError]] = {b"c": ConfigurationError, b"g": GameError, b"s": StoryError}


def opening_request(path: Path, seed: Seed, *, use_profile: bool) -> bytes:
    """Return the first request, which opens a story; its answer is the story's facts."""
    return json.dumps([str(path), seed, use_profile]).encode()


def serve(connection: socket) -> None:
    """Answer every request on ``connection`` until the other side is gone."""
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
    """Open the game that the first request asks for; from then on the kernel lets this process fill no file."""
    path, seed, use_profile = json.loads(message)
    game = JerichoGame(Story.load(Path(path)), seed=seed, use_profile=use_profile)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    return game


def _answer(game: JerichoGame, request: bytes, argument: bytes) -> bytes:
    """Return valid actions as JSON, or the state that the request led to, with its observation."""
    if request == b"a":
        return json.dumps(game.valid_actions()).encode()
    if request == b"s":
        game.step(argument.decode("utf-8", "surrogatepass"))
    elif request == b"r":
        game.restore(SavedState.unpacked(argument))
    elif request == b"n":
        game.reset("jericho" if argument == b"jericho" else int(argument))
    return game.save().packed()
