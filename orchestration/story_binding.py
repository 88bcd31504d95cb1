"""A work folder belongs to one story: what is learnt of one says nothing of another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from filelock import FileLock
from pydantic import BaseModel, ConfigDict, ValidationError

from session.atomic_write import write_atomically
from session.errors import ConfigurationError, StoreError

if TYPE_CHECKING:
    from pathlib import Path

    from session.values import StoryFacts


STORY_FILE = "story.json"


class BoundStory(BaseModel):
    """The story of a work folder, as ``story.json`` has it. ``sha256`` is of the whole story file."""

    model_config = ConfigDict(frozen=True)

    name: str
    sha256: str


def folder_for_story(workdir: Path, facts: StoryFacts) -> Path:
    """``workdir``, or the folder of the story's name in it where it belongs to another story already."""
    try:
        bound = BoundStory.model_validate_json((workdir / STORY_FILE).read_bytes())
    except (OSError, ValidationError):
        return workdir
    return workdir if bound.sha256 == facts.sha256 else workdir / facts.name


def bind_to_story(workdir: Path, facts: StoryFacts) -> None:
    """The work folder belongs to this story, from now on if it belonged to none.

    Raises ``ConfigurationError`` where it belongs to another, ``StoreError`` where that cannot be told.
    """
    path = workdir / STORY_FILE
    try:
        workdir.mkdir(parents=True, exist_ok=True)
        with FileLock(workdir / "story.json.lock"):
            if not path.exists():
                story = BoundStory(name=facts.name, sha256=facts.sha256)
                write_atomically(path, story.model_dump_json(indent=2).encode() + b"\n")
            bound = BoundStory.model_validate_json(path.read_bytes())
    except OSError as error:
        raise StoreError(f"cannot tell the story of {workdir}: {error.strerror}") from error
    except ValidationError as error:
        raise StoreError(f"{path} names no story; without that file the folder is bound anew") from error
    if bound.sha256 != facts.sha256:
        other = "another file of the same name" if bound.name == facts.name else facts.name
        raise ConfigurationError(
            f"{workdir} holds what was learnt of {bound.name}, this is {other}: give it a folder with --workdir DIR"
        )
