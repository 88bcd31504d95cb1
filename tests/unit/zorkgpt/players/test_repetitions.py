"""What was typed with all as it is now, with the same outcome, is told; nothing else is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from session.values import Observation
from tests.unit.zorkgpt.players.dye_works import in_the_loft, moment, turn
from zorkgpt.players.repetitions import Repetitions

INTRODUCTION = "With everything you can see as it is now, you have typed here, and each time this was the answer:"


def after(*answers: str, action: str = "dip banner", world: str = "w1") -> Repetitions:
    """What is known when ``action`` got these ``answers``, one after the other, with all to be seen the same."""
    repetitions = Repetitions()
    for answer in answers:
        repetitions.learn(turn(action, moment(world=world), moment(answer, world=world)))
    return repetitions


def test_it_is_told_how_often_and_with_what_answer() -> None:
    once, thrice = after("The vat is\nempty."), after(*["Empty."] * 3)
    assert once.of(moment(), "Dip  banner.") == f"{INTRODUCTION} `dip banner` (once): The vat is empty."
    assert thrice.of(moment(), "dip banner") == f"{INTRODUCTION} `dip banner` (3 times): Empty."


def test_other_commands_places_and_things_in_sight_are_not_meant() -> None:
    repetitions = after("Empty.")
    assert repetitions.of(moment(), "take banner") == ""
    for other in (in_the_loft(), replace(moment(), visible=()), replace(moment(), score=5)):
        assert repetitions.of(other, "dip banner") == ""


def test_what_goes_on_out_of_sight_may_make_a_difference() -> None:
    repetitions = after("Empty.")
    assert repetitions.of(moment(world="w2"), "dip banner") == ""
    repetitions.learn(turn("dip banner", moment(world="w2"), moment("Empty.", world="w2")))
    assert "(2 times)" in repetitions.of(moment(world="w2"), "dip banner")


def test_a_world_that_is_not_known_is_not_the_same() -> None:
    repetitions = after("Empty.", world="")
    assert repetitions.of(moment(world=""), "dip banner") == ""


def test_where_there_is_chance_in_it_nothing_is_told() -> None:
    repetitions = after("You miss.", "You hit.", action="light fuse")
    assert repetitions.of(moment(), "light fuse") == ""


def test_chance_that_showed_in_another_world_counts() -> None:
    repetitions = after("You miss.", action="light fuse")
    repetitions.learn(turn("light fuse", moment(world="w2"), moment("You hit.", world="w2")))
    assert repetitions.of(moment(), "light fuse") == ""


def test_moves_and_commands_that_never_reached_the_story_are_no_repetitions() -> None:
    repetitions = Repetitions()
    repetitions.learn(turn("up", moment(), in_the_loft()))
    repetitions.learn(turn("save", moment(), replace(moment(), refusal="not for the player")))
    assert (repetitions.of(moment(), "up"), repetitions.of(moment(), "save")) == ("", "")


@pytest.mark.parametrize("world", ["", "w1"])
def test_without_anything_to_compare_nothing_is_told(world: str) -> None:
    fog, repetitions = Observation("Fog.", world_hash=world), Repetitions()
    repetitions.learn(turn("wait", fog, replace(fog, text="Time passes.")))
    assert bool(repetitions.of(fog, "wait")) is bool(world)


def test_a_long_outcome_is_cut_at_sixty_characters() -> None:
    told = after("No" * 30), after("No" * 30 + "!")
    assert told[0].of(moment(), "dip banner").endswith(f"(once): {'No' * 30}")
    assert told[1].of(moment(), "dip banner").endswith(f"(once): {'No' * 28} […]")


def test_a_new_episode_has_typed_nothing() -> None:
    repetitions = after("Empty.")
    repetitions.reset()
    assert repetitions.of(moment(), "dip banner") == ""
