"""The turns of an episode are found again by location, command and what the player noticed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from session.game_state import Tries
from session.values import Observation
from tests.unit.zorkgpt.players.dye_works import in_the_loft, moment, turn


def after(*answers: str, action: str = "dip banner", world: str = "w1") -> Tries:
    """What is known when ``action`` got these ``answers``, one after the other, with all to be seen the same."""
    tries = Tries()
    for answer in answers:
        tries.add(turn(action, moment(world=world), moment(answer, world=world)))
    return tries


def test_the_answers_to_a_command_are_known_whatever_its_case_and_blanks_and_the_last_typed_comes_first() -> None:
    tries = after("The vat is\nempty.")
    assert tries.outcomes(moment(), "Dip  banner.") == ["The vat is empty."]
    tries.add(turn("stir vat", moment(), moment("It swirls.")))
    tries.add(turn("Dip banner", moment(), moment("Empty.")))
    here = moment().location
    assert here is not None
    assert [(command, len(turns)) for command, turns in tries.latest_first(here.num)] == [
        ("dip banner", 2),
        ("stir vat", 1),
    ]
    assert list(tries.latest_first(None)) == []


def test_a_text_is_new_when_it_is_printed_first() -> None:
    tries = after("Empty.")
    later = replace(turn("dip banner", moment(), moment("Empty. ")), turn=2)
    other = replace(later, after=moment("It is blue now."))
    tries.add(later)
    tries.add(other)
    assert (tries.has_new_text(later), tries.has_new_text(other)) == (False, True)


def test_other_commands_places_and_things_in_sight_are_not_meant_nor_is_another_world() -> None:
    tries = after("Empty.")
    assert tries.outcomes(moment(), "take banner") == []
    for other in (in_the_loft(), replace(moment(), visible=()), replace(moment(), score=5), moment(world="w2")):
        assert tries.outcomes(other, "dip banner") == []
    tries.add(turn("dip banner", moment(world="w2"), moment("Empty.", world="w2")))
    assert tries.outcomes(moment(world="w2"), "dip banner") == ["Empty."] * 2
    assert after("Empty.", world="").outcomes(moment(world=""), "dip banner") == []


def test_moves_and_commands_that_never_reached_the_story_are_no_tries() -> None:
    tries = Tries()
    tries.add(turn("up", moment(), in_the_loft()))
    tries.add(turn("save", moment(), replace(moment(), refusal="not for the player")))
    assert (tries.outcomes(moment(), "up"), tries.outcomes(moment(), "save")) == ([], [])


@pytest.mark.parametrize("world", ["", "w1"])
def test_without_anything_to_compare_nothing_is_told(world: str) -> None:
    fog, tries = Observation("Fog.", world_hash=world), Tries()
    tries.add(turn("wait", fog, replace(fog, text="Time passes.")))
    assert bool(tries.outcomes(fog, "wait")) is bool(world)
