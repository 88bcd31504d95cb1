"""How stories end: the ends of every walkthrough at hand, and the others that tests know, in one table.

A story that Jericho knows is played twice: with Jericho's profile, and as if it were unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from benchmarks.stories import OWN_STORY, walkthrough_of
from game_interface.core.isolated import IsolatedGame
from game_interface.core.jericho_interface import JerichoInterface
from session.values import Ending
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.walkthrough import begin_walkthrough

STORIES = Path(__file__).parents[1] / "stories"


class End(NamedTuple):
    """How a story ends, and the points that are known then.

    deaths: turns in which the player died; Inhumane rewards them, and many stories are lost without one
    """

    ending: Ending
    score: int | None = None
    max_score: int | None = None
    deaths: int = 0


WALKTHROUGHS = {
    # story: as Jericho knows it, as an unknown story
    "afflicted.z8": (End("won", 75, 75), End("won", -75)),
    "anchor.z8": (End("won", 99, 100), End("won", 99, 100)),
    "awaken.z5": (End("won", 50, 50), End("won", 50, 50)),
    "curses.z5": (End("won", 450, 550), End("won", 450, 550)),
    "deephome.z5": (End("won", 300, 300), End("won", 300, 300)),
    "inhumane.z5": (End("won", 90, 90, 9), End("over", 90, 300, 9)),
    "library.z5": (End("won", 30, 30), End("won", 30, 30)),
    "lostpig.z8": (End("won", 6, 7), End("over", 6)),
    "moonlit.z5": (End("won", 1, 1), End("won")),
    "seastalker.z3": (End("won", 100, 100), End("won", 100, 100)),
    "snacktime.z8": (End("won", 50, 50), End("won", 50, 50)),
    "spirit.z5": (End("won", 250, 250), End("won", 250, 250)),
    "temple.z5": (End("won", 35, 35), End("won", 35, 35)),
    "tryst205.z5": (End("won", 350, 350), End("won", 350, 350)),
    "wishbringer.z3": (End("won", 100, 100), End("won", 100, 100)),
    "yomomma.z8": (End("won", 34, 35), End("won", 34, 35)),
    "zork1.z5": (End("won", 350, 350), End("won", 350, 350)),
}
DAILY = ("inhumane.z5", "lostpig.z8", "seastalker.z3", "snacktime.z8")
BEFORE = {"seastalker.z3": ("ann", "smith", "yes", "yes")}
"""Answers that Jericho's profile gives by itself before the walkthrough begins."""

LOSSES = [
    # story, commands of the walkthrough before, others, as Jericho knows it, as an unknown story
    ("afflicted.z8", 96, ("in", *["wait"] * 4), End("won", 75, 75), End("over", -75)),
    ("anchor.z8", 318, ("wait",) * 3, End("lost", 41, 100, 1), End("lost", 41, 100, 1)),
    ("anchor.z8", 344, ("y",), End("lost", 44, 100), End("lost", 44, 100)),
    ("curses.z5", 0, ("down",), End("lost", 0, 550), End("lost", 0, 550)),
    ("curses.z5", 168, ("ne", *["wait"] * 3), End("lost", 51, 550), End("lost", 51, 550)),
    ("curses.z5", 302, ("stack rucksack",), End("lost", 155, 550), End("lost", 155, 550)),
    ("deephome.z5", 14, ("answer",), End("lost", 8, 300, 1), End("lost", 8, 300, 1)),
    ("seastalker.z3", 44, ("north", "wait"), End("lost", 28, 100), End("over", 28, 100)),
    ("snacktime.z8", 30, ("ne", *["wait"] * 3), End("lost", 30, 50), End("lost", 30, 50)),
    ("spirit.z5", 14, ("attack joseph",), End("lost", 2, 250, 1), End("lost", 2, 250, 1)),
    ("temple.z5", 166, ("wait",) * 6, End("lost", 30, 35, 1), End("lost", 30, 35, 1)),
    ("wishbringer.z3", 94, ("scream",), End("lost", 47, 100), End("over", 47, 100)),
]

OWN_ENDS = [
    (OWN_STORY, tuple(WALKTHROUGH), End("won", 100, 100)),
    (STORIES / "radio.z3", ("take", "record"), End("won", 10, 10)),
    (STORIES / "exits.z5", ("jump",), End("lost", deaths=1)),
    (STORIES / "exits.z5", ("drink",), End("lost", deaths=1)),
    (STORIES / "exits.z5", ("pray", "climb"), End("lost", deaths=2)),
    (STORIES / "exits.z5", ("light", "look"), End("lost", deaths=1)),
    (STORIES / "exits.z5", ("sing",), End("won")),
    (STORIES / "exits.z5", ("sleep",), End("over")),
    (STORIES / "exits.z5", ("fault",), End("crashed")),
    (STORIES / "riddles.z5", ("walk", "look", "north", "yes"), End("won")),
    (STORIES / "riddles.z5", ("rest",), End("lost", deaths=1)),
]


def played(game: JerichoInterface | IsolatedGame, commands: Sequence[str]) -> End:
    """The end after all of the commands, none of which but the last may end the story."""
    deaths = 0
    for number, command in enumerate(commands, start=1):
        seen = game.step(command)
        deaths += seen.died
        assert bool(seen.ending) is (number == len(commands)), f"{seen.ending} at command {number}, {command}"
    assert seen.ending
    assert ("story crashed here" in seen.text) == (seen.ending == "crashed")
    return End(seen.ending, seen.score, seen.max_score, deaths)


def end_of(story: Path, *, profile: bool, first: int | None = None, then: Sequence[str] = ()) -> End:
    """The end after the ``first`` commands of the story's walkthrough, or all of them, and others."""
    if not story.exists():
        pytest.skip(f"{story.name} is not among the stories")
    play = walkthrough_of(story)
    with JerichoInterface(story, use_profile=profile) as game:
        begin_walkthrough(game, play.seed)
        for command in () if profile else BEFORE.get(story.name, ()):
            assert game.step(command).ending is None
        return played(game, (*play.commands[:first], *then))


@pytest.mark.stories
@pytest.mark.parametrize("profile", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize(
    "name", [name if name in DAILY else pytest.param(name, marks=pytest.mark.slow) for name in WALKTHROUGHS]
)
def test_a_walkthrough_ends_as_the_table_says(name: str, story_folder: Path, *, profile: bool) -> None:
    assert end_of(story_folder / name, profile=profile) == WALKTHROUGHS[name][0 if profile else 1]


@pytest.mark.stories
@pytest.mark.parametrize("profile", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize(
    ("name", "first", "then", "known", "unknown"),
    [loss if loss[0] in DAILY else pytest.param(*loss, marks=pytest.mark.slow) for loss in LOSSES],
)
def test_another_end_is_as_the_table_says(
    name: str, first: int, then: Sequence[str], known: End, unknown: End, story_folder: Path, *, profile: bool
) -> None:
    assert end_of(story_folder / name, profile=profile, first=first, then=then) == (known if profile else unknown)


@pytest.mark.parametrize(
    ("story", "commands", "end"), OWN_ENDS, ids=[f"{story.stem} {commands[-1]}" for story, commands, _ in OWN_ENDS]
)
@pytest.mark.parametrize("kind", [JerichoInterface, IsolatedGame])
def test_an_end_of_our_own_stories_is_as_the_table_says(
    kind: type[JerichoInterface | IsolatedGame], story: Path, commands: Sequence[str], end: End
) -> None:
    with kind(story) as game:
        assert played(game, commands) == end


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("knock", (*("look", "north", "yes", "1") * 3, "heron")),
        ("dial", (*("look", "north", "no", "1") * 3, "4711")),
        ("fight", (*("look", "north", "no", "1") * 3, "sword")),
        ("bell", (*"abcdefgyn", "escape", "up", "h")),
    ],
)
def test_a_question_that_wants_another_word_is_no_end_however_often_it_is_asked_in_vain(
    question: str, answers: Sequence[str]
) -> None:
    with JerichoInterface(STORIES / "riddles.z5") as game:
        asked = [game.step(command) for command in (question, *answers[:-1])]
        answered = game.step(answers[-1])
        assert {each.ending for each in (*asked, answered)} == {None}
        assert {each.awaits_answer or each.awaits_key for each in asked} == {True}
        assert not answered.awaits_answer
        assert answered.text != asked[-1].text
        assert game.step("look").text.startswith("Hall")
