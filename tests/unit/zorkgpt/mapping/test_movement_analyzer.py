from __future__ import annotations

from dataclasses import replace

import pytest

from session.commands import Vocabulary
from session.values import GameObject, TurnRecord
from tests.unit.zorkgpt.mapping.turns import at, death, turn, walk
from zorkgpt.mapping.movement_analyzer import Attempt, MovementAnalyzer

VERSION_3_WORDS = ("d", "down", "e", "east", "in", "land", "n", "ne", "north", "northe", "up", "w", "west")
CHAIR = GameObject(9, "chair")
SHIP_WORDS = ("fore", "aft", "port", "starboard", "up", "down")


@pytest.mark.parametrize(
    ("command", "exit_"),
    [
        ("n", "north"),
        ("N", "north"),
        ("go north", "north"),
        ("Walk  to the north.", "north"),
        ("ne", "northeast"),
        ("northe", "northeast"),
        ("land", "land"),
        ("Enter  Window", "enter window"),
        ("go window", "go window"),
        ("n. e", "n. e"),
    ],
)
def test_a_command_has_one_form(command: str, exit_: str) -> None:
    assert MovementAnalyzer(VERSION_3_WORDS).exit_of(command) == exit_


@pytest.mark.parametrize(
    ("known", "exits", "unknown"),
    [((), {"nw": "northwest", "go up": "up", "aft": "aft"}, "aft"), (SHIP_WORDS, {"n": "n", "go aft": "aft"}, "n")],
    ids=["the usual ones without a dictionary", "an abbreviation that the story does not know"],
)
def test_directions_are_those_of_the_story(known: tuple[str, ...], exits: dict[str, str], unknown: str) -> None:
    movements = MovementAnalyzer(known)
    assert {word: movements.exit_of(word) for word in exits} == exits
    assert not movements.is_direction(unknown)


@pytest.mark.parametrize(
    ("phrases", "exits"),
    [
        (["north", "N", "to the north"], ("north",)),
        (["a path to the north-east", "south west"], ("northeast", "southwest")),
        (["doors east and west"], ("east", "west")),
        (["stairs leading up"], ("up",)),
        (["northwards", "a lane south-eastward", "steps upwards"], ("north", "southeast", "up")),
        (["the window's ledge", "a door", "come in", "across the land", ""], ()),
    ],
)
def test_exits_are_the_directions_in_a_models_words_and_nothing_is_invented(
    phrases: list[str], exits: tuple[str, ...]
) -> None:
    assert MovementAnalyzer().exits_named(phrases) == exits
    assert MovementAnalyzer(SHIP_WORDS).exits_named(["a hatch aft", "wind from the north"]) == ("aft",)


def test_words_such_as_northward_name_their_direction_in_prose() -> None:
    text = "Northward the saltings begin; a lane runs south-eastwards, and stairs wind downwards."
    assert MovementAnalyzer().bearings_named(text) == ("north", "southeast")
    assert MovementAnalyzer(VERSION_3_WORDS).bearings_named("Westward is the sea.") == ("west",)
    assert MovementAnalyzer().ways_named(text) == ("down",)


@pytest.mark.parametrize(
    ("text", "ways"),
    [
        ("The kitchen is north, a stair goes up to the landing, and the yard is back out to the south.", ("up",)),
        ("Stone steps go down to the cellar.", ("down",)),
        ("There are stairs up and down here.", ("up", "down")),
        ("A ladder leads downwards; the only way out\nis shut, and a tunnel climbs upward.", ("down", "out", "up")),
        ("The hatch is the way in. A door leads out to the yard.", ("in", "out")),
        ("A path leads up to the north-east. The way out is west.", ()),
        ("Stairs lead down and to the south.", ("down",)),
        ("You look up. The lamp hangs in a niche, and you make out a table.", ()),
        (
            "The ladder is short: you are not likely to be able to climb out. A stair goes up, but you can't go down.",
            ("up",),
        ),
        ("A chill goes up your spine. Every step comes up with a kiss. You are in a hall.", ()),
    ],
)
def test_ways_up_down_in_and_out_are_found_in_prose_that_names_a_way(text: str, ways: tuple[str, ...]) -> None:
    assert MovementAnalyzer().ways_named(text) == ways
    assert MovementAnalyzer(("north",)).ways_named(text) == ()


@pytest.mark.parametrize(
    ("text", "ways"),
    [
        ("A stair provides access to the loft, while a massive door, set in the southern wall, is shut.", ("south",)),
        (
            "A northern archway and the south-western gate are open; a westerly path is not.",
            ("north", "southwest", "west"),
        ),
        (
            "A small door is on the north side, and the\nnorthernmost of the doorways. A passage at its east end.",
            ("north", "east"),
        ),
        ("The eastern wooden cellar door is locked.", ("east",)),
        ("The southern wall is covered with paintings. An eastern window shows northern lights.", ()),
        ("A statue is in the south-eastern corner of the hall, and a path leads to the north side of the house.", ()),
    ],
)
def test_points_of_the_compass_that_describe_a_way_or_where_it_is_are_found_in_prose(
    text: str, ways: tuple[str, ...]
) -> None:
    assert MovementAnalyzer().ways_named(text) == ways
    assert not {*MovementAnalyzer().bearings_named(text)} - {*ways}


def test_a_wall_that_has_a_point_of_the_compass_is_no_way() -> None:
    text = (
        "A desk runs along the south wall, and the north window shows the east and west walls; the street is southeast."
    )
    assert MovementAnalyzer().bearings_named(text) == ("east", "southeast")
    here = "The door is to the northwest of here, the drive lies south of you. A wood is west of the house."
    assert MovementAnalyzer().bearings_named(here) == ("northwest", "south")


def test_a_move_is_a_change_of_location_id_whatever_the_command() -> None:
    movements = MovementAnalyzer()
    assert movements.attempt(walk(1, "n", 2)) == Attempt(1, "north", 2, 0.8)
    assert movements.attempt(walk(1, "climb tree", 2)) == Attempt(1, "climb tree", 2, 0.4)
    assert movements.attempt(walk(1, "pray", 2)) == Attempt(1, "pray", 2, 0.4)
    assert movements.attempt(walk(1, "n", 1)) == Attempt(1, "north", None, 0.8)
    assert movements.attempt(turn(replace(at(1), inside=CHAIR), "n", at(2))) == Attempt(1, "north", 2, 0.8)
    won = turn(at(1), "west", replace(at(2), ending="won"))
    assert movements.attempt(won) == Attempt(1, "west", 2, 0.8)


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(death(1, "n", 2), id="a resurrection is not a way"),
        pytest.param(turn(at(1), "n", replace(at(1), refusal="not sent")), id="never reached the story"),
        pytest.param(turn(replace(at(1), inside=CHAIR), "n", at(1)), id="perhaps only because of the chair"),
        pytest.param(turn(replace(at(1), ending="won"), "n", at(2)), id="the story was over"),
        pytest.param(turn(at(None), "n", at(2)), id="from nobody knows where"),
        pytest.param(turn(at(1), "n", at(None)), id="to nobody knows where"),
        pytest.param(turn(at(1, moves=9), "undo", at(2, moves=8)), id="the clock ran back"),
        pytest.param(turn(at(1, moves=9), "yes", at(2, moves=0)), id="a restart was confirmed"),
        pytest.param(turn(at(1), "Restore", at(2)), id="a restore, with no clock to tell"),
        pytest.param(walk(1, "again", 2), id="again, of nothing"),
        pytest.param(walk(1, " . ", 2), id="no command at all"),
        pytest.param(walk(1, "down. south", 2), id="two commands in a line"),
        pytest.param(walk(1, "wait. wait then look", 2), id="three commands in a line"),
        pytest.param(walk(1, "n and n", 2), id="two commands joined by a word"),
        pytest.param(walk(1, "n,n", 2), id="two commands joined by a comma"),
        pytest.param(walk(1, "charon, go north", 2), id="an order"),
        pytest.param(walk(1, "z", 2), id="the boat drifted"),
        pytest.param(walk(1, "Examine shadows", 2), id="the dream was over"),
        pytest.param(walk(1, "get can", 2), id="what was taken is held then"),
        pytest.param(walk(1, "take the get well card", 2), id="taken, by its whole name"),
        pytest.param(walk(1, "read brochure", 2), id="a page that was read"),
        pytest.param(walk(1, "blow it", 2), id="a pronoun, which need not mean the same thing the next time"),
        pytest.param(walk(1, "click on more", 2), id="a page on a screen"),
        pytest.param(walk(1, "look through telescope", 2), id="a vision"),
        pytest.param(walk(1, "Yes.", 2), id="a question that was answered"),
    ],
)
def test_what_was_not_walked_is_no_attempt(shown: TurnRecord) -> None:
    assert MovementAnalyzer().attempt(shown) is None


def test_a_word_said_to_a_thing_is_one_command_and_a_way_if_the_dictionary_begins_no_other_there() -> None:
    words = Vocabulary(9, frozenset({"mosaic", "lagach", "n", "e"}), directions=frozenset({"n", "e"}))
    movements = MovementAnalyzer(words.directions, words)
    assert movements.attempt(walk(1, "Mosaic, lagach", 2)) == Attempt(1, "mosaic, lagach", 2, 0.4)
    assert movements.attempt(walk(1, "n,e", 2)) is None


@pytest.mark.parametrize(
    "command", ["get in boat", "get off chair", "take off", "enter lake", "touch mirror", "clicker"]
)
def test_other_commands_that_moved_the_player_are_exits(command: str) -> None:
    assert MovementAnalyzer().attempt(walk(1, command, 2)) == Attempt(1, command, 2, 0.4)


def test_a_command_with_a_pronoun_is_shown_on_the_map_but_not_walked() -> None:
    movements = MovementAnalyzer()
    assert movements.carrying(walk(1, "blow it", 2)) == "blow it"
    assert movements.attempt(walk(1, "blow whistle", 2)) is not None


def test_again_means_the_command_before_if_the_story_carried_both_out() -> None:
    movements, went = MovementAnalyzer(), walk(1, "go up", 2)
    understood = movements.understood(walk(2, "G", 3), [walk(0, "n", 1), went])
    assert (understood.action, understood.typed, understood.command_text) == ("go up", "G", "go up (typed: G)")
    assert movements.understood(walk(3, "again", 4), [understood]).action == "go up"
    unsent = turn(at(2), "save", replace(at(2), refusal="not sent"))
    pressed = turn(replace(at(2), awaits_key=True), "north", at(2))
    assert movements.understood(walk(2, "g", 3), [went, unsent, pressed]).action == "go up"
    waited = turn(at(2, moves=1), "z", at(2, moves=2))
    assert movements.understood(turn(at(2, moves=2), "g", at(2, moves=3)), [waited]).action == "z", "time passed"


@pytest.mark.parametrize(
    ("again", "earlier"),
    [
        pytest.param(walk(1, "g", 2), [], id="of nothing"),
        pytest.param(turn(at(2, moves=1), "g", at(2, moves=1)), [walk(1, "n", 2)], id="not carried out"),
        pytest.param(
            walk(2, "g", 3), [turn(at(2, moves=1), "dance", at(2, moves=1))], id="of what was not carried out"
        ),
        pytest.param(walk(2, "g", 3), [walk(1, "undo", 2)], id="after the clock was set back"),
        pytest.param(
            walk(2, "g", 3),
            [turn(replace(at(1), text="Which key?"), "brass", at(2))],
            id="after an answer to a question",
        ),
        pytest.param(replace(walk(2, "g", 3), before=replace(at(2), awaits_key=True)), [walk(1, "n", 2)], id="a key"),
        pytest.param(walk(2, "go", 3), [walk(1, "n", 2)], id="another command"),
    ],
)
def test_what_again_means_stays_open_if_it_is_uncertain(again: TurnRecord, earlier: list[TurnRecord]) -> None:
    assert MovementAnalyzer().understood(again, earlier) == again


def test_again_is_a_word_of_the_story_or_a_command_like_any_other() -> None:
    movements = MovementAnalyzer((), Vocabulary(9, frozenset({"again", "north"})))
    assert movements.understood(walk(2, "g", 3), [walk(1, "north", 2)]).action == "g"
    assert movements.understood(walk(2, "again", 3), [walk(1, "north", 2)]).action == "north"
