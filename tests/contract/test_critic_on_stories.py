"""The critic never refuses a winning command and catches most of what a story refuses.

Source: docs/specification.md, Critic.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.critic_verdicts import catch_refused, pass_walkthrough
from benchmarks.stories import walkthrough_of
from tests.fixtures.walkthrough import get_zork1_walkthrough

MOST_ASKED = 35
"""Calls of the critic's model over Zork I's winning commands, which the bar on calls per turn leaves room for."""


def test_every_winning_command_of_our_own_story_passes(own_story: Path) -> None:
    play = walkthrough_of(own_story)
    hybrid = pass_walkthrough(play, "hybrid")
    assert (hybrid.commands, hybrid.refused) == (len(play.commands), [])
    assert pass_walkthrough(play, "object_tree").refused == []
    assert catch_refused(play).winning_refused == []


@pytest.mark.stories
class TestZork:
    def test_every_winning_command_passes_with_a_model_that_is_hardly_asked_or_none(self, zork1: Path) -> None:
        play = walkthrough_of(zork1)
        passage = pass_walkthrough(play, "object_tree")
        assert (passage.commands, passage.refused, passage.asked) == (len(get_zork1_walkthrough()), [], [])
        passage = pass_walkthrough(play, "hybrid")
        assert (passage.commands, passage.refused) == (396, [])
        assert len(passage.asked) <= MOST_ASKED

    @pytest.mark.slow
    def test_of_500_commands_that_the_story_refuses_at_least_half_are_refused_without_a_model(
        self, zork1: Path
    ) -> None:
        catch = catch_refused(walkthrough_of(zork1))
        sample = catch.sample()
        assert (len(sample.absent_things), len(sample.pruned_exits)) == (400, 100)
        assert sum(sample.absent_things) >= 200
        assert sum(sample.pruned_exits) >= 50
        assert catch.winning_refused == []


@pytest.mark.slow
@pytest.mark.stories
@pytest.mark.parametrize(
    "name", ["anchor", "awaken", "curses", "inhumane", "library", "moonlit", "snacktime", "spirit", "temple", "yomomma"]
)
def test_every_winning_command_of_other_stories_passes(name: str, story_folder: Path) -> None:
    (story,) = story_folder.glob(f"{name}.z?")
    play = walkthrough_of(story)
    assert pass_walkthrough(play, "object_tree").refused == []
    assert pass_walkthrough(play, "hybrid").refused == []


@pytest.mark.stories
def test_a_story_that_waits_for_a_key_says_so(story_folder: Path) -> None:
    play = walkthrough_of(story_folder / "yomomma.z8")
    with play.open() as game:
        opening, asked = game.observation, {"": set[bool](), "look": set[bool]()}
        for command in play.commands:
            asked["look" if command else ""].add(game.observation.awaits_key)
            game.step(command)
    assert not opening.awaits_key
    assert asked == {"": {True}, "look": {False}}
