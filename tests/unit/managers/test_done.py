"""What a memory names is done if it had the same result at its place in this game."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.turn_cost import Calls
from managers.done import all_done, places_named
from session.memory import Memory
from session.values import Location
from tests.fixtures.dye_works import BANNER, LOFT, VATS
from tests.unit.managers.episode_parts import EpisodePlay


def memory(
    title: str, text: str = "", *, category: str = "SUCCESS", points: int | None = None, episode: int = 1
) -> Memory:
    return Memory(category, title, episode, "2-3", points, text or title, "permanent")


@pytest.fixture
def play(tmp_path: Path) -> EpisodePlay:
    """Three turns of the second episode: to the vats, where the banner was dipped, and a look at it."""
    play = EpisodePlay(tmp_path, episode=2)
    play.turn("east", location=VATS)
    play.turn("dip banner", score=5)
    play.turn("take banner", inventory=(BANNER,))
    play.turn("examine banner", "Blue.")
    return play


@pytest.mark.parametrize(
    ("known", "place", "turns"),
    [
        (memory("To dye: (1) dip banner in the vat", points=5), 31, [2]),
        (memory("Dyeing scores", points=5), 31, []),
        (memory("Dyeing scores", points=10), 31, []),
        (memory("Dyeing scores", "`wring banner`", points=5), 31, []),
        (memory("To dye: dip banner", points=5), 11, []),
        (memory("Take Banner along"), 31, [3]),
        (memory("examine banner: it is grey", category="NOTE"), 31, []),
        (memory("dip banner runs off", category="FAILURE"), 31, []),
        (memory("take banner and be killed", category="DANGER"), 31, []),
        (memory("The loft is dry"), 31, []),
        (memory("Go `east` to the vats"), 11, []),
        (memory("Dye", "`dip banner`, then `take banner`"), 31, [2, 3]),
        (memory("Dye", "`take banner`, then `wring banner`", episode=2), 31, [3]),
        (replace(memory("take banner", episode=2), persistence="ephemeral"), 31, []),
        (memory("The banner was dyed", episode=2), 31, []),
    ],
)
def test_a_memory_is_done_by_its_command_at_its_place_with_the_same_result(
    play: EpisodePlay, known: Memory, place: int, turns: list[int]
) -> None:
    assert [turn.turn for turn in all_done(known, place, play.state)] == turns


def test_points_stay_won_if_their_command_is_played_again_without_any(play: EpisodePlay) -> None:
    play.turn("dip banner", "Bluer.", attributes_hash="bluer")
    assert play.state.turns[-1].did_something
    assert [turn.turn for turn in all_done(memory("To dye: dip banner", points=5), 31, play.state)] == [2]


def test_a_command_of_one_word_counts_if_it_won_the_points_of_the_memory(play: EpisodePlay) -> None:
    play.turn("up", location=LOFT, score=10)
    won = memory("`up`: +5 points, leads to Banner Loft", points=5)
    assert [turn.turn for turn in all_done(won, VATS.num, play.state)] == [5]
    assert all_done(replace(won, score_change=None), VATS.num, play.state) == []
    assert all_done(won, LOFT.num, play.state) == []


def test_what_was_done_at_other_places_takes_no_time(play: EpisodePlay) -> None:
    known = memory("Dye", "`take banner`, then `wring banner`")
    play.turn("west", location=Location(11, "Gate"))
    with Calls() as before:
        all_done(known, 31, play.state)
    for number in range(50):
        play.turn(f"push button {number}", score=6 + number)
    with Calls() as after:
        all_done(known, 31, play.state)
    assert after.all == before.all


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("to L31, Location 44 and the gate (11)", [11, 31, 44]),
        ("from the Blue Vats to the drying loft", [31, 44]),
        ("take 31 coins to a Cellar", []),
        ("L99", []),
        ("from the Gate (11) to the Blue Vats, then Cellar 6", [11, 6, 31]),
        ("cellar 44, of the loft", []),
        ("a blue vatship", []),
        ("At 31: stir, from 44 look; at 11 points, at 6 turns", [31, 44]),
        ("(5) open the box, (6) wait: (11) go", []),
        ("Here (ID: 44), at the `gate` (11), #6", [6, 11, 44]),
    ],
)
def test_places_are_named_by_their_number_or_by_a_name_of_their_own(text: str, places: list[int]) -> None:
    names = {11: "Dye Works Gate", 31: "Blue Vats", 44: "Drying Loft", 5: "Cellar", 6: "Cellar"}
    assert places_named([text], names) == places
