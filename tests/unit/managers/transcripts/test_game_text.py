"""The text of a game: whole, growing at its end, and condensed seldom and without losing a text that was new."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from managers.transcripts.game_text import GameText, PlayedTurn, story_start
from session.game_state import GameState

LOG = "To whoever comes after: at the red rag go west, at the white rag north, at the blue rag east, and mind the mud."
HALL = (
    "Hall\nWhitewashed walls, a stone floor hollowed by the boots of eleven keepers, and a smell of salt and lamp oil."
)


def text_of(*turns: tuple[str, str], characters: int = 100_000, opening: str = "Causeway\nMud.") -> GameText:
    game = GameText(opening, characters)
    for number, (action, response) in enumerate(turns, start=1):
        game.add(PlayedTurn(number, action, response))
    return game


def played(turns: int) -> list[tuple[str, str]]:
    """One text that is new in each tenth turn, and refusals between them."""
    return [
        (f"read page {turn}", f"Page {turn} is about the weather, as all the others are.")
        if turn % 10 == 0
        else ("north", "You can't go that way.")
        for turn in range(1, turns + 1)
    ]


def test_the_start_is_the_whole_opening_without_the_lines_about_the_release() -> None:
    opening = (
        "The sea went out.\n\nTHE HOUSE\nAn errand. (Type HELP if this is your first story.)\n"
        "Release 1 / Serial number 260901 / Inform v6.41 Library v6.12.6 S\nStandard interpreter 1.0\n\n"
        "Release the otter by serial number 5.\n\nCauseway\nMud."
    )
    assert story_start(GameState(opening=opening)) == (
        "The sea went out.\n\nTHE HOUSE\nAn errand. (Type HELP if this is your first story.)\n\n"
        "Release the otter by serial number 5.\n\nCauseway\nMud."
    )
    assert (
        story_start(GameState(opening="Copyright (c) 1981\nRevision 88 / Serial number 840726")) == "Copyright (c) 1981"
    )


def test_every_turn_is_shown_with_its_points_and_the_location_to_which_it_led() -> None:
    game = text_of()
    game.add(PlayedTurn(1, "north", "Forecourt\nFlags.", change=5, to_id=35))
    game.add(PlayedTurn(2, "drop  lamp", "Broken.", change=-2))
    assert game.text() == (
        "Start:\nCauseway\nMud.\n\nTurn 1: north -> L35 (+5)\nForecourt\nFlags.\n\nTurn 2: drop lamp (-2)\nBroken."
    )


def test_a_death_is_no_arrival_at_the_place_of_the_resurrection() -> None:
    game = text_of(characters=2000)
    game.add(PlayedTurn(1, "north", "A grue devours you.\n\nForest\nTrees.", change=-10, to_id=78, died=True))
    assert "Turn 1: north (died) -> L78 (-10)\n" in game.text()
    for number in range(2, 30):
        game.add(PlayedTurn(number, "east", f"Room {number}\n{f'Wall {number} is long. ' * 5}", to_id=number))
    assert "without the texts of arrivals" in game.text()
    assert "A grue devours you." in game.text()


def test_nothing_is_shown_before_the_first_turn() -> None:
    assert text_of().text() == ""


def test_a_long_line_is_shown_once_and_then_by_its_beginning_and_turn() -> None:
    text = text_of(("north", HALL), ("wait", "Time passes."), ("look", HALL)).text()
    assert text.count("eleven keepers") == 1
    assert text.endswith("Turn 3: look\nHall\nWhitewashed walls, a stone floor… [line as in turn 1]")


def test_a_long_line_of_the_opening_is_shown_there_alone() -> None:
    text = text_of(("look", HALL), opening=HALL).text()
    assert text.endswith("Turn 1: look\nHall\nWhitewashed walls, a stone floor… [line as at the start]")


def test_the_text_of_a_first_arrival_is_whole() -> None:
    game = GameText("", 4000)
    for number, (action, to_id) in enumerate([("look in", None), ("north", 5), ("south", 4), ("north", 5)], start=1):
        game.add(PlayedTurn(number, action, HALL, to_id=to_id))
    assert [part.count("eleven keepers") for part in game.text().split("\n\n")] == [1, 1, 1, 0]


def test_what_was_new_stays_for_good_and_what_was_not_becomes_its_command() -> None:
    turns = [("read log", LOG), *played(200)]
    text = text_of(*turns, characters=8000).text()
    assert text.count(LOG) == 1
    assert [turn for turn in range(10, 201, 10) if f"Page {turn} is about" not in text] == []
    assert "Turns 3-10: north; north; north; north; north; north; north; north" in text
    assert ", without what the story had printed before:" in text
    assert text.count("You can't go that way.") < 180


def test_the_texts_of_arrivals_are_left_out_before_others() -> None:
    game, fall = GameText("", 9000), "You fall.\n\n"
    for number in range(1, 150):
        if number % 3:
            arrival = f"Cave {number}\nThis is cave {number} of the many."
            game.add(PlayedTurn(number, "north", f"{fall if number == 7 else ''}{arrival}", to_id=number))
        else:
            game.add(PlayedTurn(number, "read", f"Sign {number} says something that no other sign says."))
    text = game.text()
    assert "without the texts of arrivals and what the story had printed before:" in text
    assert [number for number in range(3, 150, 3) if f"Sign {number} says" not in text] == []
    assert "This is cave 4 of" not in text
    assert "Turn 7: north -> L7\nYou fall.\n\n" in text, "what happened before an arrival is none"
    assert "Turns 1-2: north -> L1; north -> L2\n\nTurn 3: read\nSign 3" in text


def test_it_says_which_texts_and_turns_are_left_out_for_want_of_room() -> None:
    turns = [(f"read page {turn}", f"Page {turn} is about the weather of the year {turn}.") for turn in range(1, 400)]
    text = text_of(*turns, characters=12_000).text()
    assert "commands only (texts left out for want of room):\n\nTurns 1-" in text
    assert "read page 1; read page 2" in text
    assert "Page 399 is about the weather of the year 399." in text
    short = text_of(*turns, characters=2000).text()
    assert "(Turns 1-" in short
    assert ": left out for want of room.)" in short
    assert short.endswith("Page 399 is about the weather of the year 399.")


def test_a_reference_is_never_to_a_turn_whose_text_is_left_out() -> None:
    turns = [("look", HALL) if turn % 25 == 0 else (f"read {turn}", f"Page {turn}. " * 8) for turn in range(1, 300)]
    for length in range(100, 300, 7):
        text = text_of(*turns[:length], characters=5000).text()
        if "[line as in turn" in text:
            assert "eleven keepers" in text


def test_the_rest_of_the_text_begins_after_a_turn_or_where_turns_are_whole() -> None:
    game = text_of(*played(60), characters=3000)
    for until in (0, 1, 40, 59, 60):
        assert game.text().startswith(game.text(until))
        assert "\n\n".join(filter(None, (game.text(until), game.text_since(until)))) == game.text()
    assert game.text_since(60) == ""
    assert game.text_since(59).startswith("Turn 60: ")
    assert text_of(*played(300), characters=3000).text_since(0).startswith("Turn 2")


@pytest.mark.parametrize("characters", [400, 2000])
def test_a_single_response_takes_a_quarter_of_the_room_at_most(characters: int) -> None:
    game = text_of(("read book", "It rains. " * 1000), characters=characters)
    assert len(game.text()) < characters * 0.4
    assert not game.contains_whole("It rains. " * 1000)


@given(
    turns=st.lists(st.tuples(st.sampled_from(["north", "look", "x " * 90]), st.text(max_size=300)), max_size=80),
    characters=st.integers(1200, 9000),
)
def test_the_text_fits_whatever_is_played(turns: list[tuple[str, str]], characters: int) -> None:
    assert len(text_of(*turns, characters=characters).text()) <= characters


def test_the_texts_of_a_whole_course_are_shown_after_it_even_if_older_turns_are_condensed() -> None:
    game = GameText("Causeway\nMud.", 24_000)
    for number in range(1, 200):
        place = number % 9 if number % 3 == 0 else None
        game.add(PlayedTurn(number, f"read page {number}", f"Page {number}. {f'It says {number}. ' * 20}", to_id=place))
        shown = game.text()
        assert all(turn.response in shown for turn in game.turns[-13:])


def test_what_differs_from_the_text_before_stands_in_its_place_and_nothing_else_is_said_to_be_the_same() -> None:
    rain = "Rain patters down softly, over the hazy black and white of the dark alley."
    texts = [f"Open.\n\n{rain}\n\nThe spy sits alone.", f"Best not.\n\n{rain}\n\nThe chef wanders in."]
    game = text_of(("open panel", texts[0]), ("drop coin", texts[1]))
    assert game.text().endswith("\n\nTurn 2: drop coin\nBest not.\n[lines 2-4 as in turn 1]\nThe chef wanders in.")
    short = [text.replace(rain, "Rain falls.") for text in texts]
    assert text_of(("open panel", short[0]), ("drop coin", short[1])).contains_whole(short[1])


def test_a_screen_is_shown_by_what_differs_from_the_one_before_it() -> None:
    fruit = ["Apples " * 8, "Pears", "Plums", "Cherries " * 4, "Figs " * 4]
    screens = ["\n".join(("> " if each == at else "  ") + each for each in fruit).strip() for at in ("Pears", "Plums")]
    game = text_of(("help", screens[0]), ("n", screens[1]), ("z", screens[1]), ("p", screens[0]), ("look", HALL))
    whole = f"Turn 1: help\n{screens[0]}"
    moved = "[line 1 as in turn 1]\n  Pears\n> Plums\n[lines 4-5 as in turn 1]"
    assert game.text().split("\n\n", 1)[1] == (
        f"{whole}\n\nTurn 2: n\n{moved}\n\nTurn 3: z\n{moved}\n\nTurn 4: p\n[as in turn 1]\n\nTurn 5: look\n{HALL}"
    )
    assert not text_of(("help", screens[0]), ("n", screens[1])).contains_whole(screens[1])
    part = "\n".join([*fruit[1:], "  Nuts"])
    assert text_of(("help", f"Kiwis\n{part}"), ("look", part)).contains_whole(part)
