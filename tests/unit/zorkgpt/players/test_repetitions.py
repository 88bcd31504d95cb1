"""What was typed in the very same state, with the same outcome, is told; nothing else is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.zorkgpt.players.dye_works import in_the_loft, moment, turn
from zorkgpt.players.repetitions import LONGEST_OUTCOME, MOST_SHOWN, Repetitions


def after(*answers: str, action: str = "dip banner") -> Repetitions:
    """What is known when ``action`` got these ``answers``, one after the other, in one state."""
    repetitions = Repetitions()
    for answer in answers:
        repetitions.learn(turn(action, moment(), moment(answer)))
    return repetitions


def test_it_is_told_how_often_and_with_what_answer() -> None:
    assert after("The vat is\nempty.").of(moment(), "Dip  banner.") == (
        "You have typed `dip banner` here once in this very state; the answer was: The vat is empty."
    )
    assert after(*["Empty."] * 3).of(moment(), "dip banner") == (
        "You have typed `dip banner` here 3 times in this very state; each time the answer was: Empty."
    )


def test_other_commands_states_and_places_are_not_meant() -> None:
    repetitions = after("Empty.")
    assert repetitions.of(moment(), "take banner") == ""
    assert repetitions.of(moment(world="w2"), "dip banner") == ""
    assert repetitions.of(in_the_loft(), "dip banner") == ""


def test_where_there_is_chance_in_it_nothing_is_told() -> None:
    assert after("You miss.", "You hit.", action="light fuse").of(moment(), "light fuse") == ""


def test_moves_and_commands_that_never_reached_the_story_are_no_repetitions() -> None:
    repetitions = Repetitions()
    repetitions.learn(turn("up", moment(), in_the_loft()))
    repetitions.learn(turn("save", moment(), replace(moment(), refusal="not for the player")))
    assert repetitions.text(moment()) == ""


@pytest.mark.parametrize("world", ["", "w1"])
def test_without_a_world_to_compare_there_is_no_same_state(world: str) -> None:
    repetitions = Repetitions()
    repetitions.learn(turn("wait", moment(world=world), moment("Time passes.", world=world)))
    assert bool(repetitions.of(moment(world=world), "wait")) is bool(world)


def test_all_of_a_state_are_told_line_by_line_the_latest_last_within_bounds() -> None:
    repetitions = Repetitions()
    for number in range(MOST_SHOWN + 2):
        repetitions.learn(turn(f"dip {number}", moment(), moment("No. " * LONGEST_OUTCOME)))
    lines = repetitions.text(moment()).splitlines()
    assert len(lines) == MOST_SHOWN
    assert f"`dip {MOST_SHOWN + 1}`" in lines[-1]
    assert len(lines[-1]) < LONGEST_OUTCOME + 100


def test_a_new_episode_has_typed_nothing() -> None:
    repetitions = after("Empty.")
    repetitions.reset()
    assert repetitions.text(moment()) == ""
