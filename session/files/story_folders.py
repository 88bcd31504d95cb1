"""The folders of a work folder, one for each story: what is learnt of one story says nothing of another.

The first story that is played in a work folder has the work folder itself. Every further one has a folder in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from session.errors import StoreError
from session.files.shared_files import read_shared

STORY_FILE = "story.json"


class BoundStory(BaseModel):
    """The story that a folder belongs to, as ``story.json`` has it. ``sha256`` is the story's checksum."""

    model_config = ConfigDict(frozen=True)

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class StoryFolder:
    """A folder with what was learnt of a story and the runs that learnt it; ``None`` for no story that can be told."""

    path: Path
    story: BoundStory | None


def story_folders(workdir: Path) -> list[StoryFolder]:
    """Return the work folder, then the folders in it that belong to a story of their own, by name.

    Raises ``StoreError`` where the work folder cannot be read.
    """
    try:
        within = sorted(path for path in workdir.iterdir() if (path / STORY_FILE).is_file())
    except FileNotFoundError:
        within = []
    except OSError as error:
        raise StoreError(f"{workdir} cannot be read: {error.strerror}") from error
    return [StoryFolder(path, story_of(path)) for path in (workdir, *within)]


def story_of(folder: Path) -> BoundStory | None:
    """Return the story that the folder belongs to, ``None`` where no readable file says so."""
    try:
        return BoundStory.model_validate_json(read_shared(folder / STORY_FILE) or b"")
    except (StoreError, ValidationError):
        return None
