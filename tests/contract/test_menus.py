"""What is seen while a story waits for a key: its screen, with the mark of a menu."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from game_interface.core.game import SavedState
from game_interface.core.jericho_interface import JerichoInterface
from session.values import Observation, Proposal, TurnRecord, Verdict
from tests.contract.test_small_stories import STORIES
from tests.contract.test_small_stories import play as play_story

MENUS = STORIES / "menus.z5"


play = partial(play_story, MENUS.name)


def marked(observation: Observation) -> list[str]:
    """The lines that have a mark."""
    lines = [line.strip() for line in observation.text.split("\n")]
    return [line.strip("[]> ") for line in lines if line.startswith((">", "["))]


def did_something(before: Observation, key: str, after: Observation) -> bool:
    return TurnRecord(1, 1, before, (Proposal(key),), (Verdict(accepted=True),), after).did_something


@pytest.mark.parametrize("menu", ["help", "bright", "small", "below"])
def test_after_each_key_the_observation_is_the_menu_with_its_mark(menu: str) -> None:
    *shown, out, look = play(menu, "n", "down", "n", "escape", "look")
    assert all(each.awaits_key for each in shown)
    assert [len(marked(each)) for each in shown] == [1, 1, 1, 1]
    first, second, third, again = (marked(each)[0] for each in shown)
    assert {first, second, third} == {"Apples", "Pears", "Plums"}
    assert again == first
    assert all(fruit in each.text for each in shown for fruit in (first, second, third))
    assert (out.text, out.awaits_key, look.text) == (look.text, False, "The Shop\nFruit lies everywhere.")


@pytest.mark.parametrize("menu", ["help", "bright", "below"])
def test_a_key_that_moves_the_mark_has_done_something_and_an_ignored_one_has_not(menu: str) -> None:
    opened, moved, ignored = play(menu, "down", "z")
    assert did_something(opened, "down", moved)
    assert not did_something(moved, "z", ignored)
    assert ignored.text == moved.text


def test_a_page_that_ignores_a_key_is_still_shown() -> None:
    _, page, ignored, back = play("help", "return", "x", "space")
    assert page.text.startswith("All about Pears.")
    assert "[Press SPACE.]" in page.text
    assert ignored.text == page.text
    assert marked(back) == ["Pears"]


def test_a_menu_is_saved_and_restored_with_its_mark() -> None:
    with JerichoInterface(MENUS) as game, JerichoInterface(MENUS) as other:
        for key in ("help", "down"):
            game.step(key)
        other.restore(SavedState.unpacked(game.save().packed()))
        for key in ("down", "up", "return", "space", "escape", "quote"):
            assert other.step(key) == game.step(key)


@pytest.mark.parametrize(
    ("key", "code"),
    [
        *(
            ("return", 13),
            ("escape", 27),
            ("space", 32),
            ("delete", 8),
            ("backspace", 8),
            ("a", 97),
            ("Z", 90),
            ("7", 55),
        ),
        *(("up", 129), ("down arrow", 130), ("cursor left", 131), ("Right", 132), ("?", 63), ("enter", 13)),
        *((f"f{number}", 132 + number) for number in range(1, 13)),
        *((f"keypad {digit}", 145 + digit) for digit in range(10)),
    ],
)
def test_every_key_that_a_story_can_wait_for_reaches_it(key: str, code: int) -> None:
    with JerichoInterface(MENUS) as game:
        game.step("codes")
        assert game.step(key).text == f"Code {code}."


def test_a_quotation_in_a_box_follows_the_text_whenever_it_is_drawn() -> None:
    first, _, second = play("quote", "look", "quote")
    assert first.text == second.text == "You read.\n\nAn apple a day\n-- Anon"


@pytest.mark.stories
@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("afflicted.z8", "General Instructions"),
        ("anchor.z8", "About the Author"),
        ("awaken.z5", "About this game"),
        ("break-in.z5", "How to Play"),
        ("curses.z5", "Commands"),
        ("inhumane.z5", "The history of Infobom"),
        ("library.z5", "Information about the game"),
        ("lostpig.z8", "How to play Interactive Fiction"),
        ("moonlit.z5", "The Opening"),
        ("snacktime.z8", "On Playing the Game"),
        ("temple.z5", "About this game"),
    ],
)
@pytest.mark.parametrize("profile", [True, False], ids=["known", "unknown"])
def test_the_help_of_a_story_is_a_menu_whose_second_entry_is_marked_after_one_key(
    name: str, entry: str, story_folder: Path, *, profile: bool
) -> None:
    if not (story_folder / name).exists():
        pytest.skip(f"{name} is not among the stories")
    with JerichoInterface(story_folder / name, use_profile=profile) as game:
        before, after = game.step("help"), game.step("n")
    assert (before.awaits_key, after.awaits_key, after.ending) == (True, True, None)
    assert [f"> {entry}" in " ".join(each.text.split()) for each in (before, after)] == [False, True]
    assert entry in before.text
    assert did_something(before, "n", after)
