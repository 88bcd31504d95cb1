"""When a model is called for memories, what its prompt contains, and how its answer is used."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from managers.map_manager import MapManager
from managers.memory.news import MOST_REMEMBERED, NewsLedger
from managers.memory.outcome import ZMachineContext, signals_of
from managers.memory.prompt import NO_SIGNALS, TOLD_BELOW, existing_memories
from managers.memory.synthesis import VisitSynthesis
from managers.simple_memory_manager import SimpleMemoryManager
from session.errors import LanguageModelUnavailable, StoreError
from session.game_state import PlayedAction
from session.values import GameObject, Location, Observation
from tests.fixtures.dye_works import GATE, LOFT, MORDANT, VATS
from tests.unit.managers.memory_parts import MemoryPlay, learnt, memory, outcome, titles
from zorkgpt.llm.stand_ins import Reply
from zorkgpt.prompts.loader import fill_prompt

NOTHING: dict[str, object] = {"memories": []}
LONG = "The vats stand in two rows, and blue runs down the side of each of them into a gutter in the stone floor."


FAILED, HANDLED = ("Failed action,", "permanent"), ("Inventory changed", "ephemeral")


def silent(*_: object) -> Reply:
    return NOTHING


def play_at_the_vats(
    workdir: Path, answer: dict[str, object] = NOTHING, *, arrival: str = "Blue Vats", **options: object
) -> MemoryPlay:
    """The player has come to the vats in turn 1 and looked about in turn 2; all of that is considered.

    answer: to all that comes later
    """
    answers = [NOTHING]
    play = MemoryPlay(workdir, lambda *_: answers[-1], **options)
    play.turn("north", arrival, location=VATS)
    play.turn("wait")
    play.manager.end()
    play.llm.calls.clear()
    answers.append(answer)
    return play


def is_news(play: MemoryPlay, action: str, text: str = "Time passes.", **after: Any) -> bool:
    """The turn was worth a question."""
    play.turn(action, text, **after)
    play.manager.end()
    asked = bool(play.llm.calls)
    play.llm.calls.clear()
    return asked


class TestNews:
    @pytest.mark.parametrize(
        ("action", "text", "after"),
        [
            ("dip banner", "Blue!", {"score": 5}),
            ("drink dye", "You die.", {"died": True}),
            ("take jar", "Taken.", {"inventory": (MORDANT,)}),
            ("open sluice", "Done.", {"world_hash": "1"}),
            ("read plaque", LONG, {}),
            ("take beam", "You can't reach that.", {}),
            ("enter chute", "Loft", {"location": LOFT}),
            ("up", f"A locked hatch stops you. {LONG}", {}),
        ],
    )
    def test_an_effect_or_a_failure_is_news_once(
        self, tmp_path: Path, action: str, text: str, after: dict[str, object]
    ) -> None:
        play = play_at_the_vats(tmp_path)
        there = play.now
        assert is_news(play, action, text, **after)
        play.now = there
        always = bool(after.get("score") or after.get("died"))
        assert is_news(play, action, text, **after) is always

    @pytest.mark.parametrize("after", [{}, {"score": 5}, {"died": True}])
    def test_a_plain_move_is_news_with_points_or_a_death_only(self, tmp_path: Path, after: dict[str, Any]) -> None:
        play = play_at_the_vats(tmp_path)
        assert not is_news(play, "wait")
        assert is_news(play, "up", "Loft", location=LOFT, **after) is bool(after)

    def test_a_walk_is_no_news_the_second_time_whatever_the_text_says(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        assert is_news(play, "enter chute", "Loft", location=LOFT)
        is_news(play, "down", "Blue Vats", location=VATS)
        assert not is_news(play, "enter chute", "Loft. A new thing lies here.", location=LOFT)

    def test_a_refusal_is_news_once_at_each_place(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        assert is_news(play, "open grate", "You can't reach it.")
        assert not is_news(play, "open grate", "You can't reach it.")
        assert is_news(play, "open grate", "It does not budge, and isn't about to.")
        is_news(play, "enter chute", "Loft", location=LOFT)
        is_news(play, "wait")
        assert is_news(play, "open grate", "You can't reach it.")

    def test_a_direction_that_leads_nowhere_is_left_to_the_map(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        assert not is_news(play, "east", "You slide back down; it is impossible.")
        assert is_news(play, "east", "The grate opens.", world_hash="1", location=LOFT)

    def test_one_command_that_the_parser_did_not_understand_is_worth_no_question_but_two_are(
        self, tmp_path: Path
    ) -> None:
        play = play_at_the_vats(tmp_path)
        play.now = replace(play.now, moves=7)
        assert not is_news(play, "examine vial", "You can't see any such thing.", moves=7)
        assert is_news(play, "open vial", "You can't open it.", moves=8)
        play.turn("examine vial", "You can't see any such thing.", moves=8)
        assert is_news(play, "lift rope", "You can't see any such thing.", moves=8)

    def test_it_does_not_matter_by_which_words_the_same_thing_was_picked_up(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        there = play.now
        assert is_news(play, "take jars", "You pick one.", inventory=(MORDANT,))
        play.now = there
        assert not is_news(play, "get jar", "You pick one.", inventory=(MORDANT,))
        assert is_news(play, "drop jar", "It breaks.", inventory=())

    def test_a_room_that_was_only_walked_through_is_no_news_whatever_lies_there(self, tmp_path: Path) -> None:
        """Twelve of 34 questions were about such rooms, and all their answers were empty."""
        play = MemoryPlay(tmp_path, silent)
        play.begin(1, Observation(f"Blue Vats\nA jar of mordant. {LONG}", VATS, (), (MORDANT,), score=0))
        assert not is_news(play, "up", "Loft", location=LOFT, visible=())

    def test_blows_of_a_fight_that_a_memory_tells_of_are_no_news_until_somebody_dies(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        play.manager.add_memory(VATS.num, VATS.name, memory("Fights", text="`attack troll`, again and again."))
        for number, text in enumerate(("He is stunned.", f"You miss. {LONG}", "He can't rise.")):
            assert not is_news(play, "attack troll", text, fights=True, world_hash=str(number))
        assert is_news(play, "kick troll", "You can't.", fights=True)
        assert is_news(play, "attack troll", "He strikes.", fights=True, died=True)

    def test_what_was_done_on_this_visit_and_cannot_be_done_again_is_no_news(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        assert is_news(play, "open sluice", "Done.", world_hash="1", visible=(MORDANT,))
        assert not is_news(play, "open sluice", "It's already open.")

    def test_looking_about_is_no_news(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        assert not is_news(play, "look", f"Blue Vats\n{LONG}")
        assert is_news(play, "look", f"Blue Vats\n{LONG}", visible=(MORDANT,))

    def test_what_happens_by_itself_is_news_once_whatever_was_typed_meanwhile(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        there = play.now
        assert is_news(play, "touch shadow", f"It flees.\n\n{LONG}")
        assert is_news(play, "touch shadow", "It carries you off.", location=LOFT)
        play.now = there
        assert not is_news(play, "wait", f"Time passes.\n\n{LONG}")
        assert not is_news(play, "wait", "It carries you off.", location=LOFT)
        play.now = there
        assert is_news(
            play, "wait", f"Time passes.\n\nA gull comes. {LONG.upper()[:60]} And it brings a crate of apples."
        )

    def test_points_are_told_by_the_memories_of_the_same_question_or_by_those_that_stood(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path, learnt("Troll falls to blows", turn=3))
        there = play.now
        play.turn("attack troll", "He falls.", visible=(MORDANT,))
        assert is_news(play, "up", "Loft", location=LOFT, score=5)
        play.now = there
        assert not is_news(play, "up", "Loft", location=LOFT, score=5)
        play.now = there
        assert is_news(play, "down", "Cellar", location=LOFT, score=7)
        play.now = there
        assert not is_news(play, "down", "Cellar", location=LOFT, score=7)

    @pytest.mark.parametrize(("points", "text"), [(0, "To `hum` after it gave +5 points."), (5, "`hum` wins points.")])
    def test_a_memory_that_names_command_and_points_tells_of_them(self, tmp_path: Path, points: int, text: str) -> None:
        play = play_at_the_vats(tmp_path)
        play.manager.add_memory(VATS.num, VATS.name, memory("Chant", score_change=points, text=text))
        assert not is_news(play, "hum", "You hum.", score=5)
        assert is_news(play, "hum", "You hum.", score=7)

    def test_a_later_run_knows_what_was_considered(self, tmp_path: Path) -> None:
        assert is_news(play_at_the_vats(tmp_path), "take beam", "You can't reach that.")
        assert not is_news(play_at_the_vats(tmp_path), "take beam", "You can't reach that.")

    def test_news_that_no_model_has_answered_stay_news(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, [LanguageModelUnavailable("no server"), NOTHING])
        assert is_news(play, "take beam", "You can't reach that.")
        assert is_news(play, "take beam", "You can't reach that.")

    @pytest.mark.parametrize("sight", ["Blue Vats", "Blue Vats. The banner is gone."])
    def test_a_first_visit_is_news_unless_the_sight_or_what_spawns_is_known(self, tmp_path: Path, sight: str) -> None:
        play = play_at_the_vats(tmp_path)
        play.begin(play.state.episode + 1, Observation(sight, VATS, (), (), score=0, world_hash="0"))
        assert is_news(play, "wait") is (sight != "Blue Vats")
        play.manager.add_memory(VATS.num, VATS.name, memory("Banner hangs here", "core"))
        play.begin(play.state.episode + 1, Observation("Another sight.", VATS, (), (), score=0, world_hash="0"))
        assert not is_news(play, "wait")

    @pytest.mark.parametrize("end", [" The man comes with you.", " A gull cries.", ""])
    def test_a_room_walked_through_again_is_no_news_where_little_of_its_text_is_new(
        self, tmp_path: Path, end: str
    ) -> None:
        play = play_at_the_vats(tmp_path, arrival=f"Blue Vats\n\n{LONG} The man follows you.")
        play.begin(2, Observation(f"Blue Vats\n\n{LONG}{end}", VATS, (), (), score=0, world_hash="0"))
        assert not is_news(play, "wait")
        play.begin(3, Observation(f"Blue Vats\n\nIt is dark.{end}", VATS, (), (), score=0, world_hash="0"))
        assert is_news(play, "wait")

    @pytest.mark.parametrize("turn", [{"turn": 3}, {}])
    @pytest.mark.parametrize(
        ("action", "after"),
        [("read writing", {"score": 5}), ("up", {"score": 5, "location": LOFT}), ("eat", {"died": True})],
    )
    def test_points_and_deaths_that_a_memory_tells_are_no_news_until_it_goes(
        self, tmp_path: Path, turn: dict[str, Any], action: str, after: dict[str, Any]
    ) -> None:
        play = play_at_the_vats(tmp_path, learnt("Chant here", **turn))
        there = replace(play.now, text="Blue Vats")
        assert is_news(play, action, "You hum. A gull cries.", **after)
        for episode in (2, 3):
            play.begin(episode, there)
            play.now = there
            assert not is_news(play, action, "You hum. It is late.", **after)
        file = tmp_path / "Memories.md"
        file.write_text(file.read_text().split("**[")[0])
        play.begin(4, there)
        assert is_news(play, action, "You hum. It rains.", **after)

    def test_what_others_say_after_the_answer_is_no_news_unless_it_is_long_and_new(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        assert is_news(play, "take beam", "You can't reach that.\n\nThe man is lost in thoughts.")
        assert not is_news(play, "take beam", "You can't reach that.\n\nA sound like wailing is heard.")
        assert is_news(play, "take beam", f"You can't reach that.\n\n{LONG}")
        assert not is_news(play, "take beam", f"You can't reach that.\n\n{LONG} The man sighs.")

    def test_what_only_a_clock_has_changed_is_no_news(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        assert not is_news(play, "z", "Time passes.", world_hash="1")
        assert is_news(play, "z", "Time passes.", visible=(MORDANT,))
        assert is_news(play, "press button", "Click.", world_hash="2")
        assert not is_news(play, "examine desk", "It is well used.", world_hash="3")

    def test_points_whose_memory_was_proven_false_are_news(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path, learnt("Chant here"))
        there = play.now
        assert is_news(play, "read writing", "You hum.", score=5)
        play.manager.invalidate_memory(VATS.num, "Chant here", "it was the dyer who hummed")
        play.now = there
        assert is_news(play, "read writing", "You hum.", score=5)

    def test_what_a_person_deleted_is_asked_about_once_more(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path, learnt("Beam is too high"))
        assert is_news(play, "take beam", "You can't reach that.")
        assert not is_news(play, "take beam", "You can't reach that.")
        file = tmp_path / "Memories.md"
        file.write_text(file.read_text().split("**[")[0])
        later = play_at_the_vats(tmp_path)
        assert is_news(later, "take beam", "You can't reach that.")
        assert not is_news(later, "take beam", "You can't reach that.")

    @pytest.mark.parametrize("told", ["`up` is barred.", "The way 'up' is barred."])
    def test_a_success_where_a_memory_says_that_it_fails_is_news_once(self, tmp_path: Path, told: str) -> None:
        play = play_at_the_vats(tmp_path)
        there = play.now
        play.manager.add_memory(VATS.num, VATS.name, memory("No way on", category="FAILURE", text=told))
        assert is_news(play, "up", "Loft", location=LOFT)
        play.now = there
        assert not is_news(play, "up", "Loft", location=LOFT)

    @pytest.mark.parametrize("told", ["Do not fill it up.", "`up` leads to the loft."])
    def test_a_walk_that_no_memory_speaks_against_is_no_news(self, tmp_path: Path, told: str) -> None:
        play = play_at_the_vats(tmp_path)
        category = "FAILURE" if "fill" in told else "NOTE"
        play.manager.add_memory(VATS.num, VATS.name, memory("No way on", category=category, text=told))
        assert not is_news(play, "up", "Loft", location=LOFT)

    def test_the_turn_of_success_is_among_those_of_the_memory(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path, learnt("Chimney lets nobody up who carries much"))
        play.now = replace(play.now, inventory=(MORDANT,))
        play.turn("up", "You can't get up there with what you're carrying.")
        play.turn("drop jar", "Dropped.", inventory=())
        play.turn("up", "Loft", location=LOFT)
        (kept,) = play.manager.memory_cache[VATS.num]
        assert kept.turns == "4-5"

    def test_what_cannot_be_noted_is_known_to_this_run_at_least_and_one_warning(self, tmp_path: Path) -> None:
        (tmp_path / "memory_news.txt").touch()
        play = MemoryPlay(tmp_path, silent)
        (tmp_path / "memory_news.txt").unlink()
        (tmp_path / "memory_news.txt").mkdir()
        with capture_logs() as logs:
            assert is_news(play, "take beam", "You can't reach that.")
            assert is_news(play, "take vat", "You can't lift it.")
            assert not is_news(play, "take beam", "You can't reach that.")
        assert [entry["log_level"] for entry in logs] == ["warning"]

    def test_a_pipe_of_that_name_is_an_error_and_does_not_wait(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "news.txt")
        with pytest.raises(StoreError, match="not a regular file"):
            NewsLedger(tmp_path / "news.txt", print)

    def test_the_ledger_forgets_the_oldest_and_never_grows_without_end(self, tmp_path: Path) -> None:
        path = tmp_path / "news.txt"
        path.write_text("".join(f"{number:016x}\n" for number in range(2 * MOST_REMEMBERED + 1)))
        NewsLedger(path, print)
        assert len(path.read_text().split()) == MOST_REMEMBERED
        assert path.read_text().endswith(f"{2 * MOST_REMEMBERED:016x}\n")


class TestOneQuestionAVisit:
    def test_the_news_of_a_visit_are_considered_together_when_the_player_leaves(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        play.turn("take jar", "Taken.", inventory=(MORDANT,))
        play.turn("open sluice", "Done.", world_hash="1")
        assert play.prompts == []
        play.turn("up", "Loft", location=LOFT)
        assert len(play.prompts) == 1
        assert re.findall(r"^Turn (\d+): (.*) \(", play.prompts[0].split("WHAT IS NEW")[1], re.MULTILINE) == [
            ("3", "take jar"),
            ("4", "open sluice"),
        ]

    @pytest.mark.parametrize("after", [{"died": True}, {"ending": "lost"}, {"location": None}])
    def test_news_do_not_wait_longer_than_a_death_or_an_ending(self, tmp_path: Path, after: dict[str, Any]) -> None:
        play = play_at_the_vats(tmp_path)
        play.turn("drink dye", "You can't breathe.", **after)
        assert len(play.prompts) == 1

    def test_the_same_outcome_counts_once_in_a_visit(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        for _ in range(3):
            play.turn("take beam", "You can't.")
        play.manager.end()
        assert play.prompts[0].split("WHAT IS NEW")[1].count("take beam") == 1

    def test_news_wait_five_turns_at_most(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        play.turn("take jar", "Taken.", inventory=(MORDANT,))
        for _ in range(3):
            play.turn()
        assert play.prompts == []
        play.turn()
        assert len(play.prompts) == 1

    def test_news_of_two_locations_are_never_mixed(self, tmp_path: Path) -> None:
        """Setting the story back to another turn, as a resumed run does, is not a move."""
        play = play_at_the_vats(tmp_path)
        play.turn("take jar", "Taken.", inventory=(MORDANT,))
        play.now = replace(play.now, location=LOFT)
        play.turn("take beam", "You can't.")
        play.manager.end()
        assert [re.findall(r"^LOCATION: (.*) \(", prompt)[0] for prompt in play.prompts] == [VATS.name, LOFT.name]

    def test_a_new_episode_loses_no_news_of_the_last(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        play.turn("take jar", "Taken.", inventory=(MORDANT,))
        play.begin(play.state.episode + 1)
        assert "take jar" in play.prompts[0]

    def test_every_memory_stands_where_its_turn_began_with_that_turns_figures(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, [{"memories": [learnt("a", turn=3), learnt("b"), learnt("c", turn=99)]}])
        play.turn("north", "Blue Vats", location=VATS)
        play.turn("take jar", "Taken.", inventory=(MORDANT,))
        play.turn("dip banner", "Blue!", score=5)
        play.turn("enter chute", "Loft", location=LOFT)
        kept = play.manager.memory_cache
        assert [(each.title, each.turns, each.score_change) for each in kept[VATS.num]] == [
            ("a", "3", 5),
            ("b", "2-4", 5),
            ("c", "2-4", 5),
        ]
        assert LOFT.num not in kept


def play_with_a_map(workdir: Path, *answers: dict[str, object]) -> MemoryPlay:
    """The player has come from the gate to the vats in turn 1."""
    play = MemoryPlay(workdir, answers)
    log = structlog.get_logger()
    game_map = MapManager(log, play.config, play.state)
    play.manager = SimpleMemoryManager(log, play.config, play.state, play.llm, map_manager=game_map)
    play.learners = (game_map, play.manager)
    play.turn("north", "Blue Vats", location=VATS)
    return play


class TestOtherLocations:
    """Two false guesses stayed for three episodes: they were of a room that the player had left."""

    def test_a_memory_may_be_about_another_location_on_the_map_where_it_is_never_core(self, tmp_path: Path) -> None:
        about = [learnt(f"At {place}", "core", location_id=place) for place in (GATE.num, LOFT.num)]
        play = play_with_a_map(tmp_path, {"memories": about})
        play.turn("read plaque", LONG)
        play.turn("pull lever", "The gate behind you falls shut.", world_hash="1")
        play.manager.end()
        kept = play.manager.memory_cache
        assert [(each.title, each.persistence) for each in kept[GATE.num]] == [(f"At {GATE.num}", "permanent")]
        assert [each.title for each in kept[VATS.num]] == [f"At {LOFT.num}"]

    def test_titles_of_locations_seen_in_this_episode_are_shown_and_can_be_given_up(self, tmp_path: Path) -> None:
        answers: list[dict[str, object]] = [
            {"memories": [learnt("Lever shuts it", supersedes_memory_titles=["Gate may lock itself"])]},
            {"memories": [learnt("Left a rag", "ephemeral", supersedes_memory_titles=["Gate is old"])]},
        ]
        play = play_with_a_map(tmp_path, *answers)
        play.manager.add_memory(GATE.num, GATE.name, memory("Gate is old"))
        play.manager.add_memory(GATE.num, GATE.name, memory("Gate may lock itself", status="TENTATIVE"))
        play.manager.add_memory(LOFT.num, LOFT.name, memory("Loft is dry"))
        for number, world in enumerate(("1", "2")):
            play.turn(f"pull lever {number}", "The gate behind you falls shut.", world_hash=world)
            play.manager.end()
        shown = play.prompts[0].split("MEMORIES OF OTHER LOCATIONS, seen in this episode:\n")[1].split("\n\n")[0]
        assert shown.splitlines() == [
            f"- [NOTE - PERMANENT - TENTATIVE] Gate may lock itself (Location {GATE.num}): About Gate may lock itself.",
            f"- [NOTE - PERMANENT - ACTIVE] Gate is old (Location {GATE.num})",
        ]
        old, guess = play.manager.memory_cache[GATE.num]
        assert old.status == "ACTIVE"  # a memory of this episode alone takes the place of no other
        assert (guess.status, guess.invalidation_reason) == ("SUPERSEDED", f"Location {VATS.num}: Lever shuts it")

    def test_a_tentative_memory_is_shown_with_its_command_that_worked_again(self, tmp_path: Path) -> None:
        play = play_with_a_map(tmp_path, NOTHING, NOTHING)
        guess = memory("Lever shuts the gate", status="TENTATIVE", text="`pull lever` seems to shut it.", episode=0)
        play.manager.add_memory(VATS.num, VATS.name, guess)
        play.turn("pull lever", "The gate behind you falls shut.", world_hash="1", score=1)
        play.turn("take beam", "You can't.")
        play.manager.end()
        assert "TENTATIVE] Lever shuts the gate (`pull lever` worked again in turn 2): `pull" in play.prompts[0]


class TestPrompt:
    def test_what_never_changes_is_in_the_system_role(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        play.turn("take beam", "You can't.")
        play.turn("up", "Loft", location=LOFT)
        call = play.llm.calls[0]
        assert (call.role, call.schema) == ("memory", VisitSynthesis)
        assert call.prompt.system == fill_prompt("memory")
        for phrase in (
            "MEMORY PERSISTENCE CLASSIFICATION",
            "**CORE**",
            "spawn state",
            "**PERMANENT**",
            "**EPHEMERAL**",
            "Agent-caused state changes",
            "MULTI-STEP PROCEDURE DETECTION",
        ):
            assert phrase in call.prompt.system

    def test_a_first_visit_shows_what_the_story_printed_on_arrival(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, silent)
        play.turn("north", f"Blue Vats\n{LONG}", location=VATS)
        play.turn("take jar", "Taken.", inventory=(MORDANT,))
        play.turn("up", "Loft", location=LOFT)
        (prompt,) = play.prompts
        assert f"On arrival the story showed: Blue Vats\n{LONG}" in prompt
        assert "visit status: FIRST VISIT" in prompt
        play.turn("down", "Blue Vats", location=VATS)
        play.turn("take beam", "You can't.")
        play.manager.end()
        assert "visit status: RETURN VISIT" in play.prompts[-1]
        assert "On arrival" not in play.prompts[-1]

    def test_existing_memories_are_shown_with_their_status(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        play.manager.add_memory(VATS.num, VATS.name, memory("Old"))
        play.manager.supersede_memory(VATS.num, VATS.name, "Old", memory("New", status="TENTATIVE"))
        play.manager.add_memory(VATS.num, VATS.name, memory("Left jar", "ephemeral"))
        play.turn("take beam", "You can't.")
        play.manager.end()
        shown = play.prompts[0].split("EXISTING MEMORIES:\n")[1].split("\n\n")[0]
        assert shown.splitlines() == [
            "- [NOTE - PERMANENT - TENTATIVE] New: About New.",
            "- [NOTE - EPHEMERAL - ACTIVE] Left jar: About Left jar.",
            "- [NOTE - PERMANENT - SUPERSEDED] Old",
        ]

    def test_the_window_of_turns_before_the_news_is_as_configured(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path, memory_sampling={"memory_history_window": 2})
        for number in range(4):
            play.turn(f"wait {number}")
        play.turn("take beam", "You can't.")
        play.manager.end()
        sequence = play.prompts[0].split("RECENT ACTION SEQUENCE:\n")[1].split("\n\nAGENT'S REASONING")[0]
        assert sequence == (
            "Turn 6 [Blue Vats]: wait 3\nResponse: Time passes.\n\nTurn 7 [Blue Vats]: take beam\nResponse: You can't."
        )
        assert "AGENT'S REASONING:\nTurn 6: because of wait 3\nTurn 7: because of take beam\n\nWHAT" in play.prompts[0]

    def test_an_outcome_that_the_state_has_not_recorded_yet_ends_the_sequence(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, silent)
        play.state.turn_count = 48
        play.state.action_history.append(PlayedAction("open hatch", "It opens."))
        context: ZMachineContext = {"location_changed": True}
        play.manager.record_action_outcome(31, "Blue Vats", "enter hatch", "You climb in.", context)
        assert (
            "Turn 48: open hatch\nResponse: It opens.\n\nTurn 49 [Blue Vats]: enter hatch\nResponse: You climb in."
            in play.prompts[0]
        )

    @pytest.mark.parametrize(
        ("action", "response", "facts", "expected"),
        [
            ("look", LONG, {"first_visit": True}, [("Long response", "core")]),
            (
                "read labels",
                "You can't.",
                {"first_visit": True, "arrival_text": LONG},
                [("Long description", "core"), FAILED],
            ),
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
            ("take beam", "You can't.", {}, [FAILED]),
            ("put jar in vat", "It does not fit.", {}, [FAILED]),
            ("inventory", "You are carrying nothing.", {}, []),
            ("wake man", f"He wakes. {LONG} He can't remember.", {"world_changed": True}, []),
            ("push statues", "They cannot be moved. No, wait: one comes off!", {"inventory_changed": True}, [HANDLED]),
            ("push statues", "They cannot be moved. No, wait: one gives way!", {"sight_changed": True}, []),
            ("read writing", "It is not long.", {"score_delta": 5}, [("Score increase", "permanent")]),
            ("jump", "That cannot end well, and does not.", {"died": True}, [("Death suggests", "permanent")]),
        ],
    )
    def test_signals_are_facts_and_a_failure_only_a_hint_in_a_short_answer_without_effect(
        self, action: str, response: str, facts: dict[str, Any], expected: list[tuple[str, str]]
    ) -> None:
        signals = signals_of(outcome(action, response, **facts))
        assert [(" ".join(words.split()[:2]), tier) for words, tier in signals] == expected

    def test_signals_are_told_with_their_tier_and_their_absence_too(self, tmp_path: Path) -> None:
        told = []
        for action, response in (("take beam", "You can't."), ("read plaque", LONG)):
            play = MemoryPlay(tmp_path / action, silent)
            play.manager.record_action_outcome(31, "Blue Vats", action, response, {})
            told.append(play.prompts[0].split("CONTEXT SIGNALS:\n")[1])
        assert "Failed action, as a hint from the wording alone (likely PERMANENT)" in told[0]
        assert told[1].startswith(NO_SIGNALS)

    def test_the_long_description_is_a_signal_about_the_turn_of_the_arrival(self, tmp_path: Path) -> None:
        """It named the turn after it."""
        play = MemoryPlay(tmp_path, silent)
        play.begin(1, Observation("A gate.", LOFT, (), (), score=0))
        play.turn("down", f"Blue Vats\n{LONG}", location=VATS)
        play.turn("take beam", "You can't.")
        play.manager.end()
        assert "• Turn 1: Long description on arrival at a first visit" in play.prompts[-1]
        assert "• Turn 2: Failed action" in play.prompts[-1]

    def test_what_came_of_a_turn_is_said_in_the_machines_words(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        vat = GameObject(72, "lid", attributes=frozenset({3}))
        play.turn("open lid", "You can't say that it was shut.", visible=(vat,))
        play.turn("take jar", "You can't miss it.", visible=(vat,), inventory=(MORDANT,))
        play.turn("take beam", "You can't.")
        play.manager.end()
        assert play.prompts[0].split("WHAT IS NEW HERE:\n")[1].split("\n\n")[0].strip().splitlines() == [
            "Turn 3: open lid (the player stayed, something in sight changed)",
            "Turn 4: take jar (the player stayed, took jar of mordant)",
            "Turn 5: take beam (the player stayed)",
        ]

    def test_four_blows_have_four_answers(self, tmp_path: Path) -> None:
        blows = ("You miss.", "The troll staggers.", "The axe gets you in the side.", "The troll dies.")
        play = MemoryPlay(tmp_path, silent)
        for blow in blows:
            play.turn("attack troll with sword", blow, world_hash=blow)
        play.manager.end()
        (prompt,) = play.prompts
        assert re.findall(r"^Response: (.*)$", prompt, re.MULTILINE) == [*blows]
        reasoning = prompt.split("AGENT'S REASONING:\n")[1].split("\n\n")[0]
        assert reasoning.splitlines() == [f"Turn {turn}: because of attack troll with sword" for turn in range(1, 5)]

    def test_the_text_of_the_arrival_stands_there_once(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, silent)
        play.turn("north", f"Blue Vats\n{LONG}\n", location=VATS)
        play.turn("take jar", "Taken.", inventory=(MORDANT,))
        play.manager.end()
        assert play.prompts[-1].count(LONG) == 1
        assert f"Turn 1 [Dye Works Gate]: north\nResponse: {TOLD_BELOW}" in play.prompts[-1]

    def test_the_cause_of_a_death_and_a_memory_that_may_be_rewritten_are_shown_whole(self, tmp_path: Path) -> None:
        chant = "Once again you read the syllables of the chant aloud. " * 12 + "A creature quickly bites your throat."
        known = "An object rests on top of the door, as one could spot from the stairs. " * 6 + "Untried: a tall man."
        play = MemoryPlay(tmp_path, silent)
        play.manager.add_memory(GATE.num, GATE.name, memory("Something is up there", text=known))
        play.turn("read writing", chant, died=True)
        (prompt,) = play.prompts
        assert f"Response: {chant}" in prompt
        assert f"Something is up there: {known}" in prompt

    def test_the_version_of_the_story_is_left_out_of_its_opening(self, tmp_path: Path) -> None:
        opening = (
            "You dream.\n\nThe Dye Works\n(c) 2002\n\nRelease 2 / Serial number 021118\n\nDye Works Gate\nIt creaks."
        )
        play = MemoryPlay(tmp_path, silent)
        play.begin(1, replace(play.now, text=opening))
        play.turn("take beam", "You can't.")
        play.manager.end()
        assert "On arrival the story showed: You dream.\n\nDye Works Gate\nIt creaks.\nTurn 1: " in play.prompts[0]

    def test_a_signal_of_several_turns_is_told_once(self, tmp_path: Path) -> None:
        play = play_at_the_vats(tmp_path)
        for command in ("take beam", "kick beam", "eat beam"):
            play.turn(command, "You can't.")
        play.turn("take jar", "Taken.", inventory=(MORDANT,))
        play.manager.end()
        assert play.prompts[0].split("CONTEXT SIGNALS:\n")[1].split("\n\n")[0].splitlines() == [
            "• Turns 3, 4, 5: Failed action, as a hint from the wording alone (likely PERMANENT)",
            "• Turn 6: Inventory changed without movement suggests item manipulation (likely EPHEMERAL)",
        ]

    def test_what_was_given_up_is_shown_by_its_title_as_far_as_there_is_room(self) -> None:
        old = [memory(f"Old {number}").superseded("New", 3) for number in range(9)]
        text, _ = existing_memories([*old, memory("New", text="x" * 50)], {}).fit(130)
        assert text.splitlines() == [
            f"- [NOTE - PERMANENT - ACTIVE] New: {'x' * 50}",
            "- [NOTE - PERMANENT - SUPERSEDED] Old 0",
        ]


class TestAnswers:
    def test_a_lone_answer_counts_as_a_list_of_one(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, [learnt("a")])
        play.manager.record_action_outcome(31, "Blue Vats", "take beam", "You can't.", {})
        assert titles(play.manager.memory_cache) == ["a"]

    def test_core_on_a_return_visit_becomes_permanent_with_a_warning_and_a_count(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, [learnt("a", "core"), learnt("b", "core")])
        with capture_logs() as logs:
            play.manager.record_action_outcome(31, "Blue Vats", "look", LONG, {"first_visit": True})
            play.manager.record_action_outcome(31, "Blue Vats", "push vat", "You can't.", {"first_visit": False})
        assert [kept.persistence for kept in play.manager.memory_cache[31]] == ["core", "permanent"]
        assert play.metrics["core_validation_downgrade"] == 1
        assert [
            "downgrading to PERMANENT" in str(entry["event"]) for entry in logs if entry["log_level"] == "warning"
        ] == [True]

    def test_titles_are_superseded_and_invalidated(self, tmp_path: Path) -> None:
        play = MemoryPlay(
            tmp_path,
            [
                learnt(
                    "New",
                    supersedes_memory_titles=["OLD", "never heard of"],
                    invalidate_memory_titles=["False"],
                    invalidation_reason="no",
                )
            ],
        )
        for title in ("Old", "False"):
            play.manager.add_memory(31, "Blue Vats", memory(title))
        play.manager.record_action_outcome(31, "Blue Vats", "take beam", "You can't.", {})
        assert titles(play.manager.memory_cache) == ["New"]
        assert [kept.superseded_by for kept in play.manager.memory_cache[31]] == ["New", "INVALIDATED", None]

    @pytest.mark.parametrize("answer", [{"should_remember": False}, learnt("Old")])
    def test_titles_are_invalidated_even_if_there_is_nothing_new_to_remember(
        self, tmp_path: Path, answer: dict[str, object]
    ) -> None:
        play = MemoryPlay(tmp_path, [{**answer, "invalidate_memory_titles": ["False"], "invalidation_reason": "no"}])
        for title in ("Old", "False"):
            play.manager.add_memory(31, "Blue Vats", memory(title))
        play.manager.record_action_outcome(31, "Blue Vats", "take beam", "You can't.", {})
        assert titles(play.manager.memory_cache) == ["Old"]

    def test_an_ephemeral_memory_that_would_supersede_a_persistent_one_is_refused(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, [learnt("Left jar", "ephemeral", supersedes_memory_titles=["Old"])])
        play.manager.add_memory(31, "Blue Vats", memory("Old"))
        play.manager.record_action_outcome(31, "Blue Vats", "drop jar", "Dropped.", {"inventory_changed": True})
        assert titles(play.manager.memory_cache) == ["Old"]
        assert play.manager.ephemeral_cache == {}
        assert play.metrics["refused"] == 1

    def test_an_ephemeral_memory_may_invalidate_a_persistent_one(self, tmp_path: Path) -> None:
        play = MemoryPlay(
            tmp_path, [learnt("Left jar", "ephemeral", invalidate_memory_titles=["Old"], invalidation_reason="no")]
        )
        play.manager.add_memory(31, "Blue Vats", memory("Old"))
        play.manager.record_action_outcome(31, "Blue Vats", "drop jar", "Dropped.", {"inventory_changed": True})
        assert titles(play.manager.memory_cache) == []
        assert titles(play.manager.ephemeral_cache) == ["Left jar"]

    def test_of_a_long_answer_eight_memories_are_kept_with_as_much_of_their_words_as_fits(self, tmp_path: Path) -> None:
        memories = [
            learnt(f"{n}{'t' * 900}", memory_text=f"  {'x' * 9000} ", reasoning="r" * 99_000) for n in range(50)
        ]
        play = MemoryPlay(tmp_path, [{"memories": memories}])
        with capture_logs() as logs:
            play.manager.record_action_outcome(31, "Blue Vats", "take beam", "You can't.", {})
        kept = play.manager.memory_cache[31]
        assert [each.title[0] for each in kept] == [*"01234567"]
        assert {(len(each.title), len(each.text)) for each in kept} == {(120, 1000)}
        assert max(len(str(entry.get("reasoning"))) for entry in logs) <= 200

    @pytest.mark.parametrize(
        "reply", [LanguageModelUnavailable("no server"), {"should_remember": True}, {"memories": "rubbish"}]
    )
    def test_a_model_that_is_down_or_answers_rubbish_never_stops_play(self, tmp_path: Path, reply: Reply) -> None:
        play = MemoryPlay(tmp_path, [reply])
        with capture_logs() as logs:
            play.manager.record_action_outcome(31, "Blue Vats", "take beam", "You can't.", {})
        assert [entry["log_level"] for entry in logs] == ["warning"]
        assert play.metrics["synthesis_failures"] == 1
        assert play.manager.memory_cache == {}

    def test_a_new_memory_that_the_model_calls_superseded_is_tentative(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, [learnt("a", status="SUPERSEDED")])
        play.manager.record_action_outcome(31, "Blue Vats", "take beam", "You can't.", {})
        assert play.manager.memory_cache[31][0].status == "TENTATIVE"

    def test_a_room_without_a_name_can_be_remembered(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, [learnt("a")])
        play.turn("wait", location=Location(77, ""))
        play.turn("take beam", "You can't.")
        play.manager.end()
        assert "LOCATION: Location #77 (ID: 77)" in play.prompts[-1]

    def test_without_a_model_nothing_is_synthesised_and_nothing_is_taken_for_considered(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, silent)
        play.manager.llm_client = None
        play.turn("take beam", "You can't.")
        play.manager.end()
        play.manager.llm_client = play.llm
        assert is_news(play, "take beam", "You can't.")


def test_a_model_may_name_a_tier_in_capitals_as_the_prompts_do() -> None:
    answer = VisitSynthesis.model_validate({"memories": [learnt(persistence="CORE")]})
    assert answer.memories[0].persistence == "core"
