"""Who plays the runs of an ablation: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Protocol

from zorkgpt.ablation.run_process import RunProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from zorkgpt.ablation.plan import Task


class Runner(Protocol):
    """Plays tasks, several at a time."""

    def play(self, tasks: Iterable[Task], folder_of: Callable[[Task], Path]) -> Iterator[Task]:
        """Each task, once its run is complete in its folder, which does not exist before.

        Raises ``ZorkGPTError`` at the first that fails. When the iteration ends, for whatever reason, nobody plays.
        """
        ...


class LocalRunner:
    """Plays ``size`` runs side by side, each in a process of its own."""

    def __init__(self, size: int) -> None:
        self._size = size

    def play(self, tasks: Iterable[Task], folder_of: Callable[[Task], Path]) -> Iterator[Task]:
        """As ``Runner.play``."""
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
