"""Small stories of our own that behave as few do: how they end, what they print, what they understand.

``make story`` compiles them from the sources beside them (tests/stories).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from game_interface.core.game import SavedState
from game_interface.core.isolated import IsolatedGame
from game_interface.core.jericho_interface import JerichoInterface
from session.values import Observation

STORIES = Path(__file__).parents[1] / "stories"


def play(story: str, *commands: str) -> list[Observation]:
    """The observations after each of the commands, alike in this process and in a child."""
    with JerichoInterface(STORIES / story) as game, IsolatedGame(STORIES / story) as isolated:
        observations = [game.step(command) for command in commands]
        assert [isolated.step(command) for command in commands] == observations
    return observations


def test_a_death_that_is_survived_ends_nothing() -> None:
    died, after = play("exits.z5", "pray", "look")
    assert (died.died, died.ending, after.ending, after.died) == (True, None, None, False)


def test_a_question_that_nothing_answers_is_no_end_unless_its_text_sounds_like_one() -> None:
    assert {each.ending for each in play("exits.z5", "dig", *["a friend", "nobody"] * 4)} == {None}


@pytest.mark.parametrize(
    ("commands", "told"),
    [
        (("spin", *["left"] * 6), r"^You stand still again\.$"),
        (("learn", "look", "wait", "inventory", "sing", "jump"), r"^Well done\.$"),
        *(
            (("swear", *answers, "look"), "")
            for answers in (["maybe"] * 8, ["maybe", "north", "yes"] * 3, ["no"] * 3, ["yes", "maybe"] * 3)
        ),
        (("look",), "QUIT"),
        (("help",), "THE END"),
        (("help", "space", "q"), "^The Hall"),
    ],
    ids=[
        *("a question that answers itself in time", "a lesson that takes one command alone"),
        *(f"questions that lead to each other {number}" for number in range(4)),
        *("a text that speaks of an end", "a page of the end", "a page that one key alone leaves"),
    ],
)
def test_what_only_sounds_like_an_end_ends_nothing(commands: tuple[str, ...], told: str) -> None:
    observations = play("exits.z5", *commands)
    assert {each.ending for each in observations} == {None}
    assert re.search(told, observations[-1].text)


def test_the_question_whether_to_quit_ends_nothing_though_every_turn_after_it_is_deadly() -> None:
    _, asked, answered, died = play("exits.z5", "light", "resign", "no", "look")
    assert (asked.ending, answered.ending, answered.text) == (None, None, "Then not.")
    assert (died.died, died.ending) == (True, "lost")


@pytest.mark.parametrize("answers", [("y",), ("no", "leave", "yes"), ("maybe", "yes")])
def test_a_session_is_not_ended_by_a_word_that_we_do_not_know_and_a_yes(answers: tuple[str, ...]) -> None:
    *_, refused, after = play("exits.z5", "leave", *answers, "no")
    assert refused.refusal
    assert after.text == "Then not."


def test_a_quit_in_other_words_is_refused_as_quit_is() -> None:
    quits = play("exits.z5", "quit", "the quit", "please, the quit", "quit the game")
    assert {each.refusal for each in quits} == {quits[0].refusal} != {None}


def test_a_status_line_of_two_lines_and_columns_is_never_part_of_the_text() -> None:
    for observation in play("exits.z5", "wait", "look", "sing"):
        assert not {"Exits: 8", "Turns:"} & set(observation.text.split("  "))
        assert "Turns" not in observation.text


ON_THE_DECK = ("ann", "sing", "north")


def place(observation: Observation) -> tuple[int, str] | None:
    location = observation.location
    return None if location is None else (location.num, location.name)


def carried(observation: Observation) -> list[str] | None:
    return None if observation.inventory is None else [thing.name for thing in observation.inventory]


def test_a_clock_is_not_claimed_as_moves() -> None:
    for observation in play("radio.z3", "look", "take", "north"):
        assert observation.moves is None
        assert observation.location
        assert observation.score is not None


def test_a_story_that_nobody_can_move_in_at_first_is_read_once_somebody_can() -> None:
    asked, locked_up, *_, out, later = play("sleeper.z5", "bob", "ann", "look", "sing", "north", "north")
    assert (asked.location, locked_up.location, locked_up.inventory) == (None, None, None)
    assert [place(out), place(later)] == [(6, "The Deck"), (7, "The Garden")]
    assert (carried(later), later.score, later.max_score) == ([], 0, 7)


def test_what_was_learned_in_play_is_known_where_it_was_saved_and_not_when_it_begins_anew() -> None:
    with JerichoInterface(STORIES / "sleeper.z5") as game, JerichoInterface(STORIES / "sleeper.z5") as other:
        for command in ON_THE_DECK:
            game.step(command)
        saved = SavedState.unpacked(game.save().packed())
        other.restore(saved)
        for command in ("wait", "north", "south"):
            assert other.step(command) == game.step(command)
        opening = game.reset(1)
        assert opening.location is None
        assert [game.step(each) for each in ON_THE_DECK] == play("sleeper.z5", *ON_THE_DECK)


def test_a_changed_body_is_the_player_again_and_so_is_the_old_one() -> None:
    *_, taken, moth, away, back = play("sleeper.z5", *ON_THE_DECK, "north", "take", "swap", "south", "swap")
    assert (place(taken), carried(taken)) == ((7, "The Garden"), ["coin"])
    assert (place(moth), carried(moth)) == ((7, "The Garden"), [])
    assert place(away) == (6, "The Deck")
    assert (place(back), carried(back)) == ((7, "The Garden"), ["coin"])


def test_the_location_of_who_sits_in_a_vehicle_is_the_room_around_it() -> None:
    *_, seated, _, driven = play("sleeper.z5", *ON_THE_DECK, "enter", "look", "north")
    assert [place(seated), place(driven)] == [(6, "The Deck"), (7, "The Garden")]
    assert "(in the cart)" not in str(driven.location)


def test_a_score_that_no_global_keeps_is_asked_for_and_costs_no_turn() -> None:
    *_, before, taken, told, waited = play("sleeper.z5", *ON_THE_DECK, "north", "take", "score", "wait")
    assert [(each.score, each.max_score) for each in (before, taken, waited)] == [(0, 7), (3, 7), (3, 7)]
    assert told.text == "You have 3 of 7 points."


def test_a_room_without_a_name_keeps_the_heading_that_was_printed_in_it() -> None:
    *_, entered, waited = play("sleeper.z5", *ON_THE_DECK, "wait")
    assert place(entered) == place(waited) == (6, "The Deck")


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("sign", "\u201cHalt\u201d \u2014 the miller\u2019s c\u0153ur, says a sign\u2026"),
        ("snow", "\u2603??\xe9"),
        ("compose", "\u2019-u"),
        ("café", "You drink it."),
        ("drink CAFÉ", "Well."),
    ],
)
def test_characters_beyond_latin_1_are_printed_and_read(command: str, text: str) -> None:
    assert play("press.z5", command)[0].text == f"{text}\n\nOrder?"


def test_a_restored_state_prints_what_it_would_have_printed_without_what_was_tried_in_between() -> None:
    commands = ("look", "list", "narrow", "list", "mute", "list", "speak", "sign", "wide", "list")
    plain = play("press.z5", *commands)
    with JerichoInterface(STORIES / "press.z5") as game:
        for command, expected in zip(commands, plain, strict=True):
            before = game.save()
            for tried in ("list", "narrow", "mute", "list", "speak", "wide", "sign"):
                game.step(tried)
            game.restore(before)
            assert game.step(command).text == expected.text


def names_in_sight(observation: Observation) -> list[str]:
    return [thing.name for thing in observation.visible or ()]


def seen(observation: Observation) -> list[object]:
    """The names of the room, of the things carried and of the things visible."""
    things = (observation.inventory, observation.visible)
    names = [None if row is None else [each.name for each in row] for row in things]
    return [observation.location and observation.location.name, *names]


def test_a_room_without_exits_is_known_at_the_opening_where_the_library_is() -> None:
    with JerichoInterface(STORIES / "cell.z5") as game:
        things = [
            "pebble",
            "chair",
            "box",
            "coin",
            "stone",
            "clump of moss",
            "fern",
            "damp rag",
            "rusty nail",
            "grey dust",
        ]
        assert seen(game.observation) == ["Narrow Cell", [], things]
    with JerichoInterface(STORIES / "locked.z5") as game:
        assert seen(game.observation) == [None, None, None]


def test_a_room_that_is_left_in_another_way_is_known_after_that_too() -> None:
    *_, garden, cell = play("locked.z5", "take", "push", "north")
    assert seen(garden) == ["Green Garden", ["key"], ["rose"]]
    assert seen(cell) == ["Narrow Cell", ["key"], ["stone"]]


def test_a_thing_without_a_name_is_named_by_the_words_that_the_story_has_printed_so_far() -> None:
    with JerichoInterface(STORIES / "cell.z5") as game:
        start = game.save()
        assert "green/fern" in names_in_sight(game.step("examine fern"))
        game.restore(start)
        assert "fern" in names_in_sight(game.step("wait"))
        game.step("examine fern")
        assert "fern" in names_in_sight(game.reset(2))


def test_what_is_in_an_open_thing_that_is_carried_is_visible() -> None:
    taken, closed = play("cell.z5", "take box", "close box")
    assert [thing.name for thing in taken.visible or ()][-2:] == ["grey dust", "coin"]
    assert closed.carried == taken.carried
    assert [thing.name for thing in closed.visible or ()][-1] == "grey dust"


def test_the_dark_is_a_known_room_in_which_nothing_is_visible_even_from_a_vehicle() -> None:
    *_, steered, left = play("cell.z5", "push stone", "enter cart", "north", "out")
    assert (seen(steered), steered.inside and steered.inside.name) == (["Low Cave", [], []], "cart")
    assert (seen(left), left.inside) == (["Low Cave", [], []], None)


@pytest.mark.parametrize(
    ("commands", "name"),
    [
        (("east",), "Loom"),
        (("east", "pull thread", "look"), "Spindle Chamber"),
        (("east", "pull thread", "look", "wait"), "Spindle Chamber"),
        (("east", "south"), "Old Hall"),
        (("east", "take thread", "south"), "Threaded Hall"),
        (("east", "take thread", "south", "drop thread", "look"), "Old Hall"),
    ],
)
def test_the_printed_name_of_a_room_is_its_name(commands: tuple[str, ...], name: str) -> None:
    last = play("cell.z5", "push stone", *commands)[-1]
    assert last.location is not None
    assert last.location.name == name
