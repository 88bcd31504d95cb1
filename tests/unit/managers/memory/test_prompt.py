"""What the story prints on arrival is kept without a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from session.memory import MemoryStatus
from session.values import Location, Observation
from tests.fixtures.dye_works import GATE, LOFT, VATS, section_text
from tests.unit.managers.memory_parts import LONG, MemoryPlay, memory, silent

ARRIVAL = f"You walk north.\n\nBlue Vats\n{LONG}\n\nA grey banner hangs above them."
TITLE = "Arrival at Blue Vats"


def walked(workdir: Path, arrival: str = ARRIVAL, room: Location = VATS, **options: object) -> MemoryPlay:
    """The player walked through the vats to the loft in two plain moves."""
    play = MemoryPlay(workdir, silent, **options)
    play.turn("north", arrival, location=room)
    play.turn("up", "Drying Loft\nBanners hang here.", location=LOFT)
    return play


def test_a_room_walked_through_has_a_core_memory_of_its_arrival_without_a_call(tmp_path: Path) -> None:
    play = walked(tmp_path)
    play.manager.end()
    (kept,) = play.manager.memory_cache[VATS.num]
    assert (kept.category, kept.title, kept.persistence, kept.status) == ("NOTE", TITLE, "core", "ACTIVE")
    assert kept.text == f"{LONG} A grey banner hangs above them."
    assert f"**[NOTE - CORE] {TITLE}** *(Ep1, T2)*\n{LONG}" in (tmp_path / "Memories.md").read_text(encoding="utf-8")
    assert not play.prompts


def test_the_room_of_the_opening_has_one_as_well(tmp_path: Path) -> None:
    play = MemoryPlay(tmp_path, silent)
    play.now = Observation(f"DYE WORKS\n\nDye Works Gate\n{LONG}", GATE, (), ())
    play.turn("north", ARRIVAL, location=VATS)
    assert [each.text for each in play.manager.memory_cache[GATE.num]] == [LONG]


def test_a_long_text_is_kept_in_whole_sentences_with_the_number_of_those_left_out(tmp_path: Path) -> None:
    told = " ".join(
        f"Vat number {number} is full of a blue dye that nobody has stirred for years." for number in range(9)
    )
    (kept,) = walked(tmp_path, f"Blue Vats\n{told}").manager.memory_cache[VATS.num]
    beginning, end = kept.text.split(" (2 sentences left out) ")
    assert told.startswith(f"{beginning} ")
    assert told.endswith(f" {end}"), "where a story often names what can be taken"
    assert beginning.count(".") + end.count(".") == 7


def test_what_the_story_says_of_the_game_is_no_part_of_it(tmp_path: Path) -> None:
    (kept,) = walked(tmp_path, f"Blue Vats\n{LONG}\n\n[Your score has gone up.]").manager.memory_cache[VATS.num]
    assert kept.text == LONG


@pytest.mark.parametrize("arrival", ["Blue Vats", "Blue Vats\n", "Blue Vats\n[A hint.]", "It is dark here.", ""])
def test_a_room_that_was_not_described_has_none(tmp_path: Path, arrival: str) -> None:
    assert VATS.num not in walked(tmp_path, arrival).manager.memory_cache


def test_without_synthesis_nothing_is_kept(tmp_path: Path) -> None:
    play = MemoryPlay(tmp_path, silent)
    play.manager.llm_client = None
    play.turn("north", ARRIVAL, location=VATS)
    play.turn("up", "Drying Loft\nBanners hang here.", location=LOFT)
    assert not play.manager.memory_cache


@pytest.mark.parametrize("known", [TITLE, "Banner hangs here"])
def test_what_a_person_or_a_model_has_written_of_the_start_is_enough(tmp_path: Path, known: str) -> None:
    play = MemoryPlay(tmp_path, silent)
    play.manager.add_memory(VATS.num, VATS.name, memory(known, "core"))
    play.turn("north", ARRIVAL, location=VATS)
    play.turn("up", "Drying Loft", location=LOFT)
    assert [each.title for each in play.manager.memory_cache[VATS.num]] == [known]


def test_an_arrival_that_was_withdrawn_does_not_come_back(tmp_path: Path) -> None:
    play = walked(tmp_path)
    play.manager.invalidate_memory(VATS.num, TITLE, "false")
    play.manager.reset()
    play.turn("north", ARRIVAL, location=VATS)
    play.turn("up", "Drying Loft", location=LOFT)
    assert [each.status for each in play.manager.memory_cache[VATS.num]] == [MemoryStatus.SUPERSEDED]


def test_the_player_does_not_read_the_rooms_text_twice(tmp_path: Path) -> None:
    play = walked(tmp_path)
    play.manager.add_memory(VATS.num, VATS.name, memory("Mordant first"))
    play.turn("down", "Blue Vats", location=VATS)
    told = section_text(play.manager, play.now)
    assert TITLE not in told
    assert "Mordant first" in told
    assert TITLE in play.manager.get_location_memory(VATS.num)
    assert "Drying" not in told


def test_a_room_that_is_not_described_in_this_episode_is_shown_as_it_was_on_arrival(tmp_path: Path) -> None:
    play = walked(tmp_path)
    play.begin(2, Observation("It is dark.", VATS, (), ()))
    assert f"[NOTE] {TITLE}: {LONG[:40]}" in section_text(play.manager, play.now)


def test_arrivals_get_room_after_all_other_memories(tmp_path: Path) -> None:
    play = walked(tmp_path, simple_memory={"max_tokens": 80})
    for number in range(8):
        play.manager.add_memory(VATS.num, VATS.name, memory(f"Lesson {number}", episode=0, text="x" * 40))
    assert TITLE not in play.manager.get_location_memory(VATS.num)
