"""The general way on real stories: what it claims is what Jericho knows of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.general_way import CLAIMS, measure
from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.machine.saved_state import Clues
from game_interface.core.status.status_reader import LearningReader
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH

pytestmark = pytest.mark.filterwarnings("ignore:Game .* is not fully supported")

STORIES = (
    *("anchor.z8", "awaken.z5", "curses.z5", "deephome.z5", "inhumane.z5", "library.z5", "moonlit.z5"),
    *("snacktime.z8", "spirit.z5", "temple.z5", "tryst205.z5", "yomomma.z8", "zork1.z5"),
)
UNKNOWN = "break-in.z5"
AGREEMENT = 0.99
MOST_STEPS = 0.96
KEEPS_NO_SCORE = "moonlit.z5"
TELLS_NO_END = "inhumane.z5"
SEEDS = (2, 3, 12, 77, 1986)


@pytest.mark.stories
@pytest.mark.parametrize("name", [*STORIES, UNKNOWN])
def test_what_is_claimed_of_a_story_is_what_jericho_knows_and_is_claimed_at_most_steps(
    name: str, story_folder: Path
) -> None:
    result = measure(story_folder / name)
    assert result
    agreements = {claim: result.agreement(claim) for claim in CLAIMS} if name != UNKNOWN else {}
    assert {claim: each for claim, each in agreements.items() if each is not None and each < AGREEMENT} == {}
    for claim in ("location", "score", "inventory"):
        if (name, claim) != (KEEPS_NO_SCORE, "score"):
            assert result.claimed[claim] >= MOST_STEPS * result.steps
    if name != UNKNOWN:
        assert (result.jerichos_ending, result.ending) == ("won", "over" if name == TELLS_NO_END else "won")


@pytest.mark.stories
@pytest.mark.parametrize("name", [*STORIES, UNKNOWN])
def test_what_is_learned_does_not_depend_on_the_seed(name: str, story_folder: Path) -> None:
    assert {clues_of(story_folder / name, seed) for seed in SEEDS} == {clues_of(story_folder / name, 1)}


def clues_of(story: Path, seed: int) -> Clues:
    with JerichoInterface(story, seed=seed, use_profile=False) as game:
        assert isinstance(game._observer.reader, LearningReader)
        return game._observer.reader.learned.clues


@pytest.mark.stories
@pytest.mark.parametrize("name", STORIES)
def test_learning_does_not_disturb_a_real_story(name: str, story_folder: Path) -> None:
    """Neither its random numbers nor what it does next: both ways the same things happen."""
    commands = ["look", "north", "wait", "take all", "south", "east", "again"] * 3
    with (
        JerichoInterface(story_folder / name, seed=12, use_profile=False) as learned,
        JerichoInterface(story_folder / name, seed=12) as known,
    ):
        assert [learned.step(each).world_hash for each in commands] == [
            known.step(each).world_hash for each in commands
        ]


def test_our_own_story_is_read_along_its_walkthrough(own_story: Path) -> None:
    with JerichoInterface(own_story) as game:
        for turn, command in enumerate(WALKTHROUGH, start=1):
            observation = game.step(command)
            assert observation.location
            assert observation.inventory is not None
            assert (observation.moves, observation.max_score) == (turn, 100)
            if turn < len(WALKTHROUGH):
                with game._interpreter.trying():
                    assert observation.location.name in game._interpreter.send("look")
    assert observation.score == 100
