from __future__ import annotations

import pytest

from game_interface.core.story_text import heading_of, judge_ending, offers_a_new_game, plain_text, sounds_like_an_end
from session.values import Ending

QUESTION = "\n\nWould you like to RESTART, RESTORE a saved game or QUIT?"
ON = False, None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("You are in a field.", ON),
        ("A sign reads: *** DO NOT RESTART THE MACHINE ***", ON),
        ("The manual says: to RESTART or QUIT, press the knob. It is old.", ON),
        ("*** You have died ***" + QUESTION, (True, "lost")),
        ("*** You have died, and your rival has won ***" + QUESTION, (True, "lost")),
        ("*** You have won ***" + QUESTION, (False, "won")),
        ("*** You have missed the point entirely ***" + QUESTION, (False, "lost")),
        ("****  You have died  ****\n\nNow, let's take a look here...", (True, None)),
    ],
)
def test_a_story_without_a_profile_is_judged_by_its_banner_and_its_last_question(
    text: str, expected: tuple[bool, Ending | None]
) -> None:
    assert judge_ending(text, stopped=False, victory=False, defeat=False) == expected


@pytest.mark.parametrize(
    ("text", "stopped", "victory", "defeat", "expected"),
    [
        ("Inside the Barrow", True, True, False, (False, "won")),
        ("The end", False, True, True, (False, "won")),
        ("Oh no!", False, False, True, (True, None)),
        ("", True, False, False, (False, "over")),
        *(
            (f"*** {banner} ***{QUESTION}", stopped, False, True, (False, "won"))
            for banner in ("You have won", "You have won... for now", "CONGRATULATIONS!")
            for stopped in (True, False)
        ),
    ],
)
def test_a_profile_knows_victories_without_a_word_and_deaths_but_a_story_that_says_that_the_player_won_is_believed(
    text: str, *, stopped: bool, victory: bool, defeat: bool, expected: tuple[bool, Ending | None]
) -> None:
    assert judge_ending(text, stopped=stopped, victory=victory, defeat=defeat) == expected


@pytest.mark.parametrize("banner", ["You have not won", "You didn't win", "You haven\u2019t won", "Nobody has won"])
def test_a_victory_that_the_banner_denies_is_none(banner: str) -> None:
    text = f"*** {banner} ***{QUESTION}"
    assert judge_ending(text, stopped=False, victory=False, defeat=False) == (False, "over")
    assert judge_ending(text, stopped=False, victory=False, defeat=True) == (False, "lost")


@pytest.mark.parametrize(
    ("text", "is_offer"),
    [
        ("Whoops -- try again.", False),
        ("The door is stuck. You try again and again.", False),
        ("Now you can try again\n\nWhat next?", False),
        ("Would you like to try again?", True),
        ("Try again (Y/N)?", True),
        ("Press a key to play again.", True),
    ],
)
def test_an_offer_to_play_again_is_an_end_and_a_request_to_try_a_command_again_is_none(
    text: str, *, is_offer: bool
) -> None:
    assert (sounds_like_an_end(text), offers_a_new_game(text)) == (is_offer, is_offer)


DEATHS = (
    *("You are dead", "You have just died", "You have perished", "You have drowned", "You have starved to death"),
    *("You fall to your death", "You have ceased to exist", "You are no more", "R.I.P.", "I have died"),
    *("You have been killed", "You have been slain"),
)
LOSSES = (
    *("You have lost", "You lost!", "YOU LOSE", "You\u2019ve lost", "You\nhave lost", "You have lost your mind"),
    *("You have failed", "You have utterly failed", "You have failed to win", "Your mission has failed"),
    *("You've been convicted.", "You have been eaten by a grue", "You have gone utterly mad", "You are doomed"),
    *("You have been annihilated by a temporal paradox", "You have been turned to stone", "You have been caught"),
    *("We have failed", "Mission failed", "You have run out of time", "You have missed your chance to snack"),
)


@pytest.mark.parametrize("form", ["*** {} ***", "****  {}  ****", "* * * {} * * *", "--- {} ---", "   +++ {} +++"])
@pytest.mark.parametrize("banner", [*DEATHS, *LOSSES])
def test_a_banner_that_says_that_the_player_lost_is_a_loss_and_a_death_only_if_it_calls_it_one(
    banner: str, form: str
) -> None:
    text = f"Oh no!\n\n{form.format(banner)}{QUESTION}"
    assert judge_ending(text, stopped=False, victory=False, defeat=False) == (banner in DEATHS, "lost")


@pytest.mark.parametrize(
    "banner",
    [
        *("The End", "It's over", "To be continued", "You Rule! The game's totally over!", "You have snacked"),
        *("You have saved your job", "You have left Las Mesas", "You have escaped", "You have survived"),
        *(
            "You have been rescued",
            "You have finally been forgiven",
            "You have been crowned",
            "You have been very brave",
        ),
        *("The dragon is dead", "You have killed the dragon", "You have defeated the wizard", "Your death is avenged"),
        *("You have not failed", "You have never lost", "You have almost died", "You have found the lost city"),
        *("Your rival has won", "The Martians have won", "You watch the Martians win"),
    ],
)
def test_a_banner_that_names_no_outcome_for_the_player_is_neither_a_death_nor_a_victory(banner: str) -> None:
    text = f"Well!\n\n*** {banner} ***{QUESTION}"
    assert judge_ending(text, stopped=False, victory=False, defeat=False) == (False, "over")


LOOK = "Bedroom\nA bed stands here.\n\nYou can see a lamp here."


@pytest.mark.parametrize(
    ("text", "looked", "heading"),
    [
        (LOOK, LOOK, "Bedroom"),
        ("You crawl through the window.\n\n" + LOOK, LOOK, "Bedroom"),
        ("Bedroom (on the bed)\nA bed.", "Bedroom (on the bed)\nA bed.", "Bedroom"),
        ("Bedroom\n\nIt is late", LOOK, "Bedroom"),
        ("A Sign\n\nNo entry", LOOK, None),
        ("You are back in the\nBedroom\nagain.", LOOK, None),
        ("\xc9glise\nUn autel.", "\xc9glise\nUn autel.", "\xc9glise"),
        ("Time passes.", "Time passes.", None),
        ("", "", None),
    ],
)
def test_a_heading_is_set_off_from_the_text_and_heads_what_look_would_print(
    text: str, looked: str, heading: str | None
) -> None:
    assert heading_of(text, looked) == heading


def test_a_status_line_that_is_drawn_again_while_the_player_waits_is_not_part_of_the_text() -> None:
    above, again = (f" Lab      Score: 3      Moves: {move}      " for move in (6, 7))
    printed = f"{above}\nTime passes...\n{again}{again}\nThe price:    Score: 3\nKeep waiting?\n>"
    assert plain_text(printed, 3) == "Time passes...\nThe price:    Score: 3\nKeep waiting?"
