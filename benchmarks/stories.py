"""The stories that benchmarks play, and the commands that win them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from jericho.defines import BINDINGS_DICT

from game_interface.core.game import Game
from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.machine.story import Story
from session.values import Proposal, TurnRecord, Verdict
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.walkthrough import begin_walkthrough

OWN_STORY = Path(str(files("game_interface.stories") / "tidehouse.z5"))
STORIES_VARIABLE = "ZORKGPT_STORIES"


@dataclass(frozen=True, slots=True)
class Walkthrough:
    """A story with the commands that win it when its chance is drawn from ``seed``, 0 or more."""

    story: Path
    seed: int
    commands: Sequence[str]

    def open(self, *, use_profile: bool = True) -> JerichoInterface:
        """Open the story at the beginning of the walkthrough; the caller closes it.

        use_profile: whether to use what Jericho knows of the story
        """
        game = JerichoInterface(self.story, use_profile=use_profile)
        begin_walkthrough(game, self.seed)
        return game


def played(game: Game, commands: Iterable[str]) -> Iterator[TurnRecord]:
    """Play the commands until the story ends, and yield the turns."""
    for number, command in enumerate(commands, start=1):
        before = game.observation
        if before.ending is not None:
            return
        yield TurnRecord(1, number, before, (Proposal(command),), (Verdict(accepted=True),), game.step(command))


def walkthrough_of(story: Path) -> Walkthrough:
    """Return Jericho's walkthrough of ``story``, or ours of the story that ships.

    Raises ``LookupError`` for a story that neither knows.
    """
    loaded = Story.load(story)
    profile = BINDINGS_DICT.get(loaded.md5)
    if profile is not None:
        return Walkthrough(story, profile["seed"], profile["walkthrough"].split("/"))
    if loaded.sha256 != Story.load(OWN_STORY).sha256:
        raise LookupError(f"no walkthrough of {story} is known")
    return Walkthrough(story, 1, WALKTHROUGH)


def walkthrough_or(story: Path, commands: Sequence[str]) -> Walkthrough:
    """Return the walkthrough of ``story``, or these commands if there is none."""
    try:
        return walkthrough_of(story)
    except LookupError:
        return Walkthrough(story, 1, commands)


def user_stories() -> list[Path]:
    """Return the stories with a walkthrough in the folder ZORKGPT_STORIES, or none without such a folder."""
    folder = os.environ.get(STORIES_VARIABLE)
    found = sorted(Path(folder).glob("*.z?")) if folder else []
    return [story for story in found if Story.load(story).md5 in BINDINGS_DICT]


def zork_or_own() -> Path:
    """Return Zork I if it is in the folder ZORKGPT_STORIES, otherwise the packaged story."""
    return next((story for story in user_stories() if story.name == "zork1.z5"), OWN_STORY)
