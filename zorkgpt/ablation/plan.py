"""What an ablation plays: every arm of every pair, from the same seeds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from orchestration.bootstrap import Parts, open_parts
from orchestration.story_choice import choose_story
from session.errors import ConfigurationError, StoreError, StoryError
from session.files.atomic_write import write_atomically
from session.game_configuration import GameConfiguration
from session.values import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAN_FILE = "plan.json"

OpenParts = Callable[[GameConfiguration], AbstractContextManager[Parts]]
"""Opens what a run is played with; a function of a module, so that another process finds it."""


@dataclass(frozen=True, slots=True)
class Task:
    """One run: an arm of a pair, whose first episode has the seed ``configuration.game.seed``.

    folder: its name below the folder of the ablation
    """

    arm: str
    pair: int
    folder: str
    configuration: GameConfiguration
    episodes: int
    open_parts: OpenParts

    @property
    def label(self) -> str:
        """The run in words."""
        return f"{self.arm}, pair {self.pair}"

    def with_story(self, path: Path) -> Task:
        """The same run of the same story, which is at ``path``."""
        game = self.configuration.game.model_copy(update={"file": path})
        return replace(self, configuration=self.configuration.model_copy(update={"game": game}))


@dataclass(frozen=True, slots=True)
class AblationPlan:
    """Every arm plays ``pairs`` runs of ``episodes`` episodes; the n-th runs of all arms are a pair.

    arms: configurations by the arm's name, the first being what the others are compared with
    folders: of the arms, by name

    The unit of comparison is the run: its episodes share memories, so they are not independent of one another.
    """

    arms: Mapping[str, GameConfiguration]
    folders: Mapping[str, str]
    pairs: int
    episodes: int
    open_parts: OpenParts = open_parts

    def tasks(self) -> Iterator[Task]:
        """Every run, pair by pair."""
        for pair in range(1, self.pairs + 1):
            for arm, configuration in self.arms.items():
                seeded = _seeded(configuration, (pair - 1) * self.episodes)
                yield Task(arm, pair, f"{self.folders[arm]}/{pair}", seeded, self.episodes, self.open_parts)

    def same_arms(self) -> Iterator[tuple[str, str]]:
        """Every two arms that are configured alike."""
        for one, two in combinations(self.arms, 2):
            if self.arms[one] == self.arms[two]:
                yield one, two

    @property
    def assistance(self) -> str:
        """The help that the agents are given, in words; arm by arm where they differ."""
        kinds = {arm: ", ".join(sorted(each.assist)) or "none" for arm, each in self.arms.items()}
        if len(set(kinds.values())) == 1:
            return next(iter(kinds.values()))
        return "; ".join(f"{arm}: {kind}" for arm, kind in kinds.items())


class WrittenPlan(BaseModel):
    """A plan as ``plan.json`` has it. ``story_sha256`` is of the whole file; keys are in no configuration."""

    model_config = ConfigDict(frozen=True)

    arms: dict[str, dict[str, JsonValue]]
    pairs: int
    episodes: int
    story_sha256: str


def pinned(configuration: GameConfiguration) -> GameConfiguration:
    """The configuration with nothing left open that another place or number of cores would decide otherwise.

    An embedded model gets one thread: as many runs as there are cores are played side by side.
    """
    story = choose_story(configuration).path.absolute()
    game = configuration.game.model_copy(update={"file": story})
    llm = configuration.llm
    if configuration.role("agent").engine == "embedded" and llm.threads is None:
        llm = llm.model_copy(update={"threads": 1})
    return configuration.model_copy(update={"game": game, "llm": llm})


def claim(folder: Path, plan: AblationPlan) -> WrittenPlan:
    """The folder holds the runs of this plan and of no other, from now on if it held none.

    Raises ``ConfigurationError`` where it holds something else, ``StoreError`` where it cannot be written.
    """
    written = _written(plan)
    path = folder / PLAN_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists():
            if WrittenPlan.model_validate_json(path.read_bytes()) != written:
                raise ConfigurationError(f"{folder} holds another ablation: give this one a folder with --out DIR")
            return written
        if any(each.name != "lock" for each in folder.iterdir()):
            raise ConfigurationError(f"{folder} is not empty, and holds no ablation: give another with --out DIR")
    except OSError as error:
        raise StoreError(f"{folder} cannot hold an ablation: {error.strerror}") from error
    except ValidationError as error:
        raise StoreError(f"{path} is no plan of an ablation: give another folder with --out DIR") from error
    write_atomically(path, written.model_dump_json(indent=2).encode() + b"\n")
    return written


def _written(plan: AblationPlan) -> WrittenPlan:
    first = next(iter(plan.arms.values()))
    path = first.game.file or Path()
    try:
        story = path.read_bytes()
    except OSError as error:
        raise StoryError(f"{path} cannot be read: {error.strerror}") from error
    arms = {arm: configuration.without_keys() for arm, configuration in plan.arms.items()}
    return WrittenPlan(
        arms=arms, pairs=plan.pairs, episodes=plan.episodes, story_sha256=hashlib.sha256(story).hexdigest()
    )


def _seeded(configuration: GameConfiguration, offset: int) -> GameConfiguration:
    """The configuration of a pair: the story's chance and every model's are drawn from other seeds than elsewhere."""
    game = configuration.game.model_copy(update={"seed": configuration.game.seed + offset})
    update: dict[str, object] = {"game": game}
    for role in ROLES:
        sampling = configuration.role(role).sampling
        seed = (1 if sampling.seed is None else sampling.seed) + offset
        update[f"{role}_sampling"] = sampling.model_copy(update={"seed": seed})
    return configuration.model_copy(update=update)
