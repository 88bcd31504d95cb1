"""What the prompt for memories of a visit contains, and how the answer is used."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from managers.map_manager import MapManager
from managers.memory.outcome import ActionOutcome, ZMachineContext, signals_of
from managers.memory.prompt import LONGEST_QUOTE, SHOWN_ABOVE, existing_memories, memory_of
from managers.memory.synthesis import VisitSynthesis
from managers.simple_memory_manager import SimpleMemoryManager
from session.errors import LanguageModelUnavailable
from session.text import TokenCounter
from session.values import GameObject, Location, Observation, Proposal, TurnRecord, Verdict
from tests.fixtures.dye_works import BANNER, GATE, LOFT, MORDANT, VATS
from tests.fixtures.scripted_llm import Reply
from tests.unit.managers.memory_parts import (
    LONG,
    NOTHING,
    MemoryPlay,
    learned,
    memory,
    outcome,
    play_at_the_vats,
    silent,
    titles,
)
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer
from zorkgpt.prompts.loader import fill_prompt

UNCHANGED, HANDLED = ("Nothing visible", "permanent"), ("Inventory changed", "ephemeral")
MARK = len(" […]")
OTHERS = (
    "MEMORIES OF OTHER LOCATIONS seen in this episode: tentative, naming one above, or of a place in plan, objectives "
    "or notes:"
)


@pytest.fixture
def play(tmp_path: Path) -> MemoryPlay:
    return MemoryPlay(tmp_path, silent)


def asked(play: MemoryPlay, title: str = "", end: str = "\n\n") -> str:
    """The latest prompt once the visit has ended, or its part between a title and an end."""
    play.manager.end()
    prompt = play.prompts[-1]
    return prompt.split(f"{title}\n")[1].split(end)[0].strip() if title else prompt


def longest(letter: str, text: str) -> int:
    """The length of the longest run of the letter, on both sides of a cut."""
    return max(map(len, re.findall(f"{letter}+", text.replace(" […]", ""))), default=0)


def answered(workdir: Path, answer: Reply, known: tuple[str, ...] = ()) -> MemoryPlay:
    """The model gave this answer to a failure at the vats, where memories of these titles were known."""
    play = MemoryPlay(workdir, [answer])
    for title in known:
        play.manager.add_memory(31, "Blue Vats", memory(title))
    play.manager.record_action_outcome(31, "Blue Vats", "take beam", "You can't.", {})
    return play


def play_with_a_map(workdir: Path, *answers: dict[str, object], aims: Sequence[str] = ()) -> MemoryPlay:
    """The player has come from the gate to the vats in turn 1."""
    play = MemoryPlay(workdir, answers)
    log = structlog.get_logger()
    game_map = MapManager(log, play.config, play.state, aims=lambda: aims)
    play.manager = SimpleMemoryManager(log, play.config, play.state, play.llm, map_manager=game_map)
    play.learners = (game_map, play.manager)
    play.turn("north", "Blue Vats", location=VATS)
    return play


class TestFirstVisits:
    def test_only_the_first_visit_of_all_episodes_is_called_so(self, play: MemoryPlay) -> None:
        for episode, status in ((1, "FIRST VISIT"), (2, "RETURN VISIT, known from an earlier episode (no CORE)")):
            play.begin(episode)
            play.turn("east", "Blue Vats\nSteam hangs over the vats.", location=VATS)
            play.turn("dip banner", "It turns blue.", score=5 * episode)
            assert asked(play).endswith(f"visit status: {status}")

    @pytest.mark.parametrize("first", ["qwertz", "wait", "west"])
    def test_a_first_visit_is_one_though_its_first_turn_was_no_news(self, play: MemoryPlay, first: str) -> None:
        steam = "Steam hangs over the vats."
        play.turn("east", f"Blue Vats\n{steam}", location=VATS)
        play.turn(first, "A dog growls.")
        play.turn("take beam", "You can't.")
        play.turn("up", "Loft", location=LOFT)
        prompt = asked(play)
        assert "visit status: FIRST VISIT" in prompt
        assert prompt.startswith(f"LOCATION: Blue Vats (ID: 31)\nOn arrival the story showed: Blue Vats\n{steam}\n\n")

    def test_what_else_happened_in_the_stay_is_shown_once(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        play.turn("climb beam", "It is slippery.")
        play.turn("take beam", "You can't.")
        play.turn("north", "A dog growls.")
        play.turn("climb beam", "It is slippery.")
        play.turn("wait")
        play.turn("up", "Loft", location=LOFT)
        assert asked(play, "WHAT IS NEW HERE:").splitlines() == [
            "Turn 3: climb beam (stayed)",
            "Turn 4: take beam (stayed)",
            "Turn 5: north (stayed)",
        ]
        play.turn("down", "Blue Vats", location=VATS)
        play.turn("climb beam", "It is slippery.")
        play.turn("kick beam", "You can't.")
        assert asked(play, "WHAT IS NEW HERE:") == "Turn 11: kick beam (stayed)"

    def test_a_room_that_was_reached_in_the_last_turn_keeps_its_arrival(self, play: MemoryPlay) -> None:
        play.turn("wait")
        play.turn("east", "Blue Vats\nSteam hangs over the vats.", location=VATS)
        assert VATS.num not in play.manager.memory_cache
        play.manager.end("turn_limit")
        (kept,) = play.manager.memory_cache[VATS.num]
        assert (kept.is_arrival, kept.text, kept.turns) == (True, "Steam hangs over the vats.", "2")

    def test_a_room_that_was_dark_gets_its_arrival_when_it_is_first_described(self, play: MemoryPlay) -> None:
        play.turn("east", "Darkness\nIt is pitch dark.", location=VATS)
        play.turn("light lamp", "The lamp burns.\n\nBlue Vats\nSteam hangs over the vats.")
        assert VATS.num not in play.manager.memory_cache
        play.turn("look", "Blue Vats\nSteam hangs over the vats. A rat is here.")
        (kept,) = play.manager.memory_cache[VATS.num]
        assert (kept.is_arrival, kept.text) == (True, "Steam hangs over the vats.")
        play.turn("wait")
        assert len(play.manager.memory_cache[VATS.num]) == 1

    @pytest.mark.parametrize("last", [{"died": True}, {"ending": "won"}])
    def test_an_end_in_another_room_is_no_arrival(self, play: MemoryPlay, last: dict[str, Any]) -> None:
        play.turn("east", "Blue Vats\nSteam hangs over the vats.", location=VATS, **last)
        play.manager.end("lost")
        assert VATS.num not in play.manager.memory_cache

    def test_a_player_who_died_did_not_go_to_the_place_of_the_resurrection(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        play.turn("jump", "You drown.\n\nLoft", location=LOFT, died=True)
        assert f"jump (DIED and was at {LOFT.name} then" in asked(play, "WHAT IS NEW HERE:")


class TestOtherLocations:
    def test_a_memory_elsewhere_is_shown_if_it_is_a_guess_names_this_location_or_is_of_an_aim(
        self, tmp_path: Path
    ) -> None:
        """The "sea" in sight showed what was known of a sea chest in each room."""
        aims: list[str] = []
        play = play_with_a_map(tmp_path, aims=aims)
        for title in ("Sea chest has a key", "Jar is from Location 31", "Rope holds 31 jars"):
            play.manager.add_memory(GATE.num, GATE.name, memory(title, text="So it seems."))
        play.manager.add_memory(GATE.num, GATE.name, memory("Key fits", text="So it seems.", status="TENTATIVE"))
        play.turn("open jar", "It has a lid.", world_hash="1", visible=(GameObject(72, "sea"), GameObject(7, "jar")))
        assert re.findall(r"[A-Z]\] (.*?): So", asked(play, OTHERS)) == ["Key fits", "Jar is from Location 31"]
        aims.append("Look for a key at the Dye Works Gate")
        play.turn("close jar", "It is closed.", world_hash="2")
        assert {"Sea chest has a key", "Rope holds 31 jars"} < {*re.findall(r"\] (.*?): So", asked(play, OTHERS))}

    def test_a_memory_may_be_about_another_location_on_the_map_where_it_is_never_core(self, tmp_path: Path) -> None:
        about = [learned(f"At {place}", "core", location_id=place) for place in (GATE.num, LOFT.num)]
        play = play_with_a_map(tmp_path, {"memories": about})
        play.turn("read plaque", LONG)
        play.turn("pull lever", "The gate behind you falls shut.", world_hash="1")
        play.manager.end()
        kept = play.manager.memory_cache
        assert [(each.title, each.persistence) for each in kept[GATE.num]] == [(f"At {GATE.num}", "permanent")]
        assert [each.title for each in kept[VATS.num]] == [f"At {LOFT.num}"]

    def test_memories_of_locations_seen_in_this_episode_are_shown_and_can_be_given_up(self, tmp_path: Path) -> None:
        answers: list[dict[str, object]] = [
            {"memories": [learned("Lever shuts it", supersedes_memory_titles=["Gate may lock itself"])]},
            {"memories": [learned("Left a rag", "ephemeral", supersedes_memory_titles=["Gate is old"])]},
        ]
        play = play_with_a_map(tmp_path, *answers, aims=[f"Location {GATE.num}"])
        play.manager.add_memory(GATE.num, GATE.name, memory("Gate is old"))
        play.manager.add_memory(GATE.num, GATE.name, memory("Gate may lock itself", status="TENTATIVE"))
        play.manager.add_memory(LOFT.num, LOFT.name, memory("Loft is dry"))
        play.turn("pull lever", "The gate behind you falls shut.", world_hash="1")
        assert asked(play, OTHERS).splitlines() == [
            f"- [NOTE - PERMANENT - Location {GATE.num} - TENTATIVE] Gate may lock itself: About Gate may lock itself.",
            f"- [NOTE - PERMANENT - Location {GATE.num} - ACTIVE] Gate is old: About Gate is old.",
        ]
        assert asked(play, "CONTEXT SIGNALS:") == "• Turn 2: Nothing visible changed (likely PERMANENT)"
        play.turn("pull rope", "The gate behind you falls shut.", world_hash="2")
        play.manager.end()
        old, guess = play.manager.memory_cache[GATE.num]
        assert old.status == "ACTIVE"  # a memory of this episode alone takes the place of no other
        assert (guess.status, guess.invalidation_reason) == ("SUPERSEDED", f"Location {VATS.num}: Lever shuts it")


class TestPrompt:
    def test_a_first_visit_shows_once_what_the_story_printed_on_arrival(self, play: MemoryPlay) -> None:
        play.turn("north", f"Blue Vats\n{LONG}\n", location=VATS)
        play.turn("take jar", "Taken.", inventory=(MORDANT,))
        play.turn("up", "Loft", location=LOFT)
        (prompt,) = play.prompts
        assert f"On arrival the story showed: Blue Vats\n{LONG}" in prompt
        assert f"Turn 1 at Dye Works Gate (11): north\nResponse: {SHOWN_ABOVE}" in prompt
        assert prompt.count(LONG) == 1
        assert "visit status: FIRST VISIT" in prompt
        assert "On arrival: Long" not in prompt  # it is a memory already
        assert "• Turn 2: Inventory changed" in prompt
        play.turn("down", "Blue Vats", location=VATS)
        play.turn("take beam", "You can't.")
        assert "visit status: LATER IN THE EPISODE" in asked(play)
        assert "On arrival" not in play.prompts[-1]

    def test_existing_memories_are_shown_with_their_status(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        play.manager.add_memory(VATS.num, VATS.name, memory("Old"))
        play.manager.supersede_memory(VATS.num, VATS.name, "Old", memory("New", status="TENTATIVE"))
        play.manager.add_memory(VATS.num, VATS.name, memory("Left jar", "ephemeral"))
        play.turn("take beam", "You can't.")
        assert asked(play, "EXISTING MEMORIES:").splitlines() == [
            "- [NOTE - PERMANENT - TENTATIVE] New: About New.",
            "- [NOTE - EPHEMERAL - ACTIVE] Left jar: About Left jar.",
            "- [NOTE - PERMANENT - SUPERSEDED] Old",
        ]

    def test_the_window_of_turns_before_the_news_is_as_configured(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path, memory_sampling={"memory_history_window": 2})
        for _ in range(4):
            play.turn("wait")
        play.turn("take beam", "You can't.")
        assert asked(play, "RECENT ACTION SEQUENCE:", end="\n\nAGENT'S REASONING") == (
            "(5 earlier left out)\n\n"
            "Turn 6 at Blue Vats (31): wait\nResponse: Time passes.\n\n"
            "Turn 7 at Blue Vats (31): take beam\nResponse: You can't."
        )
        assert asked(play, "AGENT'S REASONING:") == "Turn 6: because of wait\nTurn 7: because of take beam"
        (call,) = play.llm.calls
        assert (call.role, call.schema, call.prompt.system) == ("memory", VisitSynthesis, fill_prompt("memory"))

    @pytest.mark.parametrize(("more", "shown"), [("", False), ("\n\nPliers slide out of a chute.", True)])
    def test_a_return_visit_shows_what_the_story_printed_on_arrival_if_that_is_not_known(
        self, tmp_path: Path, more: str, *, shown: bool
    ) -> None:
        play = play_at_the_vats(tmp_path, arrival="Blue Vats\nIt stinks.", memory_sampling={"memory_history_window": 1})
        play.turn("up", "Loft", location=LOFT)
        play.turn("down", f"Blue Vats\nIt stinks.{more}", location=VATS)
        play.turn("wait", "Nothing.")
        play.turn("take beam", "You can't.")
        told = asked(play)
        assert (f"On arrival, in turn 4, the story showed: Blue Vats\nIt stinks.{more}\n" in told) == shown
        assert ("On arrival, in" in told) == shown

    def test_the_commands_before_the_window_are_listed_if_points_were_won(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path, memory_sampling={"memory_history_window": 2})
        for command in ("attack dog", "wait", "wait", "take beam"):
            play.turn(command, "Nothing happens.")
        play.turn("dip banner", "Blue!", score=5)
        told = asked(play, "RECENT ACTION SEQUENCE:", end="\n\nAGENT'S REASONING")
        before = "From turn 1 at Dye Works Gate (11), without texts: north (to 31)"
        assert told.startswith(f"{before}\n\nTurn 2 at Blue Vats (31): wait\nResponse: ")

    @pytest.mark.parametrize(("score", "left"), [(0, 20), (5, 8)])
    def test_the_number_of_turns_that_are_not_listed_is_shown(self, tmp_path: Path, score: int, left: int) -> None:
        play = play_at_the_vats(tmp_path, memory_sampling={"memory_history_window": 2})
        for _ in range(19):
            play.turn("wait")
        play.turn("dip banner", "Blue!", score=score, world_hash="1")
        told = asked(play, "RECENT ACTION SEQUENCE:", end="\n\nAGENT'S REASONING")
        first = f"From turn {left + 1} at Blue Vats (31), without" if score else "Turn 21 "
        assert told.startswith(f"({left} earlier left out)\n\n{first}")

    def test_the_commands_without_texts_count_one_by_one_if_they_have_no_room(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path, memory_sampling={"memory_history_window": 2}, prompt_budgets={"memory": 3000})
        for number in range(19):
            play.turn(f"wait {number}")
        play.turn("dip banner", "It turns blue. " * 800, score=5)
        assert "(21 earlier left out)" in asked(play, "RECENT ACTION SEQUENCE:", end="\n\nAGENT'S REASONING")

    def test_a_text_of_several_turns_is_whole_in_the_first_one(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, silent, memory_sampling={"memory_history_window": 10})
        play.turn("north", f"Blue Vats\n{LONG}\n", location=VATS)
        play.turn("take jar", "Taken.", inventory=(MORDANT,))
        play.turn("up", "Drying Loft", location=LOFT)
        play.turn("down", f"Blue Vats\n{LONG}\n", location=VATS)
        play.turn("dip banner", "Blue!", score=5)
        prompt = asked(play)
        assert f"Arrival at Blue Vats: {LONG}" in prompt
        assert f"Turn 1 at Dye Works Gate (11): north\nResponse: Blue Vats\n{LONG}" in prompt
        assert re.search(r"down\nResponse: Blue Vats\nThe vats stand in .*… \[line as in turn 1\]\n", prompt)

    def test_only_a_question_about_the_first_visit_allows_core_memories(self, play: MemoryPlay) -> None:
        play.turn("north", "Blue Vats", location=VATS)
        for score in (1, 2):
            play.turn("pull rope", "It tears.", score=score)
            play.manager.consider()
        statuses = [call.prompt.user.rpartition("status: ")[2] for call in play.llm.calls]
        assert statuses == ["FIRST VISIT", "LATER IN THE EPISODE OF THE FIRST VISIT (no CORE)"]

    def test_what_a_visit_without_a_question_showed_is_new_at_the_next_one(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, silent, memory_sampling={"memory_history_window": 1})
        play.turn("north", f"Blue Vats\n{LONG}", location=VATS)
        play.turn("west", "The paint is wet.")
        play.turn("up", "Drying Loft", location=LOFT)
        play.turn("down", "Blue Vats", location=VATS)
        play.turn("dip banner", "Blue!", score=5)
        prompt = asked(play)
        assert "Turn 2: west (stayed)\nResponse: The paint is wet.\nTurn 5: dip banner (" in prompt
        assert "status: LATER IN THE EPISODE OF THE FIRST VISIT (no CORE)" in prompt
        assert "On arrival" not in prompt
        play.turn("pull rope", "It tears.", score=6)
        assert "The paint is wet." not in asked(play)

    def test_two_turns_with_one_text_do_not_refer_to_each_other(self, tmp_path: Path) -> None:
        vats, twin = f"Blue Vats\n{LONG}", Location(VATS.num + 100, VATS.name)
        play = MemoryPlay(tmp_path, silent, memory_sampling={"memory_history_window": 10})
        play.turn("north", vats, location=VATS)
        play.turn("up", vats, location=twin)
        play.turn("down", "Blue Vats", location=VATS)
        play.turn("dip banner", "Blue!", score=5)
        prompt = asked(play)
        assert f"Turn 1 at Dye Works Gate (11): north\nResponse: {vats}\n" in prompt
        assert re.search(r"\(31\): up\nResponse: Blue Vats\nThe vats stand in .*… \[line as in turn 1\]\n", prompt)

    def test_an_arrival_memory_is_whole_if_the_turn_with_its_text_is_left_out(self, tmp_path: Path) -> None:
        room = "Blue Vats\nIt is dim here."
        play = MemoryPlay(
            tmp_path, silent, memory_sampling={"memory_history_window": 10}, prompt_budgets={"memory": 3000}
        )
        play.turn("north", room, location=VATS)
        play.turn("take jar", "Taken.", inventory=(MORDANT,))
        play.turn("up", "Drying Loft", location=LOFT)
        play.turn("down", "Blue Vats", location=VATS)
        for number in range(5):
            play.turn("wait", f"Vat {number} bubbles. " * 120)
        play.turn("look", f"{room} A jar glows.", score=5)
        prompt = asked(play)
        assert "\nTurn 1 " not in prompt
        assert f"{room} A jar glows." in prompt
        assert "Arrival at Blue Vats: It is dim here." in prompt

    def test_the_text_of_another_place_is_shown_once(self, tmp_path: Path) -> None:
        loft = f"Drying Loft\n{LONG}"
        play = play_at_the_vats(tmp_path)
        play.turn("up", loft, location=LOFT)
        play.turn("down", "Blue Vats", location=VATS)
        play.turn("take beam", "You can't.")
        play.turn("up", loft, location=LOFT)
        told = asked(play, "RECENT ACTION SEQUENCE:", end="\n\nAGENT'S REASONING")
        assert re.search(r"Turn 6 at .*\nResponse: Drying Loft\nThe vats stand in .*… \[line as in turn 3\]$", told)
        assert told.count(LONG) == 1

    def test_a_text_that_an_earlier_turn_printed_is_not_shown_without_saying_so(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path, memory_sampling={"memory_history_window": 1})
        for _ in range(2):
            play.turn("up", "Drying Loft", location=LOFT)
            play.turn("down", "Blue Vats", location=VATS)
        play.turn("take beam", "You can't.")
        play.turn("up", "Drying Loft", location=LOFT)
        assert asked(play).count("Response: Drying Loft, described as before") == 1

    def test_an_outcome_that_the_state_has_not_recorded_yet_ends_the_sequence(self, play: MemoryPlay) -> None:
        play.state.record(TurnRecord(1, 48, play.now, (Proposal("open hatch"),), (), Observation("It opens.")))
        context: ZMachineContext = {"location_changed": True}
        play.manager.record_action_outcome(31, "Blue Vats", "enter hatch", "You climb in.", context)
        assert (
            "Turn 48 at Dye Works Gate (11): open hatch\nResponse: It opens.\n\n"
            "Turn 49 at Blue Vats (31): enter hatch\nResponse: You climb in." in play.prompts[0]
        )

    @pytest.mark.parametrize(
        ("action", "response", "facts", "expected"),
        [
            ("look", LONG, {"first_visit": True}, [("Long response", "core")]),
            ("read", "You can't.", {"first_visit": True, "arrival_text": LONG}, [("Long description", "core")]),
            ("take jar", "Taken.", {"inventory_changed": True}, [HANDLED]),
            (
                "drop jar",
                "Dropped.",
                {"inventory_before": [1], "inventory_after": []},
                [HANDLED, ("Placement action", "ephemeral")],
            ),
            ("dip banner", "Blue!", {"score_before": 5, "score_after": 10}, [("Score increase", "permanent")]),
            ("drink", "You die.", {"died": True, "inventory_changed": True}, [("Death suggests", "permanent")]),
            ("enter", "Loft", {"location_before": 31, "location_after": 44}, []),
            ("take beam", "You can't.", {}, [UNCHANGED]),
            ("put jar in vat", "It does not fit.", {}, [UNCHANGED]),
            ("throw jar", "Futile.", {}, [UNCHANGED]),
            ("open door", f"It won't budge. {LONG}", {}, [UNCHANGED]),
            ("dyer, follow me", "'Don't worry, I'll stay close to you.'", {}, []),
            ("inventory", "You are carrying nothing.", {}, []),
            ("examine well", "No rim, no rope and no bottom.", {}, []),
            ("look under vat", "There is nothing but dust.", {}, []),
            ("wake man", f"He wakes. {LONG} He can't remember.", {"world_changed": True}, [UNCHANGED]),
            ("push statues", "They cannot be moved. No, wait: one comes off!", {"inventory_changed": True}, [HANDLED]),
            ("push statues", "They cannot be moved. No, wait: one gives way!", {"sight_changed": True}, []),
            ("read writing", "It is not long.", {"score_delta": 5}, [("Score increase", "permanent")]),
            ("jump", "That cannot end well, and does not.", {"died": True}, [("Death suggests", "permanent")]),
        ],
    )
    def test_signals_are_facts_and_no_failure_is_taken_from_the_words(
        self, action: str, response: str, facts: dict[str, Any], expected: list[tuple[str, str]]
    ) -> None:
        signals = signals_of(outcome(action, response, **facts))
        assert [(" ".join(words.split()[:2]), tier) for words, tier in signals] == expected

    def test_a_thing_in_the_place_of_another_is_not_called_new_and_nothing_is_said_beside_what_is_named(
        self, tmp_path: Path
    ) -> None:
        man, named, tin = GameObject(3, "young man", 31), GameObject(4, "Charles", 31), GameObject(5, "tin", 31)
        lid = GameObject(2, "lid", 31)
        play = play_at_the_vats(tmp_path)
        play.turn("wait", visible=(lid,), parents=(0, 0, 31, 0, 0, 0))
        play.turn("wave", "A young man comes.", visible=(lid, man), parents=(0, 0, 31, 31, 0, 0))
        play.turn("wake man", "It is Charles.", visible=(lid, named), parents=(0, 0, 31, 0, 31, 0))
        play.turn("open lid", "A tin is in it.", visible=(lid, named, tin), parents=(0, 0, 31, 0, 31, 31))
        play.turn("push tin", "Click.", attributes_hash="7")
        assert [each.split(" (")[1] for each in asked(play, "WHAT IS NEW HERE:").splitlines()] == [
            "stayed, young man came to light)",
            "stayed, young man is gone, Charles is in its place)",
            "stayed, tin came to light)",
            "stayed, something changed, perhaps unseen)",
        ]

    @pytest.mark.parametrize(("moves", "state", "failed"), [(5, "a", True), (5, "b", False)])
    def test_a_command_failed_if_it_changed_nothing_at_all(self, moves: int, state: str, *, failed: bool) -> None:
        play = outcome("take beam", "It is yours.").record
        before = replace(play.before, moves=4, state_hash="a")
        record = replace(play, before=before, after=replace(before, text="No.", moves=moves, state_hash=state))
        (signal,) = signals_of(ActionOutcome(record, VATS, MovementAnalyzer()))
        assert signal[0].startswith("Nothing changed" if failed else "Nothing visible")

    def test_a_command_that_was_not_carried_out_or_led_back_is_no_signal_of_anything(self) -> None:
        play = outcome("take beam", "It is yours.").record
        before = replace(play.before, moves=4, state_hash="a")
        again = f"You turn round.\n\n{VATS.name}\nTwo ways lead on."
        for command, after in (
            ("talk to dyer", replace(before, text="That sentence didn't make sense.\n\nWhat next?")),
            ("take dyer", replace(before, text="You can't see the dyer here!", state_hash="b")),
            ("open gate", replace(before, text="Are you sure?\n\n(Please type YES or NO.)", awaits_answer=True)),
            ("pay toll", replace(before, text="1) In silver\n2) In gold", moves=5, state_hash="b", awaits_answer=True)),
            ("west", replace(before, text=again, moves=5, state_hash="b")),
        ):
            record = replace(play, before=before, after=after, proposals=(Proposal(command),))
            assert not [*signals_of(ActionOutcome(record, VATS, MovementAnalyzer()))], command

    def test_a_kept_arrival_begins_at_the_name_of_the_place(self) -> None:
        play = outcome("take beam", "It is yours.").record
        text = f"The dog growls as you back away.\n\n{VATS.name}\nVats line the wall."
        for turn, shown in ((1, text), (7, f"{VATS.name}\nVats line the wall.")):
            record = replace(play, before=replace(play.before, text=text), turn=turn)
            assert ActionOutcome(record, VATS, MovementAnalyzer(), first_visit=True).arrival_text == shown

    def test_what_came_of_turns_is_in_the_machines_words_and_a_signal_of_several_turns_once(
        self, tmp_path: Path
    ) -> None:
        play = play_at_the_vats(tmp_path)
        vat = GameObject(72, "lid", attributes=frozenset({3}))
        play.turn("open lid", "You can't say that it was shut.", visible=(vat,))
        play.turn("take jar", "You can't miss it.", visible=(vat,), inventory=(MORDANT,))
        play.turn("take beam", "You can't.")
        play.turn("kick beam", "You can't.")
        play.turn("ask dyer about mordant", '"I cannot sell it. Look in the loft."')
        play.turn("show jar to dyer", 'He frowns. "I lost that one a year ago."')
        play.turn("about", "A menu.", awaits_key=True)
        assert asked(play, "WHAT IS NEW HERE:").splitlines() == [
            "Turn 3: open lid (stayed, something in sight changed)",
            "Turn 4: take jar (stayed, now carries jar of mordant)",
            "Turn 5: take beam (stayed)",
            "Turn 6: kick beam (stayed)",
            "Turn 7: ask dyer about mordant (stayed)",
            "Turn 8: show jar to dyer (stayed)",
            "Turn 9: about (stayed, the story waits for a key)",
        ]
        assert asked(play, "CONTEXT SIGNALS:").splitlines() == [
            "• Turn 4: Inventory changed without movement suggests item manipulation (likely EPHEMERAL)",
            "• Turns 5, 6: Nothing visible changed (likely PERMANENT)",
        ]

    def test_what_changed_in_sight_is_named_if_the_words_for_it_are_known(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        play.manager.attribute_names = {"open": 14, "on": 13, "lit": 9}
        tin, lamp = GameObject(72, "tin", 31, frozenset({14})), GameObject(73, "lamp", 1)
        play.turn("open tin", "It is full.", visible=(replace(tin, attributes=frozenset()),), inventory=(lamp,))
        play.turn("open tin", "You open it.", visible=(tin,))
        play.turn("light lamp", "It burns.", inventory=(replace(lamp, attributes=frozenset({9, 13})),))
        play.turn("shut tin", "Click.", visible=(replace(tin, attributes=frozenset()),))
        play.turn("polish tin", "It shines.", visible=(replace(tin, attributes=frozenset({4})),))
        play.turn("help", "1) About\n2) Hints", awaits_key=True)
        assert [each.split(" (")[1] for each in asked(play, "WHAT IS NEW HERE:").splitlines()][1:] == [
            "stayed, tin now open)",
            "stayed, lamp now on, now lit)",
            "stayed, tin no longer open)",
            "stayed, something changed, perhaps unseen)",
            "stayed, the story waits for a key)",
        ]

    def test_what_looks_note_of_several_things_is_no_change_in_sight(self, tmp_path: Path) -> None:
        vat, beam, rail = (GameObject(num, name, 31) for num, name in ((72, "vat"), (73, "beam"), (74, "rail")))
        play = play_at_the_vats(tmp_path)
        things = (vat, beam, rail)
        play.turn("wait", visible=things)
        for each in things:
            named = tuple(replace(thing, attributes=frozenset({31} if thing is each else ())) for thing in things)
            play.turn(f"examine {each.name}", f"An old {each.name}.", visible=named, attributes_hash=each.name)
        play.turn("push rail", "Click.", visible=named, attributes_hash="7")
        play.turn("take vat", "No.", visible=(replace(vat, attributes=frozenset({31})), beam, rail))
        play.turn("pull beam", "The vat is gone.", visible=(beam, rail))
        told = asked(play)
        assert re.findall(r"^Turn \d+: .* \((.*)", told, re.MULTILINE) == [
            *["stayed)"] * 3,
            "stayed, something changed, perhaps unseen)",
            "stayed)",
            "stayed, vat no longer in sight)",
        ]
        assert "• Turn 8: Nothing visible changed (likely PERMANENT)" in told

    def test_what_came_to_light_has_the_name_that_the_story_printed_and_was_not_there_before(
        self, tmp_path: Path
    ) -> None:
        trees, others = (GameObject(num, "unliving trees", 31) for num in (72, 73))
        flowers, fan = GameObject(74, "unliving flowers", 31), GameObject(75, "tasseled fan", 31)
        play = play_at_the_vats(tmp_path)
        play.turn("wait", visible=(trees,), parents=(*[0] * 72, 31, 0, 0, 0))
        text = "A tasseled fan appears as the trees and flowers move."
        play.turn("set compass", text, visible=(others, flowers, fan), parents=(*[0] * 73, 31, 31, 31))
        (told,) = asked(play, "WHAT IS NEW HERE:").splitlines()
        assert told.endswith("(stayed, flowers came to light, tasseled fan came to light)")

    @pytest.mark.parametrize(("before", "name"), [("A man sleeps.", "man"), ("Dust.", "something")])
    def test_a_thing_that_is_gone_has_the_name_that_the_story_printed(
        self, tmp_path: Path, before: str, name: str
    ) -> None:
        man, awake = GameObject(72, "limp man", 31), GameObject(73, "confused boy", 31)
        play = play_at_the_vats(tmp_path)
        play.turn("wait", before, visible=(man,), parents=(*[0] * 72, 31, 0))
        play.turn("wake", "The boy looks at you.", visible=(awake,), parents=(*[0] * 73, 31))
        told = asked(play, "WHAT IS NEW HERE:").splitlines()[-1]
        assert told.endswith(f"wake (stayed, {name} is gone, boy is in its place)")

    def test_getting_into_a_thing_and_out_of_it_is_named(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        play.turn("enter vat", "You get in.", inside=GameObject(72, "vat", 31))
        play.turn("out", "You get out.", inside=None)
        assert [each.split(" (")[1] for each in asked(play, "WHAT IS NEW HERE:").splitlines()] == [
            "stayed, now in or on vat)",
            "stayed, no longer in or on anything)",
        ]

    def test_a_command_without_a_question_has_no_reasoning_of_the_agent(self, play: MemoryPlay) -> None:
        play.turn("take beam", "You can't.")
        play.turn("kick beam", "It sways.", verdicts=(Verdict(accepted=True, source="then"),))
        assert asked(play, "AGENT'S REASONING:") == "Turn 1: because of take beam"

    def test_a_course_that_began_elsewhere_has_its_reason(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, memory_sampling={"memory_history_window": 1})
        further = (Verdict(accepted=True, source="then"),)
        play.turn("wait")
        play.turn("east", location=VATS)
        play.turn("wait", verdicts=further)
        play.turn("kick beam", "It sways.", verdicts=further)
        assert asked(play, "AGENT'S REASONING:") == "Turn 2: because of east"

    def test_the_cause_of_a_death_and_a_memory_that_may_be_rewritten_are_shown_whole(self, play: MemoryPlay) -> None:
        chant = "Once again you read the syllables of the chant aloud. " * 12 + "A creature quickly bites your throat."
        known = "An object rests on top of the door, as one could spot from the stairs. " * 6 + "Untried: a tall man."
        play.manager.add_memory(GATE.num, GATE.name, memory("Something is up there", text=known))
        play.turn("read writing", chant, died=True)
        (prompt,) = play.prompts
        assert f"Response: {chant}" in prompt
        assert f"Something is up there: {known}" in prompt

    def test_the_version_of_the_story_is_left_out_of_its_opening(self, play: MemoryPlay) -> None:
        opening = (
            "You dream.\n\nThe Dye Works\n(c) 2002\n\nRelease 2 / Serial number 021118\n\nDye Works Gate\nIt creaks."
        )
        play.begin(1, replace(play.now, text=opening))
        play.turn("take beam", "You can't.")
        assert "On arrival the story showed: You dream.\n\nDye Works Gate\nIt creaks.\n\nEXISTING " in asked(play)

    def test_what_was_given_up_is_shown_by_its_title_as_far_as_there_is_room(self) -> None:
        old = [memory(f"Old {number}").superseded("New", 3) for number in range(9)]
        text = existing_memories([*old, memory("New", text="x" * 50)]).fit(150).text
        assert text.splitlines() == [
            f"- [NOTE - PERMANENT - ACTIVE] New: {'x' * 50}",
            "- [NOTE - PERMANENT - SUPERSEDED] Old 0",
            "(8 more left out)",
        ]

    def test_texts_longer_than_the_whole_room_share_it_alike(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, silent, prompt_budgets={"memory": 4000})
        play.turn("north", "q" * 9000, location=VATS)
        play.turn("x" * 9000, "r" * 9000, world_hash="2")  # its reason is "because of" it
        prompt = asked(play)
        arrival, response, reason = (prompt.count(letter * 50) for letter in "qrx")
        assert 30 < arrival < 80
        assert abs(response - arrival) < arrival / 5
        assert abs(reason - arrival) < arrival / 5
        assert longest("x", asked(play, "RECENT ACTION SEQUENCE:", end="AGENT'S REASONING:")) == 200 - MARK
        assert 15_900 < len(play.llm.calls[-1].prompt.system + prompt) <= 16_000

    def test_half_of_the_room_has_whole_memories_and_the_number_of_the_others(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, silent, prompt_budgets={"memory": 4000})
        for number in range(20):
            play.manager.add_memory(VATS.num, VATS.name, memory(f"{number:02}", text="x" * 900))
        play.turn("north", "q" * 9000, location=VATS)
        play.turn("stir vat", "r" * 9000, world_hash="1")
        known = asked(play, "EXISTING MEMORIES:")
        assert 0 < (16_000 - len(play.llm.calls[-1].prompt.system)) / 2 - len(known) < 1400
        lines = re.findall(r"^- \[NOTE - PERMANENT - ACTIVE\] (\d\d): (x+)$", known, re.MULTILINE)
        assert [(number, len(text)) for number, text in lines] == [(f"{n:02}", 900) for n in range(len(lines))]
        assert known.endswith(f"({20 - len(lines)} more left out)")

    @pytest.mark.parametrize(("budget", "first_shown"), [(8000, 1), (2600, 11), (2260, 12)])
    def test_the_oldest_turns_go_before_a_text_is_cut(self, tmp_path: Path, budget: int, first_shown: int) -> None:
        options = {"prompt_budgets": {"memory": budget}, "memory_sampling": {"memory_history_window": 10}}
        play = MemoryPlay(tmp_path, lambda *_: learned(), **options)
        for turn in range(1, 15):
            play.turn(f"try {turn}", f"w{turn:02}d " + "word " * 199, world_hash=str(turn))
        shown = re.findall(r"^Turn (\d+) at .*: .*\nResponse: (.*)", asked(play), re.MULTILINE)
        # All turns since the first news are shown if there is room.
        assert [int(turn) for turn, _ in shown] == list(range(first_shown, 15))
        assert {len(response.strip()) for _, response in shown} == {999}
        prompt = play.llm.calls[-1].prompt
        assert play.manager.tokens.estimate(prompt.system + prompt.user) <= budget


class TestAnswers:
    def test_a_lone_answer_counts_as_a_list_of_one_and_may_name_its_tier_in_capitals(self, tmp_path: Path) -> None:
        (kept,) = answered(tmp_path, learned("a", "PERMANENT")).manager.memory_cache[31]
        assert (kept.title, kept.persistence, kept.status) == ("a", "permanent", "ACTIVE")

    def test_a_new_memory_that_the_model_calls_superseded_is_tentative(self, tmp_path: Path) -> None:
        (kept,) = answered(tmp_path, learned("a", status="SUPERSEDED")).manager.memory_cache[31]
        assert kept.status == "TENTATIVE"

    def test_core_on_a_return_visit_becomes_permanent_with_a_warning_and_a_count(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, [learned("a", "core"), learned("b", "core")])
        with capture_logs() as logs:
            play.manager.record_action_outcome(31, "Blue Vats", "look", LONG, {"first_visit": True})
            play.manager.record_action_outcome(31, "Blue Vats", "push vat", "You can't.", {"first_visit": False})
        assert [kept.persistence for kept in play.manager.memory_cache[31]] == ["core", "permanent"]
        assert play.metrics["core_validation_downgrade"] == 1
        (warning,) = [str(entry["event"]) for entry in logs if entry["log_level"] == "warning"]
        assert "downgrading to PERMANENT" in warning

    def test_titles_are_superseded_and_invalidated(self, tmp_path: Path) -> None:
        new = learned("New", supersedes_memory_titles=["OLD", "never heard of"], invalidate_memory_titles=["False"])
        play = answered(tmp_path, {**new, "invalidation_reason": "no"}, known=("Old", "False"))
        assert titles(play.manager.memory_cache) == ["New"]
        assert [kept.superseded_by for kept in play.manager.memory_cache[31]] == ["New", "INVALIDATED", None]

    def test_a_title_may_be_named_with_its_text(self, tmp_path: Path) -> None:
        new = learned("Old", supersedes_memory_titles=["Old: It is"], invalidate_memory_titles=["Vat: RED: It may"])
        play = answered(tmp_path, {**new, "invalidation_reason": "no"}, known=("Old", "Vat", "Vat: red", "Other"))
        assert titles(play.manager.memory_cache) == ["Vat", "Other", "Old"]

    @pytest.mark.parametrize("answer", [{"should_remember": False}, learned("Old")])
    def test_titles_are_invalidated_even_without_a_new_memory(self, tmp_path: Path, answer: dict[str, object]) -> None:
        doubted = {**answer, "invalidate_memory_titles": ["False"], "invalidation_reason": "it broke"}
        play = answered(tmp_path, doubted, known=("Old", "False"))
        assert titles(play.manager.memory_cache) == ["Old"]
        assert '[Invalidated at T1: "it broke"]' in (tmp_path / "Memories.md").read_text()

    def test_an_ephemeral_memory_may_invalidate_a_persistent_one_but_not_supersede_it(self, tmp_path: Path) -> None:
        refused = learned("Left jar", "ephemeral", supersedes_memory_titles=["Old"])
        play = answered(tmp_path / "refused", refused, known=("Old",))
        assert (titles(play.manager.memory_cache), play.manager.ephemeral_cache) == (["Old"], {})
        assert play.metrics["refused"] == 1
        allowed = learned("Left jar", "ephemeral", invalidate_memory_titles=["Old"], invalidation_reason="no")
        play = answered(tmp_path / "allowed", allowed, known=("Old",))
        assert (titles(play.manager.memory_cache), titles(play.manager.ephemeral_cache)) == ([], ["Left jar"])

    def test_of_a_long_answer_eight_memories_are_kept_whole(self, tmp_path: Path) -> None:
        memories = [
            learned(f"{n}{'t' * 900}", memory_text=f"  {'x' * 9000} ", reasoning="r" * 99_000) for n in range(50)
        ]
        with capture_logs() as logs:
            play = answered(tmp_path, {"memories": memories})
        kept = play.manager.memory_cache[31]
        assert [each.title[0] for each in kept] == [*"01234567"]
        assert {(len(each.title), len(each.text)) for each in kept} == {(901, 9000)}
        assert max(len(str(entry.get("reasoning"))) for entry in logs) <= 200

    @pytest.mark.parametrize(
        "reply", [LanguageModelUnavailable("no server"), {"should_remember": True}, {"memories": "rubbish"}]
    )
    def test_a_model_that_is_down_or_answers_rubbish_never_stops_play(self, tmp_path: Path, reply: Reply) -> None:
        with capture_logs() as logs:
            play = answered(tmp_path, reply)
        assert [entry["log_level"] for entry in logs] == ["warning"]
        assert play.metrics["synthesis_failures"] == 1
        assert play.manager.memory_cache == {}

    def test_a_room_without_a_name_can_be_remembered(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, lambda *_: learned("a"))
        play.turn("wait", location=Location(77, ""))
        play.turn("take beam", "You can't.")
        assert "LOCATION: Location #77 (ID: 77)" in asked(play)
        assert "## Location 77\n" in (tmp_path / "Memories.md").read_text()


ARRIVAL = "Blue Vats\nThe vats stand in two rows. An elvish sword hangs above them. The oak door south is shut."
SWORD = GameObject(90, "elvish sword")
OIL = GameObject(80, "can of oil")


def test_a_memory_of_an_earlier_turn_has_that_turn_and_not_those_of_the_visit_that_was_asked_about(
    tmp_path: Path,
) -> None:
    play = play_at_the_vats(tmp_path, {"memories": [learned("Gate", turn=1)]})
    play.turn("dip banner", "It turns blue.", score=5)
    play.turn("south", "The gate.", location=GATE)
    (found,) = play.manager.memory_cache[VATS.num]
    assert (found.turns, found.score_change) == ("1", 0)


def first_visit(workdir: Path, answer: dict[str, object]) -> tuple[str, MemoryPlay]:
    """The tier of the memory of a first visit in turns 2 to 4, in which the banner was laid down and oil was found."""
    play = MemoryPlay(workdir, [NOTHING, answer])
    play.turn("take banner", "Taken.", inventory=(BANNER,))
    play.turn("north", ARRIVAL, location=VATS, visible=(SWORD,))
    play.turn("drop banner", "Dropped.", inventory=(), visible=(SWORD, BANNER))
    play.turn("open drawer", "Inside is a can of oil.", visible=(SWORD, BANNER, OIL))
    play.turn("up", "Drying Loft", location=LOFT)
    caches = (play.manager.memory_cache, play.manager.ephemeral_cache)
    (kept,) = (each for cache in caches for each in cache.get(VATS.num, ()) if not each.is_arrival)
    return kept.persistence, play


class TestCoreMemories:
    """A memory is core only if it is about what the player was shown on coming there for the first time."""

    @pytest.mark.parametrize(
        ("turn", "tier"), [(2, "core"), (3, "core"), (4, "permanent"), (99, "permanent"), (None, "permanent")]
    )
    def test_its_turn_is_of_the_arrival_or_the_first_there(self, tmp_path: Path, turn: int | None, tier: str) -> None:
        kept, play = first_visit(tmp_path, learned("Sword hangs here", "core", turn=turn))
        assert kept == tier
        assert play.metrics["core_validation_downgrade"] == (tier != "core")
        if tier == "core":
            kept_turns = [each.turns for each in play.manager.memory_cache[VATS.num] if not each.is_arrival]
            assert kept_turns == ["3"]

    @pytest.mark.parametrize(
        ("title", "tier"),
        [
            ("Sword hangs above the vats", "core"),
            ("Sword spawns here", "core"),
            ("Southern door is shut", "core"),
            ("Grey banner lies by the door", "ephemeral"),
            ("Can of oil by the door", "permanent"),
            ("Troll wanders about", "permanent"),
        ],
    )
    def test_what_it_says_was_shown_on_arrival(self, tmp_path: Path, title: str, tier: str) -> None:
        with capture_logs() as logs:
            kept, _ = first_visit(tmp_path, learned(title, "core", turn=3, memory_text="So it is."))
        assert kept == tier
        warned = [log["event"] for log in logs if log["log_level"] == "warning"]
        expected = f"CORE memory rejected: not shown on arrival, downgrading to {tier.upper()}"
        assert warned == ([] if tier == "core" else [expected])

    def test_what_the_player_left_there_is_no_more_core_on_a_return(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, [NOTHING, NOTHING, learned("Banner lies here", "core", turn=6)])
        play.turn("take banner", "Taken.", inventory=(BANNER,))
        play.turn("north", ARRIVAL, location=VATS)
        play.turn("drop banner", "Dropped.", inventory=(), visible=(BANNER,))
        play.turn("up", "Drying Loft", location=LOFT, visible=())
        play.turn("down", "Blue Vats. A banner lies here.", location=VATS, visible=(BANNER,))
        play.turn("kick vat", "You can't.")
        play.manager.end()
        assert [each.persistence for each in play.manager.ephemeral_cache[VATS.num]] == ["ephemeral"]
        assert all(each.is_arrival for each in play.manager.memory_cache[VATS.num])


# A small model only chooses which turn is worth keeping; what is kept of it is the machine's word.

ROOM = f"Blue Vats\n{LONG}"


def never(*_: object) -> Reply:
    raise AssertionError("nobody is asked")


def small(workdir: Path, replies: Any = never) -> MemoryPlay:
    """The player of a small model has come to the vats, where everything but the jar of mordant is visible."""
    play = MemoryPlay(workdir, replies, prompt_budgets={"memory": 900})
    play.turn("north", ROOM, location=VATS, visible=(MORDANT,))
    return play


def kept(play: MemoryPlay) -> list[tuple[str, str, str]]:
    """Category, tier and title of all that is remembered at the vats, except the arrival."""
    play.manager.end()
    places = (play.manager.memory_cache, play.manager.ephemeral_cache)
    memories = [each for place in places for each in place.get(VATS.num, ()) if not each.is_arrival]
    return [(each.category, each.persistence, each.title) for each in memories]


@pytest.mark.parametrize(
    ("action", "text", "after", "remembered"),
    [
        ("open lid", "A can of oil!", {"visible": (MORDANT, OIL)}, ("DISCOVERY", "permanent", "can of oil")),
        ("take jar", "Taken.", {"inventory": (MORDANT,)}, ("NOTE", "ephemeral", "jar of mordant taken")),
        ("open lid", "It opens.", {"world_hash": "1", "visible": ()}, ("NOTE", "ephemeral", "It opens.")),
        ("wear coat", "It fits you.", {"score": 5}, ("SUCCESS", "permanent", "+5 points")),
        ("sell banner", "A bad deal.", {"score": -1}, ("DANGER", "permanent", "-1 point")),
        ("drink dye", "You can't breathe.", {"died": True}, ("DANGER", "permanent", "death")),
        (
            "up",
            "Late.",
            {"ending": "lost", "location": LOFT},
            ("DANGER", "permanent", "the story was LOST, leads to Drying Loft"),
        ),
        ("push vat", "You can't.", {}, ("FAILURE", "permanent", "You can't.")),
        ("enter chute", "Drying Loft", {"location": LOFT}, ("DISCOVERY", "permanent", "leads to Drying Loft")),
        ("read plaque", f"A dyer lived. {'He dyed and dyed. ' * 9}", {}, ("DISCOVERY", "permanent", "A dyer lived.")),
        ("look", ROOM, {}, None),
        ("wait", "Time passes.", {}, None),
        ("east", "You can't go that way.", {}, None),
    ],
)
def test_title_tier_and_category_are_the_machines_word_and_arrivals_waiting_and_barred_ways_are_not_kept(
    tmp_path: Path, action: str, text: str, after: dict[str, Any], remembered: tuple[str, str, str] | None
) -> None:
    play = small(tmp_path)
    play.turn(action, text, **after)
    if remembered is None:
        assert kept(play) == []
    else:
        category, tier, result = remembered
        assert kept(play) == [(category, tier, f"`{action}`: {result}")]
    assert play.llm.calls == []


def test_what_is_known_by_its_title_is_not_kept_twice(tmp_path: Path) -> None:
    play = small(tmp_path)
    play.manager.add_memory(VATS.num, VATS.name, memory("`push vat`: You can't."))
    play.turn("push vat", "You can't.")
    assert len(kept(play)) == 1
    assert play.metrics["refused"] == 0


def test_where_several_turns_are_worth_it_the_model_chooses_one(tmp_path: Path) -> None:
    play = small(tmp_path, [{"turn": 3}])
    play.turn("push vat", "You can't.")
    play.turn("take jar", "Taken.", inventory=(MORDANT,))
    play.turn("wait")
    assert kept(play) == [("NOTE", "ephemeral", "`take jar`: jar of mordant taken")]
    (call,) = play.llm.calls
    assert call.schema.model_json_schema()["properties"] == {
        "turn": {"enum": [2, 3], "title": "Turn", "type": "integer"}
    }
    assert "Turn 2: `push vat`: You can't." in call.prompt.user
    assert TokenCounter().estimate(call.prompt.system + call.prompt.user) < 250


def test_points_and_deaths_are_kept_whatever_else_there_is(tmp_path: Path) -> None:
    play = small(tmp_path)
    play.turn("push vat", "You can't.")
    play.turn("wear coat", "It fits you.", score=5)
    play.turn("drink dye", "It burns.", died=True)
    assert [title for _, _, title in kept(play)] == ["`wear coat`: +5 points", "`drink dye`: death"]


def test_a_turn_that_is_no_news_is_no_answer(tmp_path: Path) -> None:
    play = small(tmp_path, [{"turn": 9}])
    play.turn("push vat", "You can't.")
    play.turn("kick vat", "You can't.")
    assert kept(play) == []
    assert play.metrics["synthesis_failures"] == 1


def test_the_text_is_the_storys_own_as_far_as_the_title_has_not_got_it(tmp_path: Path) -> None:
    play = small(tmp_path)
    play.turn("wear coat", "It fits you.\n\nYou feel well.", score=5)
    play.turn("push vat", "You can't.", score=6)
    play.turn("enter hatch", "Drying Loft\nBanners hang here.", location=LOFT, score=7)
    play.now = replace(play.now, location=VATS)
    play.turn("enter chute", "Down you go!\n\nDrying Loft\nBanners hang here.", location=LOFT, score=8)
    play.manager.end()
    assert [each.text for each in play.manager.memory_cache[VATS.num] if not each.is_arrival] == [
        '"It fits you. You feel well."',
        '"You can\'t."',
        "The player was then in Drying Loft.",
        '"Down you go!"',
    ]


def test_of_a_long_answer_beginning_and_end_are_kept() -> None:
    stirred = outcome("stir", f"It swirls. {'blue ' * 90}It stops.", score_delta=1)
    text = memory_of(stirred).memory_text or ""
    assert (text[:12], text[-11:]) == ('"It swirls. ', ' It stops."')
    assert len(text) <= LONGEST_QUOTE + 2


def test_what_was_carried_all_along_is_not_taken_for_news(tmp_path: Path) -> None:
    play = MemoryPlay(tmp_path, never, prompt_budgets={"memory": 900})
    play.turn("north", ROOM, location=VATS, inventory=(BANNER,))
    play.turn("drop banner", "Dropped.", inventory=(), visible=(BANNER,))
    assert kept(play) == [("NOTE", "ephemeral", "`drop banner`: grey banner laid down")]
