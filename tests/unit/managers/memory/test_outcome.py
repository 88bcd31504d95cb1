"""Which turns are worth a question about memories, and when it is asked."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from managers.memory.outcome import MOST_REMEMBERED, NewsLedger
from managers.simple_memory_manager import ZMachineContext
from session.errors import LanguageModelUnavailable, StoreError
from session.memory import Memory
from session.values import Observation
from tests.fixtures.dye_works import LOFT, MORDANT, VATS
from tests.fixtures.held_stores import held
from tests.unit.managers.memory_parts import LONG, MemoryPlay, learned, memory, play_at_the_vats, silent

CANT = "You can't reach that."
CARRIED: dict[str, Any] = {"inventory": (MORDANT,)}
SEEN: dict[str, Any] = {"visible": (MORDANT,)}
IN_THE_LOFT: dict[str, Any] = {"location": LOFT}


@pytest.fixture
def play(tmp_path: Path) -> MemoryPlay:
    return play_at_the_vats(tmp_path)


def is_news(play: MemoryPlay, action: str, text: str = "Time passes.", **after: Any) -> bool:
    """The turn was worth a question."""
    play.turn(action, text, **after)
    play.manager.end()
    asked = bool(play.llm.calls)
    play.llm.calls.clear()
    return asked


def visit_again(play: MemoryPlay, text: str) -> None:
    """The next episode begins at the vats."""
    play.begin(play.state.episode + 1, Observation(text, VATS, (), (), score=0, world_hash="0"))


def delete_memories(workdir: Path) -> None:
    """A person deleted all memories from the file, a minute ago."""
    file = workdir / "Memories.md"
    file.write_text(file.read_text().split("**[")[0])
    os.utime(file, (time.time() - 60,) * 2)


@dataclass(frozen=True)
class Turn:
    """A turn, and whether it is news."""

    action: str
    text: str
    after: dict[str, Any]
    is_news: bool


def news(action: str, text: str = "Time passes.", **after: Any) -> Turn:
    return Turn(action, text, after, is_news=True)


def known(action: str, text: str = "Time passes.", **after: Any) -> Turn:
    return Turn(action, text, after, is_news=False)


BACK = None
"""Sets the story back to the first turn of the scenario, which is not a move."""

SCENARIOS: dict[str, Sequence[Turn | None]] = {
    "a plain move is no news": [known("wait"), known("up", "Loft", **IN_THE_LOFT)],
    "a move with points is": [known("wait"), news("up", "Loft", score=5, **IN_THE_LOFT)],
    "a walk for as many points as one of which nothing was remembered is no news": [
        news("up", "Loft", score=5, **IN_THE_LOFT),
        known("down", "Vats", score=10, location=VATS),
        news("up", "Loft", score=12, **IN_THE_LOFT),
    ],
    "a move with a death is": [known("wait"), news("up", "Loft", died=True, **IN_THE_LOFT)],
    "a walk is no news the second time, whatever the text says": [
        news("enter chute", "Loft", **IN_THE_LOFT),
        BACK,
        known("enter chute", "Loft. A new thing lies here.", **IN_THE_LOFT),
    ],
    "a refusal is news once at each place": [
        news("open grate", CANT),
        known("open grate", CANT),
        news("open grate", "It does not budge, and isn't about to."),
        news("enter chute", "Loft", **IN_THE_LOFT),
        news("wait"),  # a first visit
        news("open grate", CANT),
    ],
    "a direction that leads nowhere is left to the map": [
        known("east", "You slide back down; it is impossible."),
        news("east", "The grate opens.", world_hash="1", **IN_THE_LOFT),
    ],
    "by which words a thing was picked up does not matter": [
        news("take jars", "You pick one.", **CARRIED),
        BACK,
        known("get jar", "You pick one.", **CARRIED),
        BACK,
        known("read jar", "(first taking the jar)\nYou pick one.\n\nIt says: red.", **CARRIED),
        news("drop jar", "It breaks.", inventory=()),
    ],
    "what was done on this visit cannot be done again": [
        news("open sluice", "Done.", world_hash="1", **SEEN),
        known("open sluice", "It's already open."),
    ],
    "looking about is no news": [
        known("look", f"Blue Vats\n{LONG}"),
        news("look", f"Blue Vats\n{LONG}", **SEEN),
    ],
    "what happens by itself is news once, whatever was typed meanwhile": [
        news("touch shadow", f"It flees.\n\n{LONG}"),
        news("touch shadow", "It carries you off.", **IN_THE_LOFT),
        BACK,
        known("wait", f"Time passes.\n\n{LONG}"),
        known("wait", "It carries you off.", **IN_THE_LOFT),
        BACK,
        news("wait", f"Time passes.\n\nA gull comes. {LONG.upper()[:60]} And it brings a crate of apples."),
    ],
    "what others say after the answer is news only if it is long and new": [
        news("take beam", f"{CANT}\n\nThe man is lost in thoughts."),
        known("take beam", f"{CANT}\n\nA sound like wailing is heard."),
        news("take beam", f"{CANT}\n\n{LONG}"),
        known("take beam", f"{CANT}\n\n{LONG} The man sighs."),
    ],
    "what only a clock has changed is no news": [
        known("z", "Time passes.", world_hash="1"),
        news("z", "Time passes.", **SEEN),
        news("press button", "Click.", world_hash="2"),
        known("examine desk", "It is well used.", world_hash="3"),
    ],
}


def check(play: MemoryPlay, turns: Sequence[Turn | None]) -> None:
    there = play.now
    for turn in turns:
        if turn is BACK:
            play.now = there
        else:
            assert is_news(play, turn.action, turn.text, **turn.after) is turn.is_news, turn


@pytest.mark.parametrize("turns", SCENARIOS.values(), ids=SCENARIOS)
def test_what_is_news(tmp_path: Path, turns: Sequence[Turn | None]) -> None:
    check(play_at_the_vats(tmp_path), turns)


FAILS = memory("No way on", category="FAILURE", text="`up` is barred.")
SUCCESS = [news("up", "Loft", **IN_THE_LOFT), BACK, known("up", "Loft", **IN_THE_LOFT)]
CHANTS = [known("hum", "You hum.", score=5), news("hum", "You hum.", score=7)]


@pytest.mark.parametrize(
    ("remembered", "turns"),
    [
        (memory("Chant", text="To `hum` after it gave +5 points."), CHANTS),
        (memory("Chant", score_change=5, text="`hum` wins points."), CHANTS),
        (FAILS, SUCCESS),
        (replace(FAILS, text="The way 'up' is barred."), SUCCESS),
        (replace(FAILS, text="Do not fill it up."), [known("up", "Loft", **IN_THE_LOFT)]),
        (replace(FAILS, category="NOTE"), [known("up", "Loft", **IN_THE_LOFT)]),
        (
            memory("Fights", text="`attack troll`, again and again."),
            [
                known("attack troll", "He is stunned.", fights=True, world_hash="1"),
                known("attack troll", f"You miss. {LONG}", fights=True, world_hash="2"),
                news("kick troll", "You can't.", fights=True),
                news("attack troll", "He strikes.", fights=True, died=True),
            ],
        ),
    ],
    ids=[
        *("points in its text", "points in its figures", "success", "success of a quoted way"),
        *("no command in it", "no failure", "blows of a fight until somebody dies"),
    ],
)
def test_what_is_news_after_a_memory(play: MemoryPlay, remembered: Memory, turns: Sequence[Turn | None]) -> None:
    play.manager.add_memory(VATS.num, VATS.name, remembered)
    check(play, turns)


@pytest.mark.parametrize(
    "turn",
    [
        news("dip banner", "Blue!", score=5),
        news("drink dye", "You die.", died=True),
        news("take jar", "Taken.", **CARRIED),
        news("open sluice", "Done.", world_hash="1"),
        news("read plaque", LONG),
        news("take beam", CANT),
        news("up", f"A locked hatch stops you. {LONG}"),
    ],
    ids=lambda turn: turn.action,
)
def test_effects_and_failures_are_news_once_points_and_deaths_until_they_are_remembered(
    tmp_path: Path, turn: Turn
) -> None:
    always = bool(turn.after.get("score") or turn.after.get("died"))
    check(play_at_the_vats(tmp_path), [turn, BACK, replace(turn, is_news=always)])


@pytest.mark.parametrize(
    ("turn", "action", "after"),
    [
        ({}, "read writing", {"score": 5}),
        ({"turn": 3}, "up", {"score": 5, **IN_THE_LOFT}),
        ({"turn": 3}, "eat", {"died": True}),
    ],
)
def test_points_and_deaths_that_a_memory_tells_are_no_news_until_it_goes(
    tmp_path: Path, turn: dict[str, Any], action: str, after: dict[str, Any]
) -> None:
    play = play_at_the_vats(tmp_path, learned("Chant here", **turn))
    there = replace(play.now, text="Blue Vats")
    assert is_news(play, action, "You hum. A gull cries.", **after)
    for episode in (2, 3):
        play.begin(episode, there)
        assert not is_news(play, action, "You hum. It is late.", **after)
    delete_memories(tmp_path)
    play.begin(4, there)
    assert is_news(play, action, "You hum. It rains.", **after)


def test_points_are_told_by_the_memories_of_the_same_question_or_by_those_that_stood(tmp_path: Path) -> None:
    play = play_at_the_vats(tmp_path, learned("Troll falls to blows", turn=3))
    there = play.now
    play.turn("attack troll", "He falls.", **SEEN)
    for way, score in (("up", 5), ("down", 7)):
        assert is_news(play, way, "Loft", score=score, **IN_THE_LOFT)
        play.now = there
        assert not is_news(play, way, "Loft", score=score, **IN_THE_LOFT)
        play.now = there
    play.manager.invalidate_memory(VATS.num, "Troll falls to blows", "it was the dyer")
    assert is_news(play, "up", "Loft", score=5, **IN_THE_LOFT)


def test_one_command_that_the_parser_did_not_understand_is_worth_no_question_but_two_are(play: MemoryPlay) -> None:
    play.now = replace(play.now, moves=7)
    assert not is_news(play, "examine vial", "You can't see any such thing.", moves=7)
    assert is_news(play, "open vial", "You can't open it.", moves=8)
    play.turn("examine jar", "You can't see any such thing.", moves=8)
    assert is_news(play, "lift rope", "You can't see any such thing.", moves=8)


def test_a_room_that_was_only_walked_through_is_no_news_whatever_lies_there(tmp_path: Path) -> None:
    play = MemoryPlay(tmp_path, silent)
    play.begin(1, Observation(f"Blue Vats\nA jar of mordant. {LONG}", VATS, (), (MORDANT,), score=0))
    assert not is_news(play, "up", "Loft", location=LOFT, visible=())


@pytest.mark.parametrize("sight", ["Blue Vats", "Blue Vats. The banner is gone."])
def test_a_first_visit_is_news_unless_the_sight_or_what_spawns_is_known(play: MemoryPlay, sight: str) -> None:
    visit_again(play, sight)
    assert is_news(play, "wait") is (sight != "Blue Vats")
    play.manager.add_memory(VATS.num, VATS.name, memory("Banner hangs here", "core"))
    visit_again(play, "Another sight.")
    assert not is_news(play, "wait")


@pytest.mark.parametrize("end", [" The man comes with you.", ""])
def test_a_room_visited_again_is_no_news_where_little_of_its_text_is_new(tmp_path: Path, end: str) -> None:
    play = play_at_the_vats(tmp_path, arrival=f"{LONG} The man follows you.")
    visit_again(play, f"{LONG}{end}")
    assert not is_news(play, "wait")
    visit_again(play, f"It is dark.{end}")
    assert is_news(play, "wait")


def test_what_was_considered_is_known_to_a_later_run_until_a_person_deletes_its_memory(tmp_path: Path) -> None:
    workdir = tmp_path / "not there yet"
    assert is_news(play_at_the_vats(workdir, learned("Beam is too high")), "take beam", CANT)
    assert not is_news(play_at_the_vats(workdir), "take beam", CANT)
    delete_memories(workdir)
    assert is_news(play_at_the_vats(workdir), "take beam", CANT)
    assert not is_news(play_at_the_vats(workdir), "take beam", CANT)


def test_news_that_no_model_has_answered_stay_news(tmp_path: Path) -> None:
    play = MemoryPlay(tmp_path, [LanguageModelUnavailable("no server"), {"memories": []}])
    play.manager.llm_client = None
    assert not is_news(play, "take beam", CANT)
    play.manager.llm_client = play.llm
    assert is_news(play, "take beam", CANT)
    assert is_news(play, "take beam", CANT)


@pytest.mark.parametrize(
    ("after", "is_asked"), [((MORDANT.name,), False), ((), True), ((MORDANT.name, "grey banner"), True)]
)
def test_what_is_carried_as_before_is_no_news(tmp_path: Path, after: tuple[str, ...], *, is_asked: bool) -> None:
    play = MemoryPlay(tmp_path, [learned()])
    context: ZMachineContext = {"inventory_before": (MORDANT.name,), "inventory_after": after}
    play.manager.record_action_outcome(31, "Blue Vats", "shake jar", "It sloshes.", context)
    assert bool(play.llm.calls) is is_asked


class TestLedger:
    def test_what_cannot_be_noted_is_known_to_this_run_at_least_and_one_warning(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, silent)
        (tmp_path / "memory_news.txt").mkdir()
        with capture_logs() as logs:
            assert is_news(play, "take beam", CANT)
            assert is_news(play, "take vat", "You can't lift it.")
            assert not is_news(play, "take beam", CANT)
        assert [entry["event"] for entry in logs if entry["log_level"] == "warning"] == [
            "what was considered may be considered again in the next run"
        ]

    def test_a_pipe_of_that_name_is_an_error_and_does_not_wait(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "news.txt")
        with pytest.raises(StoreError, match="not a regular file"):
            NewsLedger(tmp_path / "news.txt", print)

    def test_the_ledger_forgets_the_oldest_and_never_grows_without_end(self, tmp_path: Path) -> None:
        path = tmp_path / "memory_news.txt"
        path.write_text("".join(f"{number:016x}\n" for number in range(2 * MOST_REMEMBERED + 1)))
        NewsLedger(path, print)
        assert len(path.read_text().split()) == MOST_REMEMBERED
        assert path.read_text().endswith(f"{2 * MOST_REMEMBERED:016x}\n")

    def test_several_visits_are_written_down_by_one_commit_in_the_same_keys_each_time(self, tmp_path: Path) -> None:
        """A run of another version knows the news by the same keys."""
        play = MemoryPlay(tmp_path, silent)
        held(tmp_path, play.manager)
        for number, (action, text) in enumerate([("stir vat", "It swirls."), ("pull beam", "You can't.")], start=1):
            play.turn(action, text, world_hash=str(number))
            play.manager.consider()
        assert not (tmp_path / "memory_news.txt").exists()
        play.manager.commit()
        assert (tmp_path / "memory_news.txt").read_text().split() == [
            "bf989b26882c3c64",
            "e761a9b593c7a632",
            "a7a5de7d0df3735f",
        ]


class TestOneQuestionAVisit:
    def test_the_news_of_a_visit_are_considered_together_and_once_when_the_player_leaves(
        self, play: MemoryPlay
    ) -> None:
        play.turn("take jar", "Taken.", inventory=(MORDANT,))
        for _ in range(2):
            play.turn("take beam", "You can't.")
        assert play.prompts == []
        play.turn("up", "Loft", location=LOFT)
        (prompt,) = play.prompts
        told = re.findall(r"^Turn (\d+): (.*) \(", prompt.split("WHAT IS NEW")[1], re.MULTILINE)
        assert told == [("3", "take jar"), ("4", "take beam")]

    @pytest.mark.parametrize("after", [{"died": True}, {"ending": "lost"}, {"location": None}])
    def test_news_do_not_wait_longer_than_a_death_or_an_ending(self, play: MemoryPlay, after: dict[str, Any]) -> None:
        play.turn("drink dye", "You can't breathe.", **after)
        assert len(play.prompts) == 1

    def test_a_stay_is_asked_about_once_however_long_it_is(self, play: MemoryPlay) -> None:
        play.turn("take jar", "Taken.", inventory=(MORDANT,))
        for _ in range(9):
            play.turn()
        play.turn("pour jar", "It is empty now.", inventory=())
        assert play.prompts == []
        play.turn("up", location=LOFT)
        assert len(play.prompts) == 1
        assert "now carries jar" in play.prompts[0]
        assert "no longer carries jar" in play.prompts[0]

    def test_a_visit_that_was_asked_about_before_its_end_is_asked_about_again_only_for_points(
        self, play: MemoryPlay
    ) -> None:
        play.turn("take jar", "Taken.", inventory=(MORDANT,))
        play.manager.consider()
        play.turn("pour jar", "It is empty now.", inventory=())
        play.turn("up", location=LOFT)
        assert len(play.prompts) == 1
        play.turn("down", location=VATS)
        play.turn("take beam", "You can't.")
        play.manager.consider()
        play.turn("dip banner", "It turns blue.", score=5)
        play.turn("up", location=LOFT)
        assert ["dip banner" in prompt.split("WHAT IS NEW")[1] for prompt in play.prompts[1:]] == [False, True]

    def test_news_of_two_locations_are_never_mixed_and_a_new_episode_loses_none(self, play: MemoryPlay) -> None:
        """Setting the story back to another turn, as a resumed run does, is not a move."""
        play.turn("take jar", "Taken.", inventory=(MORDANT,))
        play.now = replace(play.now, location=LOFT)
        play.turn("take beam", "You can't.")
        play.begin(play.state.episode + 1)
        assert [re.findall(r"^LOCATION: (.*) \(", prompt)[0] for prompt in play.prompts] == [VATS.name, LOFT.name]

    def test_every_memory_stands_where_its_turn_began_with_that_turns_figures(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, [{"memories": [learned("a", turn=3), learned("b"), learned("c", turn=99)]}])
        play.turn("north", "Blue Vats", location=VATS)
        play.turn("take jar", "Taken.", inventory=(MORDANT,))
        play.turn("dip banner", "Blue!", score=5)
        play.turn("enter chute", "Loft", location=LOFT)
        kept = play.manager.memory_cache
        assert list(kept) == [VATS.num]
        assert [(each.title, each.turns, each.score_change) for each in kept[VATS.num]] == [
            ("a", "3", 5),
            ("b", "2-4", 5),
            ("c", "2-4", 5),
        ]

    def test_the_turn_of_success_is_among_those_of_the_memory(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path, learned("Chimney lets nobody up who carries much"))
        play.now = replace(play.now, inventory=(MORDANT,))
        play.turn("up", "You can't get up there with what you're carrying.")
        play.turn("drop jar", "Dropped.", inventory=())
        play.turn("up", "Loft", location=LOFT)
        (kept,) = play.manager.memory_cache[VATS.num]
        assert kept.turns == "3-5"


def test_a_thing_that_is_exchanged_for_one_of_its_name_is_not_shown_as_taken_and_gone(play: MemoryPlay) -> None:
    play.turn("take jar", inventory=(MORDANT,))
    play.turn(
        "open jar", "It holds a note.", inventory=(replace(MORDANT, num=99), replace(MORDANT, num=98, name="note"))
    )
    play.manager.end()
    (line,) = [line for line in play.prompts[-1].splitlines() if "open jar (" in line]
    assert "now carries note" in line
    assert f"now carries {MORDANT.name}" not in line
    assert "no longer carries" not in line
