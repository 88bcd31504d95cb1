"""One question about the news of several visits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from session.errors import LanguageModelUnavailable
from session.memory import Memory
from tests.fixtures.dye_works import BANNER, LOFT, MORDANT, VATS
from tests.unit.managers.memory_parts import NOTHING, MemoryPlay, learned

AT_THE_VATS = "Blue Vats\nA copper ladle hangs by the southern door."
IN_THE_LOFT = "Drying Loft\nA banner dries under the rafters."


def play_of(workdir: Path, *answers: Any, visits: int = 2, arrival: str = AT_THE_VATS, **options: object) -> MemoryPlay:
    """The player was at the vats in turns 2 and 3, in the loft from turn 4 on, with something new at each."""
    play = MemoryPlay(workdir, answers, simple_memory={"visits_in_question": visits}, **options)
    play.turn("north", arrival, location=VATS)
    play.turn("take jar", "Taken.", inventory=(MORDANT,))
    play.turn("up", IN_THE_LOFT, location=LOFT)
    play.turn("take beam", "You can't reach it.")
    return play


def kept_at(play: MemoryPlay, place: int) -> list[Memory]:
    """What a model wrote about the place."""
    every = [*play.manager.memory_cache.get(place, ()), *play.manager.ephemeral_cache.get(place, ())]
    return [memory for memory in every if not memory.is_arrival]


def test_two_visits_with_news_are_one_question(tmp_path: Path) -> None:
    play = play_of(tmp_path, NOTHING)
    assert (play.prompts, play.metrics["pending_news"]) == ([], 2)
    play.turn("down", AT_THE_VATS, location=VATS)
    (prompt,) = play.prompts
    assert prompt.startswith("LOCATION: Blue Vats (ID: 31); Drying Loft (ID: 44)\n")
    assert prompt.count("copper ladle") == 1  # the rest refers to it
    assert "- [NOTE - CORE - Location 31 - ACTIVE] Arrival at Blue Vats: (as above)" in prompt
    news = prompt.split("WHAT IS NEW HERE:\n")[1].split("\n\n")[0].splitlines()
    assert news == [
        "Turn 2 at Blue Vats (31): take jar (stayed, now carries jar of mordant)",
        "Turn 4 at Drying Loft (44): take beam (stayed)",
    ]
    assert prompt.endswith("Current visit status: Blue Vats (31): FIRST VISIT; Drying Loft (44): FIRST VISIT")
    played = prompt.split("RECENT ACTION SEQUENCE:\n")[1].split("AGENT'S REASONING:")[0]
    assert [line.split(":")[0] for line in played.splitlines() if line.startswith("Turn ")] == [
        "Turn 1 at Dye Works Gate (11)",
        "Turn 2 at Blue Vats (31)",
        "Turn 3 at Blue Vats (31)",
        "Turn 4 at Drying Loft (44)",
        "Turn 5 at Drying Loft (44)",
    ]


def test_an_arrival_memory_refers_to_its_own_text_only_if_that_has_room(tmp_path: Path) -> None:
    long = f"Blue Vats\n{'A copper ladle hangs by the southern door. ' * 99}"
    referred = set()
    for room in range(2400, 3600, 50):
        play = play_of(tmp_path / str(room), NOTHING, arrival=long, prompt_budgets={"memory": room})
        play.manager.invalidate_memory(LOFT.num, "Arrival at Drying Loft", "It is dry.")
        play.turn("down", long, location=VATS)
        arrivals, _, memories = play.prompts[-1].partition("EXISTING MEMORIES:")
        is_shown = "the story showed: Blue Vats" in arrivals
        assert ("Arrival at Blue Vats: (as above)" in memories) == is_shown, "the other arrival always has room"
        referred.add(is_shown)
    assert referred == {False, True}


def test_each_memory_is_kept_where_its_turn_was_or_at_the_location_that_it_names(tmp_path: Path) -> None:
    memories = [
        learned("Jar is loose", turn=2),
        learned("Beam is out of reach", turn=4),
        learned("Jar is needed above", turn=4, location_id=VATS.num),
        learned("Of the last visit"),
        learned("Ladle hangs by the door", "core", turn=1),
        learned("Banner dries here", "core", turn=3),
    ]
    play = play_of(tmp_path, {"memories": memories})
    play.turn("down", AT_THE_VATS, location=VATS)
    assert [(each.title, each.persistence, each.turns) for each in kept_at(play, VATS.num)] == [
        ("Jar is loose", "permanent", "2"),
        ("Jar is needed above", "permanent", "4"),
        ("Ladle hangs by the door", "core", "2"),
    ]
    assert [(each.title, each.persistence, each.turns) for each in kept_at(play, LOFT.num)] == [
        ("Beam is out of reach", "permanent", "4"),
        ("Of the last visit", "permanent", "4"),
        ("Banner dries here", "core", "4"),
    ]


def test_what_happened_at_a_place_twice_before_the_question_is_of_its_first_visit(tmp_path: Path) -> None:
    """The question comes with the second place; what the player saw first is still core."""
    play = play_of(tmp_path, {"memories": [learned("Ladle hangs by the door", "core", turn=2)]}, visits=3)
    play.turn("down", AT_THE_VATS, location=VATS)
    play.turn("dip banner", "It turns blue.", inventory=(BANNER,))
    play.turn("up", IN_THE_LOFT, location=LOFT)
    assert play.prompts == []
    play.manager.end()
    (prompt,) = play.prompts
    assert prompt.count("FIRST VISIT") == 2
    assert "Turn 6 at Blue Vats (31): dip banner" in prompt.split("WHAT IS NEW HERE:")[1]
    assert [each.persistence for each in kept_at(play, VATS.num)] == ["core"]


def test_at_the_end_the_turns_can_be_left_to_a_question_that_shows_all_of_them(tmp_path: Path) -> None:
    play = play_of(tmp_path, visits=9)
    play.manager.finish("turn_limit")
    (question,) = play.manager.questions()
    assert question.beside is not None
    assert question.beside.left_out == {1, 2, 3, 4}
    with_turns, without = question.prompt.user, question.beside.prompt.user
    assert "Turn 3 at Blue Vats (31): up\nResponse: (as above)" in with_turns
    elsewhere = r"\1(below, among all turns played)\2"
    assert without == re.sub(r"(SEQUENCE:\n).*?(\n\nAGENT'S)", elsewhere, with_turns, flags=re.DOTALL)


@pytest.mark.parametrize("after", [{"died": True}, {"ending": "lost"}])
def test_a_death_or_an_end_does_not_wait_for_another_visit(tmp_path: Path, after: dict[str, Any]) -> None:
    play = play_of(tmp_path, NOTHING, visits=9)
    play.turn("drink dye", "You can't breathe.", **after)
    (prompt,) = play.prompts
    assert "Blue Vats (ID: 31); Drying Loft (ID: 44)" in prompt


def test_the_same_news_of_a_second_visit_wait_once(tmp_path: Path) -> None:
    play = play_of(tmp_path, NOTHING, visits=9)
    play.turn("down", AT_THE_VATS, location=VATS)
    play.turn("up", IN_THE_LOFT, location=LOFT)
    play.turn("take beam", "You can't reach it.")
    play.manager.end()
    assert play.prompts[-1].split("WHAT IS NEW HERE:")[1].count("take beam") == 1


def test_what_no_model_answered_is_asked_about_again(tmp_path: Path) -> None:
    play = play_of(tmp_path, LanguageModelUnavailable("away"), NOTHING)
    play.turn("down", AT_THE_VATS, location=VATS)
    play.turn("drop jar", "Dropped.", inventory=())
    play.turn("take jar", "Taken.", inventory=(MORDANT,))
    play.turn("up", IN_THE_LOFT, location=LOFT)
    play.turn("take beam", "You can't reach it.")
    play.manager.end()
    assert play.metrics["synthesis_failures"] == 1
    news = play.prompts[-1].split("WHAT IS NEW HERE:")[1]
    assert "take jar" in news
    assert "take beam" in news


@pytest.mark.parametrize(
    "budgets", [{"history": 0}, {"memory": 1500}], ids=["the agent sees a window", "a small model"]
)
def test_where_prompts_do_not_hold_the_whole_game_each_visit_is_asked_about(
    tmp_path: Path, budgets: dict[str, int]
) -> None:
    play = play_of(tmp_path, *[NOTHING] * 2, visits=9, prompt_budgets=budgets)
    assert play.metrics["pending_news"] == 1  # the beam
