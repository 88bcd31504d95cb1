"""Which story is played, and why that one."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration

USERS_OWN = Path("infrastructure") / "zork.z5"


@dataclass(frozen=True, slots=True)
class ChosenStory:
    """A story file, and in words why it was chosen. Nobody has looked into the file yet."""

    path: Path
    why: str

    def describe(self) -> str:
        """The choice in one line."""
        return f"{self.path.name} ({self.why})"


def choose_story(configuration: GameConfiguration, folder: Path = Path()) -> ChosenStory:
    """The story that was asked for, else the user's own copy below ``folder``, else the one that ships."""
    if configuration.game.file is not None:
        return ChosenStory(configuration.game.file, "asked for")
    own_copy = folder / USERS_OWN
    if own_copy.exists():
        return ChosenStory(own_copy, f"your copy, in {USERS_OWN.parent}/")
    shipped = files("game_interface.stories") / "tidehouse.z5"
    return ChosenStory(Path(str(shipped)), "it ships with ZorkGPT; --game plays another")
