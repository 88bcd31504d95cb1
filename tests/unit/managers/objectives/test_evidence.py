"""Evidence consists of the machine's facts about a turn, with turn and location."""

from __future__ import annotations

from pathlib import Path

from session.objective import Evidence
from session.values import GameObject, Observation
from tests.fixtures.dye_works import BANNER, GATE, MORDANT, VATS
from tests.unit.managers.objective_parts import ObjectivePlay


def test_points_and_belongings_count_where_the_turn_was_begun(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path)
    play.turn()
    play.turn("take all", score=5, inventory=(BANNER, MORDANT))
    play.turn("drop banner", score=3, inventory=(MORDANT, GameObject(9, "")))
    assert play.manager.evidence == (
        Evidence(2, GATE.num, "score_up", "score +5, now 5"),
        Evidence(2, GATE.num, "item_gained", "gained grey banner, jar of mordant"),
        Evidence(3, GATE.num, "score_down", "score -2, now 3"),
        Evidence(3, GATE.num, "item_gained", "gained object #9"),
        Evidence(3, GATE.num, "item_lost", "no longer carried: grey banner"),
    )


def test_a_room_is_new_once_in_an_episode(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path)
    for room in (VATS, GATE, VATS):
        play.turn("go", location=room)
    assert play.manager.evidence == (Evidence(1, VATS.num, "new_room", "first visit to Blue Vats"),)


def test_a_death_is_a_fact_of_the_turn_it_happened_in(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path)
    play.turn("drink dye", died=True)
    assert play.manager.evidence == (Evidence(1, GATE.num, "death", "the player died"),)


def test_what_the_story_does_not_tell_is_no_evidence(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path)
    play.now = Observation("?", inventory=None)
    play.turn("x", score=5, inventory=(BANNER,), location=VATS)
    assert play.manager.evidence == ()
