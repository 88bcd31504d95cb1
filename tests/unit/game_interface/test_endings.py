from __future__ import annotations

import pytest

from game_interface.core.story_text import StoryEnding, judge_ending, offers_a_new_game, sounds_like_an_end

QUESTION = "\n\nWould you like to RESTART, RESTORE a saved game or QUIT?"
ON = StoryEnding(died=False, ending=None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("You are in a field.", ON),
        ("A sign reads: *** DO NOT RESTART THE MACHINE ***", ON),
        ("The manual says: to RESTART or QUIT, press the knob. It is old.", ON),
        ("*** You have died ***" + QUESTION, StoryEnding(died=True, ending="lost")),
        ("*** You have won ***" + QUESTION, StoryEnding(died=False, ending="won")),
        ("*** You have missed the point entirely ***" + QUESTION, StoryEnding(died=False, ending="over")),
        ("****  You have died  ****\n\nNow, let's take a look here...", StoryEnding(died=True, ending=None)),
    ],
)
def test_a_story_without_a_profile_is_judged_by_its_banner_and_its_last_question(
    text: str, expected: StoryEnding
) -> None:
    assert judge_ending(text, stopped=False, victory=False, defeat=False) == expected


def test_a_profile_knows_a_victory_that_the_text_does_not_name() -> None:
    assert judge_ending("Inside the Barrow", stopped=True, victory=True, defeat=False).ending == "won"


def test_a_profile_that_takes_the_last_text_for_both_means_the_victory() -> None:
    assert judge_ending("The end", stopped=False, victory=True, defeat=True) == StoryEnding(died=False, ending="won")


def test_a_death_by_the_profile_is_no_ending_while_the_machine_runs() -> None:
    assert judge_ending("Oh no!", stopped=False, victory=False, defeat=True) == StoryEnding(died=True, ending=None)


def test_a_machine_that_runs_no_more_without_a_word_is_over_and_nothing_more_is_claimed() -> None:
    assert judge_ending("", stopped=True, victory=False, defeat=False).ending == "over"


@pytest.mark.parametrize("banner", ["You have won", "You have won... for now", "CONGRATULATIONS!"])
@pytest.mark.parametrize("stopped", [True, False])
def test_a_story_that_says_that_the_player_won_is_believed_where_its_profile_sees_a_defeat(
    banner: str, *, stopped: bool
) -> None:
    ending = judge_ending(f"*** {banner} ***{QUESTION}", stopped=stopped, victory=False, defeat=True)
    assert ending == StoryEnding(died=False, ending="won")


@pytest.mark.parametrize(
    "banner", ["You have not won", "You didn't win", "You haven\u2019t won", "You have failed to win", "Nobody has won"]
)
def test_a_victory_that_the_banner_denies_is_none(banner: str) -> None:
    text = f"*** {banner} ***{QUESTION}"
    assert judge_ending(text, stopped=False, victory=False, defeat=False).ending == "over"
    assert judge_ending(text, stopped=False, victory=False, defeat=True).ending == "lost"


def test_who_dies_has_not_won_whatever_else_the_banner_says() -> None:
    text = "*** You have died, and your rival has won ***" + QUESTION
    assert judge_ending(text, stopped=False, victory=False, defeat=False) == StoryEnding(died=True, ending="lost")


@pytest.mark.parametrize(
    "text",
    ["Whoops -- try again.", "The door is stuck. You try again and again.", "Now you can try again\n\nWhat next?"],
)
def test_a_request_to_try_a_command_again_is_not_an_end(text: str) -> None:
    assert (sounds_like_an_end(text), offers_a_new_game(text)) == (False, False)


@pytest.mark.parametrize("text", ["Would you like to try again?", "Try again (Y/N)?", "Press a key to play again."])
def test_an_offer_to_play_again_is_an_end(text: str) -> None:
    assert (sounds_like_an_end(text), offers_a_new_game(text)) == (True, True)
