"""Plays the runs of an ablation on the workers of a Dask cluster, which may be other machines.

A worker gets its task as JSON and the story as bytes, and sends back the files that the run wrote. Dask
(``distributed``) keeps the queue, notices workers that die and gives their runs to others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from distributed import Client, KilledWorker, as_completed

from session.errors import ConfigurationError, GameError, reported_as
from session.files.shared_files import write_atomically
from zorkgpt.ablation.ablation import RunProcess, order_for
from zorkgpt.ablation.plan import Task

_CONNECT_SECONDS = 10


def play_on_cluster(
    tasks: Iterable[Task], folder_of: Callable[[Task], Path], *, address: str, seconds: float = _CONNECT_SECONDS
) -> Iterator[Task]:
    """Play runs, as a ``Runner`` does, on the cluster whose scheduler is at ``address``.

    If a worker dies, another one plays its run again. When the iteration ends early, the workers finish the runs that
    they have begun, but the results are discarded.

    seconds: timeout for the scheduler's answer
    """
    try:
        client = Client(address, timeout=seconds)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"--scheduler {address}: no Dask scheduler answers there") from error
    with client:
        futures = {
            client.submit(play_on_worker, task.to_json(), _file(task).read_bytes(), pure=False): task for task in tasks
        }
        for future in as_completed(futures):
            task = futures[future]
            try:
                files = future.result()
            except KilledWorker as error:
                raise GameError(f"{task.label}: every worker that played it died") from error
            store(files, folder_of(task))
            yield task


def play_on_worker(task_json: str, story: bytes) -> Mapping[str, bytes]:
    """Play a task on a worker, and return every file of the work folder by its path there."""
    task = Task.from_json(task_json)
    with TemporaryDirectory(prefix="zorkgpt-") as folder:
        path, workdir = Path(folder) / _file(task).name, Path(folder) / "work"
        path.write_bytes(story)
        task = task.with_story(path)
        run = RunProcess(task, order_for(task, workdir))
        run.wait()
        return {str(file.relative_to(workdir)): file.read_bytes() for file in workdir.rglob("*") if file.is_file()}


def store(files: Mapping[str, bytes], folder: Path) -> None:
    """Write the files into the folder, journals last, so that a run that looks complete is. Raises ``StoreError``."""
    for name in sorted(files, key=lambda name: name.endswith("journal.jsonl")):
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise GameError(f"a worker sent a file outside of {folder}: {name}")
        with reported_as(f"{path.parent} cannot be made"):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, files[name])


def _file(task: Task) -> Path:
    assert task.configuration.game.file is not None
    return task.configuration.game.file
