"""A run in a process of its own: with a fresh model server, and gone with whoever asked for it.

The process is told its task on its standard input, which stays open: its end means that nobody waits any more, and
the run ends then, whatever it was doing. What went wrong comes back in one line on its standard output.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from threading import Event as Flag
from typing import TYPE_CHECKING

from orchestration.bootstrap import open_run
from session.errors import GameError, LanguageModelUnavailable, ZorkGPTError
from session.events import RunPaused

if TYPE_CHECKING:
    from pathlib import Path

    from session.events import Event
    from zorkgpt.ablation.plan import Task

_GRACE = 10.0  # seconds in which a process that is told to end closes its game and its model


class RunProcess:
    """A process that plays ``task`` in the work folder ``folder``, from now on."""

    def __init__(self, task: Task, folder: Path) -> None:
        self.task = task
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,
        )
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it died at once, which its end tells
            self._process.stdin.write(pickle.dumps((task, folder)))
            self._process.stdin.flush()

    def fileno(self) -> int:
        """Of a descriptor that is readable once the run has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def wait(self) -> None:
        """The run was played to its end. Raises ``ZorkGPTError`` with what it failed of."""
        assert self._process.stdout is not None
        words = self._process.stdout.read().decode("utf-8", "replace").strip()
        self.close()
        if self._process.returncode:
            raise GameError(f"{self.task.label}: {words or f'its process ended with {self._process.returncode}'}")

    def close(self) -> None:
        """The process is gone."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def play(task: Task, folder: Path) -> None:
    """The task's run was played to its end, all in ``folder``. Raises ``ZorkGPTError`` where it ended otherwise."""
    configuration = task.configuration.model_copy(update={"zork_game_workdir": folder})
    pauses: list[str] = []

    def watch(event: Event) -> None:
        if isinstance(event, RunPaused):
            pauses.append(event.reason)

    with (
        task.open_parts(configuration) as parts,
        open_run(configuration, parts, episodes=task.episodes, show=watch, stop=Flag()) as orchestrator,
    ):
        end = orchestrator.play()
    if end == "paused":
        raise LanguageModelUnavailable(pauses[-1])
    if end != "done":
        raise GameError(f"the run {end}; its journal in {folder} says why")


def main() -> int:
    """Runs in the process: the task of standard input was played; 1 where it failed, with the reason printed."""
    signal.signal(signal.SIGTERM, _leave)
    task, folder = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that started this one
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        play(task, folder)
    except ZorkGPTError as error:
        sys.stdout.write(str(error))
        return 1
    return 0


def _leave(_signal: int, _frame: object) -> None:
    sys.exit(1)


def _leave_with_parent() -> None:
    """Waits until nobody holds the other end of standard input; then the main thread leaves, closing all it opened."""
    os.read(sys.stdin.fileno(), 1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
