"""Child processes for stories that may crash or hang the interpreter.

A helper process loads the interpreter once and forks a fresh child for each game. (The standard library's fork server
would run the caller's main module again in every child.)

The helper exits when this process does, because its socket closes, and the kernel then kills the children. The helper
removes their folders, because a killed process cannot. It has its own session, so that an interrupt from the terminal
reaches this process only.
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

from game_interface.core.process.served_game import receive_message, send_message, serve
from session.errors import GameError
from session.processes import child_environment, python_command

_HELLO_LIMIT = 30.0  # seconds; the helper loads the interpreter first
_END_LIMIT = 5.0  # seconds; the helper removes folders first
_LONGEST_FOLDER = 4096
_PR_SET_PDEATHSIG = 1

_lock = threading.Lock()
_helpers: dict[int, _ForkHelper] = {}  # by process ID: a forked copy of this process needs its own helper


class GameProcess:
    """A fresh process that has loaded the interpreter and answers requests (see ``served_game``).

    folder: its working folder, reserved for such processes and removed after this process ends
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
        """Return the answer to ``message``.

        Raises ``GameError`` if the process dies or does not answer within ``limit`` seconds; it is killed then.
        """
        try:
            send_message(self._connection, message)
        except OSError as error:
            self.kill()
            raise GameError("The interpreter's process is gone.") from error
        return self._receive(limit)

    def kill(self) -> None:
        """Kill the process."""
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
    """Return this process's helper; start it if necessary."""
    with _lock:
        helper = _helpers.get(os.getpid())
        if helper is None or helper.process.poll() is not None:
            helper = _helpers[os.getpid()] = _ForkHelper()
        return helper


class _ForkHelper:
    """The running helper process and the socket for requests to it."""

    def __init__(self) -> None:
        self.requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603 - our own module
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

    def _end(self) -> None:
        try:
            self.requests.close()
            self.process.wait(_END_LIMIT)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):  # Ctrl-C while the program ends
            self.process.kill()
            self.process.wait()


def _fork_on_request(requests: socket.socket) -> None:
    """Run in the helper: fork a child for every socket that arrives, until the parent's socket closes."""
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
            _confine(os.fsdecode(folder))
            with socket.socket(fileno=sockets[0]) as connection:
                send_message(connection, str(os.getpid()).encode())
                serve(connection)
            os._exit(0)
        os.close(sockets[0])


def _confine(folder: str) -> None:
    """Make this child process work in ``folder`` and die with its parent."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(folder)
    tempfile.tempdir = folder


if __name__ == "__main__":
    _fork_on_request(socket.socket(fileno=int(sys.argv[1])))
