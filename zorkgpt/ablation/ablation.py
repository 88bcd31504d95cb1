"""An ablation in its folder: the runs that are done, those still to be played, and what they came to."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

from session.errors import StoreError
from zorkgpt.ablation.measures import RunMeasures, finished_run, measure
from zorkgpt.ablation.plan import AblationPlan, Task
from zorkgpt.ablation.runners import Runner

NOT_TOLD: Mapping[str, int] = {}


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
            try:
                if folder.exists():
                    shutil.rmtree(folder)
            except OSError as error:
                raise StoreError(f"{folder} cannot be cleared: {error.strerror}") from error
        yield from runner.play(waiting, self._folder_of)

    def runs(self, max_scores: Mapping[str, int] = NOT_TOLD) -> list[RunMeasures]:
        """Return the measures of the runs of every complete pair, in the plan's order.

        max_scores: the maximum score by the story's name, for stories that do not report it
        Raises ``StoreError`` if no pair is complete, and for a damaged journal.
        """
        done = {task.folder: finished_run(self._folder_of(task)) for task in self.plan.tasks()}
        pairs = Counter((task.story, task.pair) for task in self.plan.tasks() if done[task.folder])
        runs = []
        for task in self.plan.tasks():
            folder = done[task.folder]
            if folder and pairs[task.story, task.pair] == len(self.plan.arms):
                runs.append(measure(folder, task.story, task.arm, task.pair, max_scores.get(task.story)))
        if not runs:
            raise StoreError(f"{self.folder} holds no pair yet of which every run is done")
        return runs

    def _folder_of(self, task: Task) -> Path:
        return self.folder / task.folder
