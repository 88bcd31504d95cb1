"""The plan of an ablation: which runs are played, every arm of a pair from the same seeds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from operator import getitem
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, JsonValue, SecretStr, ValidationError

from orchestration.opening import Parts, open_parts
from orchestration.story import choose_story
from session.configuration.options import options_of
from session.errors import ConfigurationError, StoreError, StoryError
from session.files.atomic_write import write_atomically
from session.game_configuration import GameConfiguration
from session.values import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAN_FILE = "plan.json"

OpenParts = Callable[[GameConfiguration], AbstractContextManager[Parts]]
"""Opens the parts that a run is played with. It is a function of a module, so that another process finds it by name."""


@dataclass(frozen=True, slots=True)
class Task:
    """One run of an ablation; its first episode has the seed ``configuration.game.seed``.

    pair: the number of its pair, from 1
    folder: the run's work folder, below the folder of the ablation
    """

    arm: str
    pair: int
    folder: str
    configuration: GameConfiguration
    episodes: int
    open_parts: OpenParts

    @property
    def label(self) -> str:
        """Return the run's arm and pair, in words."""
        return f"{self.arm}, pair {self.pair}"

    def with_story(self, path: Path) -> Task:
        """Return the same run of the same story, whose file is at ``path``."""
        game = self.configuration.game.model_copy(update={"file": path})
        return replace(self, configuration=self.configuration.model_copy(update={"game": game}))

    def to_json(self) -> str:
        """Return the task as one line of JSON for another process, keys included."""
        fields = {
            "arm": self.arm,
            "pair": self.pair,
            "folder": self.folder,
            "configuration": _with_keys(self.configuration),
            "episodes": self.episodes,
            "open_parts": f"{self.open_parts.__module__}:{self.open_parts.__qualname__}",
        }
        return json.dumps(fields)

    @classmethod
    def from_json(cls, line: str) -> Task:
        """Return the task that ``to_json`` wrote."""
        fields = json.loads(line)
        configuration = GameConfiguration.model_validate(fields.pop("configuration"))
        return cls(**fields | {"configuration": configuration, "open_parts": resolve_name(fields["open_parts"])})


@dataclass(frozen=True, slots=True)
class AblationPlan:
    """What an ablation plays: ``pairs`` runs of ``episodes`` episodes an arm; the n-th runs of all arms are a pair.

    arms: configurations by the arm's name; the others are compared with the first
    folders: each arm's folder, by its name

    Runs are compared, not episodes: the episodes of a run share memories, so they are not independent of one another.
    """

    arms: Mapping[str, GameConfiguration]
    folders: Mapping[str, str]
    pairs: int
    episodes: int
    open_parts: OpenParts = open_parts

    def tasks(self) -> Iterator[Task]:
        """Yield every run, pair by pair."""
        for pair in range(1, self.pairs + 1):
            for arm, configuration in self.arms.items():
                seeded = _seeded(configuration, (pair - 1) * self.episodes)
                yield Task(arm, pair, f"{self.folders[arm]}/{pair}", seeded, self.episodes, self.open_parts)

    def same_arms(self) -> Iterator[tuple[str, str]]:
        """Yield every two arms that are configured alike."""
        for one, two in combinations(self.arms, 2):
            if self.arms[one] == self.arms[two]:
                yield one, two

    @property
    def assistance(self) -> str:
        """Return the help that the agents are given, in words; arm by arm where they differ."""
        kinds = {arm: ", ".join(sorted(each.assist)) or "none" for arm, each in self.arms.items()}
        if len(set(kinds.values())) == 1:
            return next(iter(kinds.values()))
        return "; ".join(f"{arm}: {kind}" for arm, kind in kinds.items())


class WrittenPlan(BaseModel):
    """A plan as it is written in ``plan.json``, without keys.

    story_sha256: of the whole story file
    """

    model_config = ConfigDict(frozen=True)

    arms: dict[str, dict[str, JsonValue]]
    pairs: int
    episodes: int
    story_sha256: str


def pinned(configuration: GameConfiguration) -> GameConfiguration:
    """Return the configuration with the options set that another folder or number of cores would decide otherwise.

    An embedded model gets one thread: as many runs as there are cores are played side by side.
    """
    story = choose_story(configuration).path.absolute()
    game = configuration.game.model_copy(update={"file": story})
    llm = configuration.llm
    if configuration.role("agent").engine == "embedded" and llm.threads is None:
        llm = llm.model_copy(update={"threads": 1})
    return configuration.model_copy(update={"game": game, "llm": llm})


def claim(folder: Path, plan: AblationPlan) -> WrittenPlan:
    """Make the folder hold the runs of this plan, and refuse one that holds anything else.

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
    """Return the configuration of a pair, with seeds of its own for the story and for every model."""
    game = configuration.game.model_copy(update={"seed": configuration.game.seed + offset})
    update: dict[str, object] = {"game": game}
    for role in ROLES:
        sampling = configuration.role(role).sampling
        seed = (1 if sampling.seed is None else sampling.seed) + offset
        update[f"{role}_sampling"] = sampling.model_copy(update={"seed": seed})
    return configuration.model_copy(update=update)


def _with_keys(configuration: GameConfiguration) -> dict[str, Any]:
    """Return every option's value as JSON has it, keys included."""
    written = configuration.without_keys()
    for option in options_of(GameConfiguration):
        key = option.value_in(configuration) if option.secret else None
        if isinstance(key, SecretStr):
            *groups, name = option.name.split(".")
            reduce(getitem, groups, written)[name] = key.get_secret_value()
    return written
