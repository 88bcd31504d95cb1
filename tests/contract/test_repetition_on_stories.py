"""Good and bad play are distinguished in a story in which an object moves out of sight in every turn."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.going_in_circles import aimless_turns, noticed_in, walkthrough_turns
from benchmarks.stories import OWN_STORY, user_stories, walkthrough_of
from game_interface.core.jericho_interface import JerichoInterface
from session.values import Proposal, TurnRecord, Verdict
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.walkthrough import WINNING_SEED, get_zork1_walkthrough
from zorkgpt.report.figures import repeat_failures

GOAL = 0.05  # of the turns of good play repeat what was tried before
WITHOUT_MEMORY = 0.20  # of the turns of play without a memory do
MOST_TOKENS = 120  # of what the agent is told of it in any one turn
MOST_WAIT = 12  # turns from the first repetition to the first warning
AIMLESS = ("north", "south", "east", "west", "up", "down", "look", "wait", "inventory", "take all", "open door")


@pytest.mark.parametrize(
    ("story", "commands", "seed"),
    [
        pytest.param("zork1", get_zork1_walkthrough(), WINNING_SEED, marks=pytest.mark.stories),
        ("own_story", WALKTHROUGH, 1),
    ],
    ids=["zork", "the tide house"],
)
def test_a_winning_game_repeats_next_to_nothing_and_aimless_play_repeats_itself(
    request: pytest.FixtureRequest, story: str, commands: Sequence[str], seed: int
) -> None:
    file: Path = request.getfixturevalue(story)
    assert rate(file, commands, seed) < GOAL
    assert rate(file, random.Random(1).choices(AIMLESS, k=200), 1) > WITHOUT_MEMORY


@pytest.mark.stories
def test_aimless_play_of_zork_is_warned_of_circles_and_a_winning_game_is_not_doubted(zork1: Path) -> None:
    winning = noticed_in(list(walkthrough_turns(walkthrough_of(zork1))))
    lost = noticed_in(list(aimless_turns(zork1, 1)))
    assert lost.first_wait is not None
    assert lost.first_wait <= MOST_WAIT
    assert lost.listed > lost.repeated / 3  # the others are exits, which the map shows
    assert (winning.doubted, max(lost.tokens) <= MOST_TOKENS) == (0, True)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_aimless_play_of_the_tide_house_is_warned_of_circles(own_story: Path, seed: int) -> None:
    lost = noticed_in(list(aimless_turns(own_story, seed)))
    assert lost.first_wait is not None
    assert lost.first_wait <= MOST_WAIT


@pytest.mark.slow
@pytest.mark.stories
@pytest.mark.parametrize("story", [OWN_STORY, *user_stories()], ids=lambda story: story.stem)
def test_no_winning_game_is_warned_of_circles(story: Path) -> None:
    assert noticed_in(list(walkthrough_turns(walkthrough_of(story)))).circling == 0


def rate(story: Path, commands: Sequence[str], seed: int) -> float:
    with JerichoInterface(story, seed=seed) as game:
        turns = (
            TurnRecord(1, number, game.observation, (Proposal(command),), (Verdict(accepted=True),), game.step(command))
            for number, command in enumerate(commands, start=1)
        )
        return sum(map(bool, repeat_failures(turns))) / len(commands)
