"""Which story is played, and which work folder belongs to it: what is learnt of one story says nothing of another."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from orchestration.learning import shared_files
from session.errors import ConfigurationError, StoreError, StoryError
from session.file_names import is_plain_name, is_reserved
from session.files.shared_files import locked, read_shared, write_atomically
from session.files.story_folders import STORY_FILE, BoundStory, story_folders

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration
    from session.resolved_configuration import ResolvedConfiguration
    from session.values import StoryFacts

USERS_OWN = Path("infrastructure") / "zork.z5"
_WORKDIR = "zork_game_workdir"


@dataclass(frozen=True, slots=True)
class ChosenStory:
    """A story file, and in words why it was chosen. Nobody has looked into the file yet."""

    path: Path
    why: str

    def describe(self) -> str:
        """Return the choice in one line."""
        return f"{self.path.name} ({self.why})"


def choose_story(configuration: GameConfiguration, folder: Path = Path()) -> ChosenStory:
    """Return the story that was asked for, else the user's own copy below ``folder``, else the one that ships."""
    if configuration.game.file is not None:
        return ChosenStory(configuration.game.file, "asked for")
    own_copy = folder / USERS_OWN
    if own_copy.exists():
        return ChosenStory(own_copy, f"your copy, in {USERS_OWN.parent}/")
    shipped = files("game_interface.stories") / "tidehouse.z5"
    return ChosenStory(Path(str(shipped)), "it ships with ZorkGPT; --game plays another")


def folder_for_story(configuration: GameConfiguration, facts: StoryFacts) -> Path:
    """Return the folder of the work folder that belongs to this story, whatever its file is called now.

    A work folder that belongs to no story yet is this story's. In that of another it gets a folder of its name, or one
    that is named for its content where no folder can have the name there. Raises ``StoreError``.
    """
    workdir = configuration.zork_game_workdir
    first, *others = story_folders(workdir)
    if first.story is None:
        return workdir
    for folder in (first, *others):
        if folder.story is not None and folder.story.sha256 == facts.sha256:
            return folder.path
    taken = {file.name.casefold() for file in shared_files(configuration).files}
    taken |= {folder.path.name.casefold() for folder in others}
    is_free = is_plain_name(facts.name) and not is_reserved(facts.name) and facts.name.casefold() not in taken
    return workdir / (facts.name if is_free else f"story-{facts.sha256[:8]}")


def in_folder_of_story(resolved: ResolvedConfiguration, facts: StoryFacts) -> GameConfiguration:
    """Return the configuration with a work folder of this story's own.

    A work folder that nobody named and that belongs to another story gives way to one within it. Raises ``StoreError``.
    """
    configuration = resolved.configuration
    if _WORKDIR in resolved.origins:
        return configuration
    return configuration.model_copy(update={_WORKDIR: folder_for_story(configuration, facts)})


def bind_to_story(workdir: Path, facts: StoryFacts) -> None:
    """Make the work folder belong to this story, if it belonged to none.

    Raises ``ConfigurationError`` where it belongs to another, ``StoreError`` where that cannot be told, ``StoryError``
    for a name that cannot be written down.
    """
    path = workdir / STORY_FILE
    this = BoundStory(name=facts.name, sha256=facts.sha256)
    try:
        with locked(path):
            content = read_shared(path)
            bound = this if content is None else BoundStory.model_validate_json(content)
            if content is None:
                write_atomically(path, this.model_dump_json(indent=2).encode() + b"\n")
    except PydanticSerializationError as error:
        raise StoryError(f"{facts.name!a}: the name of the story file is not UTF-8: rename it") from error
    except ValidationError as error:
        raise StoreError(f"{path} names no story; delete it, and the next run says whose folder this is") from error
    if bound.sha256 != facts.sha256:
        other = "another file of the same name" if bound.name == facts.name else facts.name
        raise ConfigurationError(
            f"{workdir} holds what was learnt of {bound.name}, this is {other}: give it a folder with --workdir DIR"
        )
