"""Plays the runs of an ablation side by side, each in a process of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import wait
from pathlib import Path
from typing import Protocol

from zorkgpt.ablation.plan import Task
from zorkgpt.ablation.run_process import RunProcess


class Runner(Protocol):
    """Plays runs, several at a time: on this machine, or on a cluster."""

    def play(self, tasks: Iterable[Task], folder_of: Callable[[Task], Path]) -> Iterator[Task]:
        """Play the tasks, each in a new folder, and yield each when its run is complete.

        Raises ``ZorkGPTError`` for the first that fails. When the iteration ends for any reason, no run continues.
        """
        ...


class LocalRunner:
    """Plays runs in processes of this machine, ``size`` at a time."""

    def __init__(self, size: int) -> None:
        self._size = size

    def play(self, tasks: Iterable[Task], folder_of: Callable[[Task], Path]) -> Iterator[Task]:
        """Play like ``Runner.play``."""
        waiting = list(tasks)[::-1]
        playing: dict[int, RunProcess] = {}
        try:
            while waiting or playing:
                while waiting and len(playing) < self._size:
                    task = waiting.pop()
                    run = RunProcess(task, folder_of(task))
                    playing[run.fileno()] = run
                ready = wait(list(playing))
                for number in [each for each in playing if each in ready]:
                    run = playing.pop(number)
                    run.wait()
                    yield run.task
        finally:
            for run in playing.values():
                run.close()
