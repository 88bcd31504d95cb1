"""Child processes for stories that may crash or hang the interpreter.

A helper process loads the interpreter once and forks a fresh child for each game, in about the time that a game
takes to open. (The standard library's fork server would run the caller's main module again in every child.)

The helper lives as long as this process: its end of a socket closes with us, and the kernel ends the children with
the helper. The helper removes their folders, since a process that is killed cannot. It has its own session, so that an
interrupt from the terminal reaches this process only.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from game_interface.core.process.messages import receive_message, send_message
from game_interface.core.process.served_game import serve
from session.errors import GameError
from session.processes import child_environment, python_command

_HELLO_LIMIT = 30.0  # seconds; the helper loads the interpreter first
_END_LIMIT = 5.0  # seconds; the helper removes folders first
_LONGEST_FOLDER = 4096
_PR_SET_PDEATHSIG = 1

_lock = threading.Lock()
_helpers: dict[int, _ForkHelper] = {}  # by process id: a forked copy of this process needs its own helper


class GameProcess:
    """A fresh process that has loaded the interpreter and answers requests (see ``served_game``).

    folder: its working folder, which is for such processes alone: it is gone soon after this process at the latest
    """

    def __init__(self, folder: str) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(_running_helper().requests, [os.fsencode(folder)], [theirs.fileno()])
            except OSError as error:
                ours.close()
                _helpers.pop(os.getpid(), None)
                raise GameError(f"no process can be started for it: {error.strerror or error}") from error
        self._connection = ours
        self._pid = 0
        self._pid = int(self._receive(_HELLO_LIMIT))

    def request(self, message: bytes, limit: float) -> bytes:
        """Return the answer to ``message``, which has to come within ``limit`` seconds.

        Raises ``GameError`` if the process dies or takes longer; it is gone then.
        """
        try:
            send_message(self._connection, message)
        except OSError as error:
            self.kill()
            raise GameError("The interpreter's process is gone.") from error
        return self._receive(limit)

    def kill(self) -> None:
        """End the process, whatever it is doing."""
        if self._pid and self._connection.fileno() >= 0:
            try:
                os.kill(self._pid, signal.SIGKILL)
            except ProcessLookupError:
                self._pid = 0
        self._connection.close()

    def _receive(self, limit: float) -> bytes:
        try:
            return receive_message(self._connection, limit)
        except TimeoutError as error:
            self.kill()
            raise GameError(f"The interpreter gave no answer within {limit:g} seconds.") from error
        except (OSError, EOFError) as error:
            self.kill()
            raise GameError("The interpreter crashed.") from error


def _running_helper() -> _ForkHelper:
    """Return this process's helper, started at the first use."""
    with _lock:
        helper = _helpers.get(os.getpid())
        if helper is None or not helper.is_running():
            helper = _helpers[os.getpid()] = _ForkHelper()
        return helper


class _ForkHelper:
    """The helper process, running, and the socket that it takes requests from."""

    def __init__(self) -> None:
        self.requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                python_command(__name__, str(theirs.fileno())),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=child_environment() | {"OPENBLAS_NUM_THREADS": "1"},
                start_new_session=True,
            )
        atexit.register(self._end)

    def is_running(self) -> bool:
        """Return whether the helper can still fork a child."""
        return self._process.poll() is None

    def _end(self) -> None:
        try:
            self.requests.close()
            self._process.wait(_END_LIMIT)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):  # Ctrl-C while the program ends
            self._process.kill()
            self._process.wait()


def _fork_on_request(requests: socket.socket) -> None:
    """Run in the helper: fork a child for every socket that arrives, until nobody can send one any more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
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
            _confine(os.fsdecode(folder))
            with socket.socket(fileno=sockets[0]) as connection:
                send_message(connection, str(os.getpid()).encode())
                serve(connection)
            os._exit(0)
        os.close(sockets[0])


def _confine(folder: str) -> None:
    """Let this process, a child, work in ``folder`` alone and end with its parent."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(folder)
    tempfile.tempdir = folder


if __name__ == "__main__":
    _fork_on_request(socket.socket(fileno=int(sys.argv[1])))
