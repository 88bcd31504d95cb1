"""A command is parted into a verb and phrases, or left alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from session.commands import commands_of, only_confirms, read_command, steps_of, words_of
from tests.unit.zorkgpt.players.dye_works import LOOM, vocabulary


def test_prepositions_part_phrases_unless_they_name_a_thing_and_articles_are_left_out() -> None:
    command = read_command("Dip the grey BANNER in a mordant.", vocabulary())
    assert command is not None
    assert command.words == ("dip", "the", "grey", "banner", "in", "a", "mordant")
    assert command.phrases == (("grey", "banner"), ("mordan",))
    words = vocabulary()
    command = read_command("take in basket", replace(words, objects={**words.objects, "in": (LOOM,)}))
    assert command is not None
    assert command.phrases == (("in", "basket"),)


@pytest.mark.parametrize(
    "action", ["", " . ", "take banner, loom", "north. up", "take all but loom", 'say "loom"', "who?"]
)
def test_what_is_not_one_plain_clause_is_left_alone(action: str) -> None:
    assert read_command(action, vocabulary()) is None


def test_words_of_prose_are_cut_and_hyphenated_ones_taken_apart() -> None:
    assert words_of("A dye-soaked BANNER hangs.", vocabulary()) == {"a", "dye-so", "dye", "soaked", "banner", "hangs"}


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("up. take banner, loom then wait. 7.5", ["up", "take banner, loom", "wait. 7.5"]),
        ("wait. wait then take loom", ["wait", "wait", "take loom"]),
        ("Take banner and then UP", ["Take banner", "UP"]),
        ("take banner, then dip it.", ["take banner", "dip it."]),
        ("up.north.up", ["up", "north", "up"]),
        (". up. north", ["up", "north"]),
        ("up and north", ["up", "north"]),
        ("up,north, up", ["up", "north", "up"]),
        ("go UP, and then walk north", ["go UP", "walk north"]),
        ("up and take banner", ["up", "take banner"]),
        ("take banner, loom and go north", ["take banner, loom", "go north"]),
        ("dip banner and wait", ["dip banner", "wait"]),
        ("take banner and light the lamp", ["take banner", "light the lamp"]),
        ("up and g", ["up", "g"]),
        ("guard, dip banner and go up. north", ["guard, dip banner and go up", "north"]),
        ("say hello and go up", ["say hello", "go up"]),
        *((line, [line]) for line in ("ask mrs. smith", "take banner, loom", 'light "up. north"', "up.", "", "7.5")),
        *(
            (line, [line])
            for line in (
                *("take banner and loom", "guard, dip banner", "guard, up", "guard, dip banner then go up"),
                *("light, go up", "take banner and light", "take banner and light beam", "say hello, bob"),
                *("say hello and take banner", "tell bob to go up and take banner", "dip north and up"),
                *("up, please", 'say "up, north"', "up and", "and up", "take grey and up banners"),
            )
        ),
        ("wait then", ["wait then"]),
    ],
)
def test_another_command_begins_where_a_verb_or_a_direction_follows_a_stop(line: str, commands: list[str]) -> None:
    words = vocabulary()
    words = replace(
        words,
        words=words.words | {"g"},
        verbs=words.verbs | {"go", "walk", "say"},
        mentions={**words.mentions, "light": (LOOM,), "beam": (LOOM,)},
    )
    assert commands_of(line, words) == commands


def test_a_line_is_parted_at_every_stop_where_no_vocabulary_is_known() -> None:
    assert steps_of("n. e then s;") == ["n", "e", "s"]
    assert steps_of("n, and then e and s") == ["n", "e and s"]
    assert steps_of(" . ") == []


CONFIRMED = [
    ("Taken.", "get brass lamp", True),
    ("You open the old oak door.", "open door", True),
    ("The gate is now closed.", "close gate", True),
    ("OK, chest unlocked.", "unlock chest", True),
    ("You can also see a lamp here.", "north", True),
    ("You're now holding the lamp.", "get lamp", True),
    ("You put on the old lamp.", "wear lamp", True),
    ("Time passes...", "wait", True),
    ("You open the oak door, revealing a key.", "open door", False),
    ("You can't open the oak door.", "open door", False),
    ("The oak door is locked.", "open door", False),
    ("The lamp is not here.", "take lamp", False),
    ("You unlock the chest.", "open chest", False),
    ("Dropped.", "drop lamp", True),
    ("Lamp dropped.", "drop lamp", True),
    ("You take off the lamp.", "remove lamp", True),
    ("You are not holding the lamp.", "drop lamp", False),
    ("You got one point.", "take lamp", False),
    ("You got 5.", "take lamp", False),
    ("The guard attacks you.", "attack guard", False),
    ("The guard attacked you.", "attack guard", False),
    ("You are attacked.", "attack guard", False),
    ("There is an opening here.", "open door", False),
    ("The pressure is up.", "press lamp", False),
    ("The lamp is out.", "take lamp", False),
    ("You can get out here.", "open door", False),
    ('"Take the lamp."', "give lamp", False),
    ("Is it here?", "take lamp", False),
    ("Взята.", "take lamp", False),
    ("* * *", "take lamp", False),
    ("You see the oak door.", "e", True),
    ("You walk east.", "e", False),
]


@pytest.mark.parametrize(("sentence", "command", "confirms"), CONFIRMED)
def test_a_sentence_that_has_only_words_of_the_command_and_its_things_confirms_it(
    sentence: str, command: str, confirms: bool
) -> None:
    assert only_confirms(sentence, command, {"old", "oak", "door", "brass", "lamp"}) == confirms
