"""How much of each part a prompt of the agent shows at most, in characters: four are a token.

The story's texts share the room beside the instructions: 16,000 characters, because there are no instructions here.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from managers.context_manager import ContextManager, Rejection
from session.game_configuration import GameConfiguration
from session.game_state import GameState, PlayedAction
from session.values import GameObject, Location, Observation

HALL = Observation("It rains.", Location(4, "Hall"))
BUDGETS = {"agent": 4000, "critic": 4000}


def manager(**state: object) -> ContextManager:
    """Two turns were played, the first of them at length."""
    played = GameState(turn_count=2, **state)  # type: ignore[arg-type]  # fields by name
    played.add_reasoning(1, "r" * 9000, "a" * 9000)
    played.add_reasoning(2, "why not", "wait")
    played.action_history += [PlayedAction("a" * 9000, "s" * 9000), PlayedAction("wait", "It rains.")]
    return ContextManager(logging.getLogger("test"), GameConfiguration(prompt_budgets=BUDGETS), played)


def letters(text: str, letter: str) -> int:
    """The length of the longest run of the letter, on both sides of a cut."""
    whole = text.replace(" […]", "")
    return max(len(run) for run in "".join(each if each == letter else " " for each in whole).split(" "))


@pytest.mark.parametrize(
    ("letter", "characters"),
    [("r", 480), ("a", 200), ("s", 8000 - 9 * 400), ("o", 2000)],
    ids=["reasoning", "command", "response", "opening"],
)
def test_of_the_past(letter: str, characters: int) -> None:
    shown = manager(opening="o" * 9000).get_agent_context(HALL).render()
    assert letters(shown, letter) == characters - len(" […]")


def test_of_what_the_story_says_now() -> None:
    shown = manager().get_agent_context(replace(HALL, text="x" * 9000)).render()
    assert letters(shown, "x") == 8000 - len(" […]")


def test_of_what_is_carried() -> None:
    shown = manager().get_agent_context(replace(HALL, inventory=(GameObject(7, "x" * 9000),))).render()
    assert letters(shown, "x") == 800 - len(" […]")


def test_of_a_locations_name() -> None:
    shown = manager().get_agent_context(replace(HALL, location=Location(4, "x" * 9000))).render()
    assert letters(shown, "x") == 200 - len(" […]")


def test_of_a_command_that_was_not_played_and_of_the_reason() -> None:
    shown = manager().get_agent_context(HALL, rejections=[Rejection("x" * 9000, "y" * 9000)]).render()
    assert (letters(shown, "x"), letters(shown, "y")) == (200 - len(" […]"), 400 - len(" […]"))


def test_of_a_rooms_description() -> None:
    context = manager(
        last_room_description="x" * 9000, last_room_description_location_id=4, last_room_description_turn=2
    )
    assert letters(context.get_agent_context(HALL).render(), "x") == 4000 - len(" […]")


def test_of_a_command_that_the_critic_is_asked_about() -> None:
    assert letters(manager().get_critic_context(HALL, "x" * 9000), "x") == 200 - len(" […]")


def test_three_turns_of_the_past_for_the_critic() -> None:
    state = GameState(turn_count=5)
    for turn in range(1, 6):
        state.add_reasoning(turn, "why not", f"act {turn}")
        state.action_history.append(PlayedAction(f"act {turn}", "Done."))
    context = ContextManager(logging.getLogger("test"), GameConfiguration(), state)
    shown = context.get_critic_context(HALL, "wait")
    assert [turn for turn in range(1, 6) if f"act {turn}" in shown] == [3, 4, 5]


def test_the_answer_to_a_command_is_that_of_its_own_turn() -> None:
    state = GameState(turn_count=4)
    answers = ["Rain.", "Click.", "Rain.", "Clunk."]
    for turn, (action, answer) in enumerate(zip(["wait", "pull lever"] * 2, answers, strict=True), start=1):
        state.add_reasoning(turn, "why not", action)
        state.action_history.append(PlayedAction(action, answer))
    context = ContextManager(logging.getLogger("test"), GameConfiguration(), state)
    lines = context.get_recent_reasoning_formatted(4).splitlines()
    assert [line for line in lines if line.startswith("Response: ")] == [f"Response: {answer}" for answer in answers]


def test_every_section_that_was_left_out_for_want_of_room_is_counted() -> None:
    context = manager(opening="o" * 9000)
    context.config = GameConfiguration(prompt_budgets={"agent": 200})
    shown = context.get_agent_context(HALL).sections
    assert [section.title for section in shown] == ["Present"]
    assert context.get_status()["metrics"] == {"turns": 2, "sections_dropped": 2}
