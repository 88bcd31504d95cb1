"""Runs played by the workers of a Dask cluster, which may be other machines: what they need goes to them as bytes,
and what came of it comes back so.

Dask (``distributed``) keeps the queue, notices workers that die and gives their runs to others.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from distributed import Client, KilledWorker, as_completed

from session.errors import ConfigurationError, GameError, StoreError
from session.files.atomic_write import write_atomically
from zorkgpt.ablation.run_process import RunProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from zorkgpt.ablation.plan import Task

_CONNECT_SECONDS = 10


class DaskRunner:
    """Gives the runs to the cluster whose scheduler is at ``address`` and answers within so many ``seconds``."""

    def __init__(self, address: str, *, seconds: float = _CONNECT_SECONDS) -> None:
        self._address = address
        self._seconds = seconds

    def play(self, tasks: Iterable[Task], folder_of: Callable[[Task], Path]) -> Iterator[Task]:
        """As ``Runner.play``; a run whose worker died is played again by another.

        When the iteration ends early, workers still end the runs that they are at; nothing is kept of those.
        """
        with self._client() as client:
            futures = {client.submit(play_far, task, _story(task), pure=False): task for task in tasks}
            for future in as_completed(futures):
                task = futures[future]
                try:
                    files = future.result()
                except KilledWorker as error:
                    raise GameError(f"{task.label}: every worker that played it died") from error
                store(files, folder_of(task))
                yield task

    def _client(self) -> Client:
        try:
            return Client(self._address, timeout=self._seconds)
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"--scheduler {self._address}: no Dask scheduler answers there") from error


def play_far(task: Task, story: bytes) -> Mapping[str, bytes]:
    """Runs on the worker: every file of the work folder after the run, by its path there."""
    with TemporaryDirectory(prefix="zorkgpt-") as folder:
        path, workdir = Path(folder) / _file(task).name, Path(folder) / "work"
        path.write_bytes(story)
        run = RunProcess(task.with_story(path), workdir)
        run.wait()
        return {str(file.relative_to(workdir)): file.read_bytes() for file in workdir.rglob("*") if file.is_file()}


def store(files: Mapping[str, bytes], folder: Path) -> None:
    """The folder holds the files; journals come last, so that a run that looks complete is. Raises ``StoreError``."""
    for name in sorted(files, key=lambda name: name.endswith("journal.jsonl")):
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise GameError(f"a worker sent a file that does not belong into {folder}: {name}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{path.parent} cannot be made: {error.strerror}") from error
        write_atomically(path, files[name])


def _story(task: Task) -> bytes:
    return _file(task).read_bytes()


def _file(task: Task) -> Path:
    assert task.configuration.game.file is not None
    return task.configuration.game.file
