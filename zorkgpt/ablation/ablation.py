"""Plays an ablation in its folder: each run in a process of its own, with its own model server.

A process of a run ends when its parent does. It reads its task as a line of JSON from standard input, which stays open.
When that is closed, the process ends. An error is reported as one line on standard output.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from threading import Event as Flag
from types import MappingProxyType
from typing import Literal

from filelock import FileLock, Timeout

from game_interface.core.machine.story import Story
from orchestration.parts import open_parts
from orchestration.run import open_run
from session.errors import (
    ConfigurationError,
    GameError,
    LanguageModelUnavailable,
    StoreError,
    ZorkGPTError,
    reported_as,
    require_count,
)
from session.events import Event, RunPaused
from session.files.shared_files import make_folder, places_below, require_no_link
from session.model_files import MODEL_DIR_VARIABLE
from session.processes import NETWORK_VARIABLES, child_environment, python_command
from session.resolved_configuration import load_configuration
from zorkgpt.ablation.measures import RunMeasures, finished_run, measure
from zorkgpt.ablation.plan import AblationPlan, Task, parse_arms, pinned, stories_of
from zorkgpt.ablation.random_player import RANDOM_PROFILE, open_random_player
from zorkgpt.llm.embedded.embedded_server import ENGINE_VARIABLES

_VARIABLES = (*NETWORK_VARIABLES, *ENGINE_VARIABLES, MODEL_DIR_VARIABLE, "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
"""What a run needs of the environment besides. Its options and keys come on standard input, unseen by others."""
_GRACE = 10.0  # seconds in which a process that is told to end closes its game and its model

Runner = Callable[[Iterable[Task], Callable[[Task], Path]], Iterator[Task]]
"""Plays tasks, several at a time, each in the new folder that the second argument returns. Yields each that is done.

Raises ``ZorkGPTError`` for the first that fails. When the iteration ends for any reason, no run continues.
"""


def make_plan(
    arms: str,
    options: Mapping[str, object],
    files: Sequence[Path],
    *,
    pairs: int,
    episodes: int,
    player: Literal["model", "random"],
    given: str = "on the command line",
) -> AblationPlan:
    """Return the plan of these arms in the current folder, with options of all arms; ``None`` for one that is not set.

    given: where the options and arms were given, in words
    Raises ``ConfigurationError`` or ``StoryError``.
    """
    require_count("pairs", pairs)
    require_count("episodes", episodes)
    if player not in ("model", "random"):
        raise ConfigurationError(f"player is {player}; expected model or random")
    if player == "random":
        if options.get("agent_model") or options.get("llm.base_url"):
            raise ConfigurationError(
                "the random player does not use a model; remove the options for the model and its server"
            )
        options = {**RANDOM_PROFILE, **{name: value for name, value in options.items() if value is not None}}
    configurations = {
        arm: pinned(load_configuration({**options, **settings}, os.environ, Path.cwd(), given).configuration)
        for arm, settings in parse_arms(arms).items()
    }
    stories = stories_of(files, next(iter(configurations.values())))
    for file in stories.values():
        Story.load(file)
    opened_by = open_random_player if player == "random" else open_parts
    return AblationPlan(configurations, stories, pairs, episodes, opened_by)


def sole_user(folder: Path) -> AbstractContextManager[object]:
    """Lock the folder, so that no other ablation is played there at the same time. Raises ``ConfigurationError``."""
    try:
        make_folder(folder)
    except StoreError as error:
        raise StoreError(f"{error}; choose another folder (--out; out in Python)") from error
    with reported_as(f"{folder} cannot be used, choose another (--out; out in Python)"):
        try:
            return FileLock(folder / "lock", timeout=0).acquire()
        except Timeout as error:
            raise ConfigurationError(f"{folder} is in use: another ablation is being played there") from error


@dataclass(frozen=True, slots=True)
class Ablation:
    """A plan and its runs, in the folder that ``plan.claim`` checked; each run has a work folder of its own there."""

    plan: AblationPlan
    folder: Path

    def done(self) -> list[Task]:
        """Return the tasks whose runs are complete, in the plan's order."""
        return [task for task in self.plan.tasks() if finished_run(self._folder_of(task))]

    def play(self, runner: Runner) -> Generator[Task, None, None]:
        """Play every task that is not done, and yield each when it is done. An incomplete run starts again.

        An incomplete run is not resumed because a new model server, whose cache is empty, may answer differently.
        When the iteration is closed, all runs end. Raises ``ZorkGPTError``.
        """
        done = {task.folder for task in self.done()}
        waiting = [task for task in self.plan.tasks() if task.folder not in done]
        for task in waiting:
            folder = self._folder_of(task)
            with reported_as(f"{folder} cannot be cleared"):
                if folder.exists():
                    shutil.rmtree(folder)
        yield from runner(waiting, self._folder_of)

    def runs(self, max_scores: Mapping[str, int] = MappingProxyType({})) -> list[RunMeasures]:
        """Return the measures of the runs of every complete pair, in the plan's order.

        max_scores: the maximum score by the story's name, for stories that do not report it
        Raises ``StoreError`` if no pair is complete, and for a damaged journal.
        """
        done = {task.folder: finished_run(self._folder_of(task)) for task in self.plan.tasks()}
        pairs = Counter((task.story, task.pair) for task in self.plan.tasks() if done[task.folder])
        complete = [
            (partial(measure, folder, task.story, task.arm, task.pair, max_scores.get(task.story)), task.story)
            for task in self.plan.tasks()
            if (folder := done[task.folder]) and pairs[task.story, task.pair] == len(self.plan.arms)
        ]
        if not complete:
            raise StoreError(f"{self.folder} has no complete pair yet")
        runs = [measured(has_score=True) for measured, _ in complete]
        scored = {run.story for run in runs if run.best_score is not None}  # its points are not those of milestones
        return [run if story in scored else measured() for run, (measured, story) in zip(runs, complete, strict=True)]

    def _folder_of(self, task: Task) -> Path:
        folder = self.folder / task.folder
        require_no_link(*places_below(self.folder, folder))
        return folder


def play_locally(tasks: Iterable[Task], folder_of: Callable[[Task], Path], *, size: int) -> Iterator[Task]:
    """Play runs in processes of this machine, ``size`` at a time, as a ``Runner`` does."""
    # All are written first: within Pydantic, Ctrl-C becomes an error of the serialization.
    waiting = [(task, order_for(task, folder_of(task))) for task in tasks][::-1]
    playing: dict[int, RunProcess] = {}
    try:
        while waiting or playing:
            while waiting and len(playing) < size:
                run = RunProcess(*waiting.pop())
                playing[run.fileno()] = run
            ready = wait(list(playing))
            for number in [each for each in playing if each in ready]:
                run = playing.pop(number)
                run.wait()
                yield run.task
    finally:
        for run in playing.values():
            run.close()


def order_for(task: Task, folder: Path) -> bytes:
    """Return the line that makes a process play ``task`` in the work folder ``folder``."""
    return json.dumps([task.to_json(), str(folder)]).encode() + b"\n"


class RunProcess:
    """A process that plays ``task`` by its ``order``; it starts at once."""

    def __init__(self, task: Task, order: bytes) -> None:
        self.task = task
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            python_command(__name__),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=child_environment(*_VARIABLES),
            start_new_session=True,
        )
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it died at once, which its end tells
            self._process.stdin.write(order)
            self._process.stdin.flush()

    def fileno(self) -> int:
        """Return a file descriptor that is readable once the run has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def wait(self) -> None:
        """Wait for the end of the run. Raises ``GameError`` with the reason if it was not completed."""
        assert self._process.stdout is not None
        words = self._process.stdout.read().decode("utf-8", "replace").strip()
        self.close()
        if self._process.returncode:
            raise GameError(f"{self.task.label}: {words or f'its process ended with {self._process.returncode}'}")

    def close(self) -> None:
        """End the process, if need be by killing it."""
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
    """Play the task's run in the work folder ``folder``. Raises ``ZorkGPTError`` if the run cannot be completed."""
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
    """Play the task from standard input. Returns 1 if that failed, with the reason printed."""
    signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(1))
    order = sys.stdin.readline()
    if not order:  # the program that started it was interrupted
        return 1
    task, folder = json.loads(order)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        play(Task.from_json(task), Path(folder))
    except ZorkGPTError as error:
        sys.stdout.write(str(error))
        return 1
    return 0


def _leave_with_parent() -> None:
    """Wait until standard input is closed, then make the main thread leave and close all that it opened."""
    os.read(sys.stdin.fileno(), 1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
