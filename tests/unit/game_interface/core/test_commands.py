from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from game_interface.core.commands import KEYS, keypress, normalised, refusal
from game_interface.core.machine.story import Story
from game_interface.core.machine.vocabulary_reader import Dictionary
from tests.fixtures.walkthrough import get_zork1_walkthrough


@pytest.mark.parametrize(
    "command",
    [
        *("save", "SAVE", "save game", "restore", "restart", "quit", "q", "undo", "Quit."),
        *("script", "script on", "unscript", "transcript off", "recording on", "replay", "#record", "#command x"),
        *("take lamp. save", "take lamp then save", "take lamp, save", "take lamp and save", "then save"),
        *("please save", "oops save", "o quit", 'say "save"', "robot, restart", "save;look", "look? quit"),
        *("the quit", "please, the quit", "quit the game", "save my game", "now restart this story"),
        *("", "  ", "\n", "look\nsave", "look\rx", "a\0b", "\x1b", "look\x08", "\\n", "\\help", "take \\x"),
        *("日本", "/tmp/x", "../x", "a/../b"),
    ],
)
def test_what_ends_saves_or_records_the_session_and_what_harms_the_interpreter_is_refused(command: str) -> None:
    assert refusal(command)


@pytest.mark.parametrize("letters", [6, 9])
@pytest.mark.parametrize(
    "command",
    [
        *("look", "n", "again", "g", "y", "yes", "no", "oops lamp", "take lamp. go north", "say hello", "wait"),
        *("save the princess", "save girl", "restore statue to pedestal", "ask troll about script", "read script"),
        *("quit smoking", "savefoo", "say $56 to man", "punch cat_robot->desist(); on blank card", "take 1/2 cup"),
        *("scriptx", "restorx", "transcripts", "quitting", "saver", "undone"),
    ],
)
def test_play_is_not_refused(command: str, letters: int) -> None:
    assert refusal(command, letters=letters) is None


def test_neither_a_winning_command_of_zork_nor_record_is_refused_where_the_dictionary_is_short() -> None:
    commands = [*get_zork1_walkthrough(), "record", "recording", "record it", "please record"]
    assert [command for command in commands if refusal(command, letters=6)] == []


@pytest.mark.stories
def test_no_verb_of_any_story_is_refused_but_those_that_leave_or_record_the_session(story_folder: Path) -> None:
    expected = {"save", "restore", "restart", "quit", "q", "undo", "script", "unscript", "noscript", "replay"}
    for file in sorted(story_folder.glob("*.z?")):
        dictionary = Dictionary.of(Story.load(file))
        refused = {verb for verb in dictionary.verbs if refusal(verb, dictionary.letters)}
        assert refused <= expected, file.name


def test_a_command_longer_than_the_story_has_room_for_is_refused_with_both_lengths() -> None:
    reason = refusal("x" * 61, longest=60)
    assert reason is not None
    assert "61" in reason
    assert "60" in reason


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("  take   lamp\n", "take lamp"),
        ("take\tlamp", "take lamp"),
        ("“hello”", '"hello"'),
        ("don\u2019t", "don't"),
        ("café", "cafe"),
    ],
)
def test_a_command_is_put_into_plain_letters_where_that_is_possible(typed: str, read: str) -> None:
    assert normalised(typed) == read
    assert refusal(typed) is None


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("", b""),
        (" ", b" "),
        ("space", b" "),
        ("enter", b""),
        ("quit", b"q"),
        ("\\n", b""),
        ("\0", b""),
        ("é", b"e"),
        ("日", b""),
        ("return", b""),
        ("ESC", b"\x1b"),
        ("<escape>", b"\x1b"),
        ("press the space bar", b" "),
        ("delete", b"\x08"),
        ("up", b"\x81"),
        ("down arrow", b"\x82"),
        ("Left-Arrow", b"\x83"),
        ("cursor right", b"\x84"),
        ("F1", b"\x85"),
        ("f12 key", b"\x90"),
        ("keypad 5", b"\x96"),
        ("Q", b"Q"),
        ("7", b"7"),
        ("-", b"-"),
        ("<", b"<"),
    ],
)
def test_one_key_is_taken_of_a_command_where_the_story_waits_for_a_key(command: str, key: bytes) -> None:
    assert keypress(command) == key


@given(st.text(max_size=300))
def test_what_is_not_refused_is_printable_ascii_of_at_most_198_letters(command: str) -> None:
    if refusal(command) is None:
        line = normalised(command)
        assert line.isascii()
        assert line.isprintable()
        assert 0 < len(line) <= 198
        assert "\\" not in line


@given(st.text(max_size=20))
def test_a_key_is_never_one_that_the_interpreter_takes_for_itself(command: str) -> None:
    assert keypress(command) in {*KEYS.values(), *(bytes([code]) for code in range(0x20, 0x7F) if code != ord("\\"))}
