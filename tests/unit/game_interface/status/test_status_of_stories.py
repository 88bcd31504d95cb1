"""The general way on real stories: what it claims is what Jericho knows of them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import pytest
from jericho import FrotzEnv

from benchmarks.general_way import CLAIMS, FrotzEmulator, Measurement, measure
from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.story import Story
from game_interface.core.status.status_reader import status_reader
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore:Game .* is not fully supported")

STORIES = (
    *("anchor.z8", "awaken.z5", "curses.z5", "deephome.z5", "inhumane.z5", "library.z5", "moonlit.z5"),
    *("snacktime.z8", "spirit.z5", "temple.z5", "tryst205.z5", "yomomma.z8", "zork1.z5"),
)
AGREEMENT = 0.98
MOST_STEPS = 0.9

measured = lru_cache(measure)


def measurement(folder: Path, name: str) -> Measurement:
    result = measured(folder / name)
    assert result
    return result


@pytest.mark.stories
@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("name", STORIES)
def test_what_is_claimed_of_a_story_is_what_jericho_knows(name: str, claim: str, story_folder: Path) -> None:
    agreement = measurement(story_folder, name).agreement(claim)
    assert agreement is None or agreement >= AGREEMENT


@pytest.mark.stories
@pytest.mark.parametrize("name", STORIES)
def test_location_score_and_inventory_are_claimed_at_most_steps(name: str, story_folder: Path) -> None:
    result = measurement(story_folder, name)
    for claim in ("location", "score", "inventory"):
        assert result.claimed[claim] >= MOST_STEPS * result.steps


def transcript(path: Path, commands: Sequence[str], *, learning: bool) -> list[str]:
    environment = FrotzEnv(str(path), 12)
    environment.reset()
    emulator, story = FrotzEmulator(environment), Story.load(path)
    if learning:
        status_reader(story, ObjectTable(story), emulator)
    return [emulator.step(command) for command in commands]


@pytest.mark.stories
@pytest.mark.parametrize("name", STORIES)
def test_learning_does_not_disturb_a_real_story(name: str, story_folder: Path) -> None:
    """Neither its random numbers nor what it can undo."""
    commands = ["undo", "look", "north", "undo", "undo", "wait", "south", "undo", "again"]
    expected = transcript(story_folder / name, commands, learning=False)
    assert transcript(story_folder / name, commands, learning=True) == expected


def test_our_own_story_is_read_along_its_walkthrough(own_story: Path) -> None:
    story = Story.load(own_story)
    table = ObjectTable(story)
    environment = FrotzEnv(str(own_story), 1)
    environment.reset()
    emulator = FrotzEmulator(environment)
    reader = status_reader(story, table, emulator)
    for turn, command in enumerate(WALKTHROUGH, start=1):
        emulator.step(command)
        status = reader.read(emulator.memory())
        assert status.location
        assert status.player
        assert status.moves == turn
        if turn < len(WALKTHROUGH):
            assert table.name(status.location) in looked_around(emulator)
    assert status.score == 100


def looked_around(emulator: FrotzEmulator) -> str:
    """What ``look`` would print now; in the dark nothing is seen, and the room is at the text's end."""
    state = emulator.save()
    text = emulator.step("look")
    emulator.restore(state)
    return text
