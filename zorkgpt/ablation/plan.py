"""What an ablation compares: its arms, stories and seeds."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from operator import getitem
from pathlib import Path
from pkgutil import resolve_name

from pydantic import BaseModel, ConfigDict, JsonValue, SecretStr, ValidationError

from orchestration.parts import Parts, choose_story, open_parts
from session.errors import ConfigurationError, StoreError, StoryError, reported_as
from session.files.shared_files import write_atomically
from session.game_configuration import GameConfiguration, Sampling
from session.options import options_of
from session.text import counted
from session.values import ROLES, derived_seed

NOTHING_ELSE: Mapping[str, object] = {
    "simple_memory.enabled": False,
    "knowledge.enabled": False,
    "routes.enabled": False,
    "objectives.enabled": False,
    "map.shown": False,
}
"""Options of arms that have only one kind of what earlier games taught."""

NAMED: Mapping[str, Mapping[str, object]] = {
    "full": {},
    "no-memory": {"simple_memory.enabled": False},
    "no-knowledge": {"knowledge.enabled": False},
    "no-map": {"map.shown": False},
    "no-routes": {"routes.enabled": False},
    "no-transcripts": {"prompt_budgets.earlier_games": 0},
    "transcripts-only": NOTHING_ELSE,
    "reflection-only": {**NOTHING_ELSE, "prompt_budgets.earlier_games": 0, "controls.reflection": True},
    "bm25": {**NOTHING_ELSE, "prompt_budgets.earlier_games": 0, "controls.similar_turns": 5},
    "shuffled-memory": {"simple_memory.shuffled": True},
    "shuffled-routes": {"routes.shuffled": True},
}
"""Arms with a name of their own, and the options that they set."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """How others have measured, so that figures can be compared (docs/records/other-systems.md)."""

    pairs: int
    episodes: int
    turns: int | None
    assist: tuple[str, ...] | None = ()
    arms: str = "full"


PROTOCOLS: Mapping[str, Protocol] = {
    "jericho-ttl-50": Protocol(pairs=3, episodes=50, turns=50, assist=("valid-actions",)),
    "jericho-ttl-110": Protocol(pairs=3, episodes=50, turns=110, assist=("valid-actions",)),
    "tales": Protocol(pairs=5, episodes=1, turns=100),
    "own": Protocol(pairs=5, episodes=10, turns=200, arms="full,transcripts-only"),
}

THE_SAME = frozenset({"game.seed", "game.file"})
"""Options that must be the same in both runs of a pair."""
KEY = "api_key"
"""The end of the options that may not be in an arm's name, since names are written down."""


def parse_arms(text: str) -> Mapping[str, Mapping[str, object]]:
    """Return the arms of a list such as ``full,no-memory+no-map,critic.mode=llm``, each with its own settings.

    ``+`` joins settings of one arm; a list has a setting for each of its values, such as
    ``assist=valid-actions+assist=proven-routes``. Raises ``ConfigurationError`` for an unknown name, for an empty list,
    and for two arms of the same name.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ConfigurationError(
            "no arm is given: name one arm to measure, or several to compare, such as full,no-memory"
        )
    if len(set(map(arm_folder, names))) < len(names):
        raise ConfigurationError(f"arms {text}: two arms would have the same folder")
    return {name: _settings(name) for name in names}


def arm_folder(arm: str) -> str:
    """Return the folder of an arm's runs, below that of the ablation; a name that any file system takes."""
    return re.sub(r"[^A-Za-z0-9.=+-]+", "_", arm).lstrip(".") or "_"


def _settings(arm: str) -> Mapping[str, object]:
    settings: dict[str, object] = {}
    for part in arm.split("+"):
        option, sign, value = (each.strip() for each in part.partition("="))
        if sign and (option in THE_SAME or option.endswith(KEY)):
            raise ConfigurationError(f"{option} must be the same for all arms: set it beside the arms")
        if sign:
            before = settings.get(option)
            settings[option] = f"{before},{value}" if isinstance(before, str) else value
        elif option in NAMED:
            settings.update(NAMED[option])
        else:
            raise ConfigurationError(f"{option} is not an arm; expected {', '.join(NAMED)}, or option=value")
    return settings


PLAN_FILE = "plan.json"

OpenParts = Callable[[GameConfiguration], AbstractContextManager[Parts]]
"""Opens the parts that a run is played with. It is a function of a module, so that another process finds it by name."""


@dataclass(frozen=True, slots=True)
class Task:
    """One run of an ablation; its first episode has the seed ``configuration.game.seed``.

    story: the story's name in the plan
    pair: the number of its pair, from 1
    folder: the run's work folder, below the folder of the ablation
    """

    story: str
    arm: str
    pair: int
    folder: str
    configuration: GameConfiguration
    episodes: int
    open_parts: OpenParts

    @property
    def label(self) -> str:
        """Return the run's story, arm and pair, in words."""
        return f"{self.story}, {self.arm}, pair {self.pair}"

    def with_story(self, path: Path) -> Task:
        """Return the same run of the same story, whose file is at ``path``."""
        return replace(self, configuration=_playing(self.configuration, path))

    def to_json(self) -> str:
        """Return the task as one line of JSON for another process, keys included."""
        written = self.configuration.without_keys()
        for option in options_of(GameConfiguration):
            key = option.value_in(self.configuration) if option.secret else None
            if isinstance(key, SecretStr):
                *groups, name = option.name.split(".")
                reduce(getitem, groups, written)[name] = key.get_secret_value()
        plain = {name: getattr(self, name) for name in ("story", "arm", "pair", "folder", "episodes")}
        return json.dumps({**plain, "configuration": written, "open_parts": _name(self.open_parts)})

    @classmethod
    def from_json(cls, line: str) -> Task:
        """Return the task that ``to_json`` wrote."""
        fields = json.loads(line)
        configuration = GameConfiguration.model_validate(fields.pop("configuration"))
        return cls(**fields | {"configuration": configuration, "open_parts": resolve_name(fields["open_parts"])})


@dataclass(frozen=True, slots=True)
class AblationPlan:
    """What an ablation plays: of each story ``pairs`` runs of ``episodes`` episodes an arm.

    The n-th runs of all arms of a story are a pair.
    arms: configurations by the arm's name; the others are compared with the first
    stories: story files by the names that results give them

    Runs are compared, not episodes: the episodes of a run share memories, so they are not independent of one another.
    """

    arms: Mapping[str, GameConfiguration]
    stories: Mapping[str, Path]
    pairs: int
    episodes: int
    open_parts: OpenParts = open_parts

    def tasks(self) -> Iterator[Task]:
        """Yield every run, pair by pair."""
        for pair, (story, file) in product(range(1, self.pairs + 1), self.stories.items()):
            below = f"{story}/" if len(self.stories) > 1 else ""
            for arm, configuration in self.arms.items():
                seed = derived_seed(first_seed(configuration), pair, "pair")
                game = configuration.game.model_copy(update={"seed": seed})
                update: dict[str, object] = {"game": game}
                for name in (f"{role}_sampling" for role in ROLES):
                    sampling: Sampling = getattr(configuration, name)
                    if sampling.seed is not None:
                        update[name] = sampling.model_copy(update={"seed": derived_seed(sampling.seed, pair, "pair")})
                seeded = _playing(configuration.model_copy(update=update), file)
                folder = f"{below}{arm_folder(arm)}/{pair}"
                yield Task(story, arm, pair, folder, seeded, self.episodes, self.open_parts)

    @property
    def needs_packaged_model(self) -> bool:
        """Whether an arm is played by the embedded model that is downloaded on first use."""
        agents = [configuration.role("agent") for configuration in self.arms.values()]
        return self.open_parts is open_parts and any(each.engine == "embedded" and not each.model for each in agents)

    @property
    def assistance(self) -> str:
        """Return a description of the assistance that the agents get, by arm if it differs."""
        kinds = {arm: ", ".join(sorted(each.assist)) or "none" for arm, each in self.arms.items()}
        if len(set(kinds.values())) == 1:
            return next(iter(kinds.values()))
        return "; ".join(f"{arm}: {kind}" for arm, kind in kinds.items())


class WrittenPlan(BaseModel):
    """A plan as it is written in ``plan.json``, without keys.

    player: what opened the parts that the runs are played with, the model among them
    stories: the SHA-256 of each story file, by the story's name
    """

    model_config = ConfigDict(frozen=True)

    arms: dict[str, dict[str, JsonValue]]
    player: str
    pairs: int
    episodes: int
    stories: dict[str, str]


def pinned(configuration: GameConfiguration) -> GameConfiguration:
    """Return the configuration with the options set that another number of cores would decide otherwise.

    An embedded model gets one thread: as many runs as there are cores are played side by side.
    """
    llm = configuration.llm
    if configuration.role("agent").engine == "embedded" and llm.threads is None:
        llm = llm.model_copy(update={"threads": 1})
    return configuration.model_copy(update={"llm": llm})


def stories_of(files: Sequence[Path], configuration: GameConfiguration) -> Mapping[str, Path]:
    """Return these story files by name, or if there are none, the configured story.

    Paths are absolute, because a run may be played in another folder. Raises ``ConfigurationError`` for two files of
    the same name.
    """
    chosen = [file.absolute() for file in files or [choose_story(configuration).path]]
    stories = {file.stem: file for file in chosen}
    if len(stories) < len(chosen):
        raise ConfigurationError(f"games {' '.join(map(str, files))}: two stories have the same name")
    return stories


def claim(folder: Path, plan: AblationPlan, *, grows: bool = True) -> WrittenPlan:
    """Assign the folder to this plan, or to an existing plan that differs only in having fewer pairs.

    grows: write the additional pairs to the plan
    Raises ``ConfigurationError`` if the folder has another plan or more pairs, ``StoreError`` if it cannot be
    written.
    """
    written = WrittenPlan(
        arms={arm: configuration.without_keys() for arm, configuration in plan.arms.items()},
        player=_name(plan.open_parts),
        pairs=plan.pairs,
        episodes=plan.episodes,
        stories={story: _digest(file) for story, file in plan.stories.items()},
    )
    path = folder / PLAN_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists():
            held = WrittenPlan.model_validate_json(path.read_bytes())
            if held.model_copy(update={"pairs": written.pairs}) != written:
                raise ConfigurationError(
                    f"{folder} contains another ablation; choose another folder (--out; out in Python)"
                )
            if held.pairs > written.pairs:
                raise ConfigurationError(
                    f"{folder} holds {counted(held.pairs, 'pair')} already; expected at least {held.pairs} pairs"
                )
            if held.pairs == written.pairs or not grows:
                return written
        elif any(each.name != "lock" for each in folder.iterdir()):
            (folder / "lock").unlink(missing_ok=True)  # nothing is left in a folder of other files
            raise ConfigurationError(
                f"{folder} is not empty and contains no ablation; choose another folder (--out; out in Python)"
            )
    except OSError as error:
        raise StoreError(f"{folder} cannot be used for an ablation: {error.strerror}") from error
    except ValidationError as error:
        raise StoreError(f"{path} is not an ablation's plan: give another folder (--out; out in Python)") from error
    write_atomically(path, written.model_dump_json(indent=2).encode() + b"\n")
    return written


def _digest(file: Path) -> str:
    with reported_as(f"{file} cannot be read", StoryError):
        return hashlib.sha256(file.read_bytes()).hexdigest()


def _name(open_parts: OpenParts) -> str:
    """Return the name by which another process finds the function."""
    return f"{open_parts.__module__}:{open_parts.__qualname__}"


def _playing(configuration: GameConfiguration, story: Path) -> GameConfiguration:
    game = configuration.game.model_copy(update={"file": story})
    return configuration.model_copy(update={"game": game})


def first_seed(configuration: GameConfiguration) -> int:
    """Return the seed of the first pair's first episode. Raises ``ConfigurationError`` if it is not a number."""
    seed = configuration.game.seed
    if seed == "jericho":
        raise ConfigurationError("game.seed: every pair of an ablation has seeds of its own, so it cannot be jericho")
    return seed
