"""Child processes for stories that may crash or hang the interpreter.

A helper process loads the interpreter once and forks a fresh child for each game. (The standard library's fork server
would run the caller's main module again in every child.)

The helper exits when this process does, because its socket closes, and the kernel then kills the children. The helper
removes their folders, because a killed process cannot. It has its own session, so that an interrupt from the terminal
reaches this process only.

A child answers requests in bytes, without pickle. The first request opens a story; its answer is the story's facts, a
line break and the packed state. Each later request is one letter followed by its argument: ``s`` step, ``r`` restore,
``n`` new seed, ``a`` valid actions. An answer is ``+`` followed by the packed state or the valid actions, or the letter
of an error followed by its message.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path

from game_interface.core.game import SavedState
from game_interface.core.jericho_game import JerichoGame
from game_interface.core.machine.story import Story
from session.errors import ConfigurationError, GameError, StoryError, ZorkGPTError
from session.processes import child_environment, python_command

ERRORS: dict[bytes, type[ZorkGPTError]] = {b"c": ConfigurationError, b"g": GameError, b"s": StoryError}
_END_LIMIT = 5.0  # seconds; the helper removes folders first
_LONGEST_FOLDER = 4096
_PR_SET_PDEATHSIG = 1

_lock = threading.Lock()
_helpers: dict[int, tuple[subprocess.Popen[bytes], socket.socket]] = {}
"""The running helper and the socket for requests to it, by process ID: a forked copy of this process needs its own."""


def forked_child(folder: str) -> Connection:
    """Return the connection to a fresh process that has loaded the interpreter. Its first message is its process ID.

    folder: its working folder, reserved for such processes and removed after this process ends

    Raises ``GameError`` if no process can be started.
    """
    ours, theirs = socket.socketpair()
    connection = Connection(ours.detach())
    with theirs:
        try:
            socket.send_fds(_requests_to_helper(), [os.fsencode(folder)], [theirs.fileno()])
        except OSError as error:
            connection.close()
            _helpers.pop(os.getpid(), None)
            raise GameError(f"no process can be started for it: {error.strerror or error}") from error
    return connection


def _requests_to_helper() -> socket.socket:
    """Return the socket for requests to this process's helper; start the helper if necessary."""
    with _lock:
        helper = _helpers.get(os.getpid())
        if helper is not None and helper[0].poll() is None:
            return helper[1]
        requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own module
                python_command(__name__, str(theirs.fileno())),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=child_environment() | {"OPENBLAS_NUM_THREADS": "1"},
                start_new_session=True,
            )
        atexit.register(_end, process, requests)
        _helpers[os.getpid()] = process, requests
        return requests


def _end(process: subprocess.Popen[bytes], requests: socket.socket) -> None:
    try:
        requests.close()
        process.wait(_END_LIMIT)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):  # Ctrl-C while the program ends
        process.kill()
        process.wait()


def _fork_on_request(requests: socket.socket) -> None:
    """Run in the helper: fork a child for every socket that arrives, until the parent's socket closes.

    The child works in its folder, must not write to files once the story is open, and dies with its parent.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the children
    folders: set[bytes] = set()
    while True:
        folder, sockets, _, _ = socket.recv_fds(requests, _LONGEST_FOLDER, 1)
        if not sockets:
            for each in folders:
                shutil.rmtree(each, ignore_errors=True)
            return
        folders.add(folder)
        if os.fork() == 0:
            requests.close()
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.chdir(folder)
            tempfile.tempdir = os.fsdecode(folder)
            connection = Connection(sockets[0])
            connection.send_bytes(str(os.getpid()).encode())
            try:
                _serve(connection)
            except (EOFError, OSError):  # the parent is gone
                os._exit(0)
        os.close(sockets[0])


def _serve(connection: Connection) -> None:
    """Answer every request on ``connection``. Raises ``EOFError`` or ``OSError`` when the peer is gone."""
    game: JerichoGame | None = None
    while True:
        message = connection.recv_bytes()
        try:
            if game is None:
                path, seed = json.loads(message)
                game = JerichoGame(Story.load(Path(path)), seed=seed)
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
                answer = json.dumps(asdict(game.facts)).encode() + b"\n" + game.save().packed()
            else:
                answer = _answer(game, message[:1], message[1:])
        except ZorkGPTError as error:
            letter = next(letter for letter, kind in ERRORS.items() if isinstance(error, kind))
            connection.send_bytes(letter + str(error).encode())
        else:
            connection.send_bytes(b"+" + answer)


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


if __name__ == "__main__":
    _fork_on_request(socket.socket(fileno=int(sys.argv[1])))
