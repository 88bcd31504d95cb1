"""Objectives are found, judged on facts, capped, and never stop play."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from managers.objectives import AT_LAST, GIVEN_UP, Evidence, Objective
from session.errors import BudgetSpent, LanguageModelUnavailable, ResponseInvalid
from session.game_state import GameState
from session.memory import Memory
from session.values import GameObject, ObjectiveNote, Observation, Proposal, TurnRecord, Verdict
from tests.fixtures.dye_works import ACCEPTED, BANNER, GATE, LOFT, MORDANT, VATS
from tests.fixtures.scripted_llm import Reply
from tests.unit.managers.objective_parts import Memories, ObjectivePlay, found

NOTHING: dict[str, object] = {}


def test_the_model_is_asked_once_an_interval_in_the_role_for_analysis(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, lambda *_: NOTHING)
    for turn, calls in ((19, 0), (20, 1), (39, 1), (40, 2), (396, 19)):
        play.wait_until(turn)
        assert play.manager.process_periodic_update() == ()
        assert [call.role for call in play.llm.calls] == ["analysis"] * calls
    assert play.metrics["updates"] == 19


@pytest.mark.parametrize(
    ("memory_of", "options", "first"),
    [(1, {}, 1), (2, {}, 20), (1, {"enable_enhanced_objectives": False}, 20)],
    ids=["an earlier episode's", "this episode's own", "an earlier one's, which the prompt would not show"],
)
def test_memories_of_an_earlier_episode_are_knowledge_to_begin_with(
    tmp_path: Path, memory_of: int, options: dict[str, object], first: int
) -> None:
    memory = Memory("NOTE", "The sluice is barred", memory_of, "3", 0, "It is barred from within.", "permanent")
    memories = Memories({GATE.num: [memory]})
    play = ObjectivePlay(tmp_path, lambda *_: NOTHING, memories=memories, episode=2, **options)
    while not play.llm.calls:
        play.turn()
    assert play.manager.asked_turn == first


@pytest.mark.parametrize(
    ("knowledge_asks", "asked"), [((), [3, 6]), ((3,), [4, 7]), ((6,), [3, 7]), (range(1, 9), [4, 8])]
)
def test_knowledge_and_objectives_are_not_updated_in_one_turn(
    tmp_path: Path, knowledge_asks: Sequence[int], asked: list[int]
) -> None:
    """Both prompts are long. If knowledge is updated every turn, objectives still are."""
    play = ObjectivePlay(tmp_path, lambda *_: NOTHING, objective_update_interval=3)
    turns = []
    for turn in range(1, 9):
        play.knowledge.asked_turn = turn if turn in knowledge_asks else 0
        play.turn()
        turns.append(play.manager.asked_turn)
    assert sorted(set(turns) - {0}) == asked


def test_what_the_agent_says_of_objectives_holds_at_once_and_asks_no_model(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [found("Open the sluice", "Climb the chute")])
    play.wait_until(24)
    play.turn(objective=ObjectiveNote(done=1))
    assert play.manager.text() == "2. Climb the chute"
    objective = play.manager.objectives[0]
    assert (objective.status, objective.ended_turn, objective.ending) == ("completed", 25, "turn 24")
    verdicts = (Verdict(accepted=False), ACCEPTED)  # of a command that was sent back the note counts, and only once
    play.turn("take banner", verdicts=verdicts, objective=ObjectiveNote(new="Dye the  banner"))
    assert play.manager.objectives[2:] == (Objective(3, "Dye the banner", 26, "the player's own"),)
    assert play.metrics["refused"] == 0
    for note in (ObjectiveNote(done=7), ObjectiveNote(new="climb THE chute")):
        play.turn(objective=note)
    assert play.texts == ["Climb the chute", "Dye the banner"]
    assert (play.metrics["refused"], len(play.llm.calls)) == (2, 1)


def test_nobody_is_asked_without_need(tmp_path: Path) -> None:
    for enabled, game_over in ((False, False), (True, True)):
        play = ObjectivePlay(tmp_path, objectives={"enabled": enabled})
        play.state.turn_count = 20
        play.state.latest = replace(play.state.latest, ending="lost" if game_over else None)
        assert play.manager.process_periodic_update() == ()
        assert play.llm.calls == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" Fill  the\nvat ", "Fill the vat (Location 11)"),
        ("stir " * 200, f"{'stir ' * 200}(Location 11)"),
        ("Fill the vat at location 11", "Fill the vat at location 11"),
        ("Fill the vat at Location #11.", "Fill the vat at Location #11."),
        ("Fill the vat at Dye Works (11)", "Fill the vat at Dye Works (11)"),
        ("Fill 11 vats, not those of Location 112", "Fill 11 vats, not those of Location 112 (Location 11)"),
    ],
)
def test_the_text_is_kept_whole_and_names_the_location_id_once(tmp_path: Path, text: str, shown: str) -> None:
    answer = {"objectives": [{"text": text, "location_id": 11, "evidence": "e" * 900}]}
    play = ObjectivePlay(tmp_path, [answer])
    play.wait_until(20)
    assert play.manager.objectives == (Objective(1, shown, 20, "e" * 900, 11),)


@pytest.mark.parametrize(("rest", "place"), [("Sell the banner", None), ("Sell it at the loft (44)", 44)])
def test_the_rest_of_an_objective_has_the_place_that_it_names(tmp_path: Path, rest: str, place: int | None) -> None:
    answer = {"objectives": [{"text": "Dip and sell the banner", "location_id": 11, "evidence": "a sign"}]}
    play = ObjectivePlay(tmp_path, [answer])
    play.wait_until(20)
    play.turn("dip banner", objective=ObjectiveNote(1, rest=rest))
    (left,) = play.manager.objectives
    assert (left.text, left.location_id) == (rest, place)


def test_several_objectives_are_taken_at_once_and_of_one_only_the_rest_stays(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [found("Find the key and read the log", "Fill the lamp", "Dye the banner")])
    play.wait_until(20)
    play.turn("fill lamp", objective=ObjectiveNote(1, "Dry it", "Read the log", (2,), ("Sell it",)))
    assert play.texts == ["Read the log", "Dye the banner", "Dry it", "Sell it"]
    assert [each.status for each in play.manager.objectives][:2] == ["active", "completed"]
    play.turn("wait", objective=ObjectiveNote(2, rest="Fill it again"))
    assert "Fill it again" not in play.texts


def test_an_objective_that_the_player_gives_up_is_dropped_and_not_completed(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [found("Fill the lamp", "Dye the banner")])
    play.wait_until(20)
    play.turn("wait", objective=ObjectiveNote(dropped=(2, 7)))
    assert [(each.status, each.ending) for each in play.manager.objectives] == [("active", ""), ("dropped", GIVEN_UP)]
    assert play.metrics["refused"] == 1


def test_what_was_achieved_in_the_episode_and_never_marked_counts_at_its_end(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [found("Fill the lamp", "Dye the banner")])
    play.wait_until(20)
    assert "Objective 2, not marked as achieved: Dye the banner" in play.manager.outlook()
    play.turn("dip banner", "It turns blue.")
    play.turn()
    play.manager.achieve_at_last([2, 9])
    (_, dyed) = play.manager.objectives
    assert (dyed.status, dyed.ending) == ("completed", AT_LAST)


@pytest.mark.parametrize(("command", "asked"), [("dip banner in vat", 0), ("stir vat", 1)])
def test_objectives_are_not_asked_about_while_the_plan_is_on_course(tmp_path: Path, command: str, asked: int) -> None:
    (tmp_path / "knowledgebase.md").write_text("## NEXT EPISODE\n\n- At the gate: dip banner in vat, then go up\n")
    play = ObjectivePlay(tmp_path, lambda *_: {})
    for score in range(1, 26):
        play.turn(command if score % 15 == 0 else "wait", score=score // 15)
        play.manager.process_periodic_update()
    assert len(play.llm.calls) == asked


def test_objectives_are_not_asked_about_while_the_commands_of_the_plan_are_played(tmp_path: Path) -> None:
    (tmp_path / "knowledgebase.md").write_text("## NEXT EPISODE\n\n- Look behind the vats\n")
    play = ObjectivePlay(tmp_path, lambda *_: {})
    for turn in range(1, 26):
        proposal = Proposal("wait", follow=0 if turn == 1 else None)
        verdict = Verdict(accepted=True, source="then" if turn <= 22 else "none")
        record = TurnRecord(1, turn, play.now, (proposal,), (verdict,), play.now)
        play.state.record(record)
        play.manager.learn(record)
    assert (len(play.llm.calls), play.manager.asked_turn) == (1, 21)


@pytest.mark.parametrize("named", ["L31", "Location 31", "location #31", "the vats (31)"])
def test_a_location_that_an_objective_names_is_not_added(tmp_path: Path, named: str) -> None:
    texts = [f"Dye at {named}", "Come at 31 minutes past one"]
    answer = {"objectives": [{"text": text, "location_id": VATS.num} for text in texts]}
    play = ObjectivePlay(tmp_path, [answer])
    play.map.game_map.add_room(VATS.num)
    play.wait_until(20)
    assert play.texts == [texts[0], f"{texts[1]} (Location 31)"]


def test_a_location_is_known_from_the_map_or_from_memories(tmp_path: Path) -> None:
    answer = {"objectives": [{"text": "Dye", "location_id": number} for number in (VATS.num, LOFT.num, 50)]}
    play = ObjectivePlay(tmp_path, [answer], memories=Memories({LOFT.num: []}, {50: []}))
    play.map.game_map.add_room(VATS.num)
    play.wait_until(20)
    assert play.texts == ["Dye (Location 31)", "Dye (Location 44)", "Dye (Location 50)"]


@pytest.mark.parametrize(
    "nonsense",
    [
        {"completed": [{"id": 1, "turn": 41}]},
        {"completed": [{"id": 1, "turn": 0}]},
        {"completed": [{"id": 1, "turn": 19}]},
        {"completed": [{"id": 7, "turn": 33}]},
        {"dropped": [{"id": -1, "reason": "?"}]},
        found("  OPEN the \t sluice"),
        found(" \n "),
        {"objectives": [{"text": "Find the spring", "location_id": 999}]},
    ],
)
def test_what_makes_no_sense_changes_nothing_and_is_counted(tmp_path: Path, nonsense: dict[str, object]) -> None:
    play = ObjectivePlay(tmp_path, [found("Open the sluice"), nonsense])
    play.wait_until(39)
    before = play.manager.objectives
    play.wait_until(40)
    assert play.manager.objectives == before
    assert play.metrics["refused"] == 1
    assert play.metrics["failures"] == 0


def test_what_makes_sense_of_an_answer_is_taken_in_spite_of_the_rest_and_two_can_be_merged_into_one(
    tmp_path: Path,
) -> None:
    answer = {
        "objectives": ["Soak and wring the banner", "Soak and wring the banner"],
        "completed": [{"id": 1, "turn": 21}, {"id": 9, "turn": 21}],
        "dropped": [{"id": 1, "reason": "done"}, {"id": 2, "reason": "merged"}],
    }
    play = ObjectivePlay(tmp_path, [found("Soak it", "Wring it", "Sell it"), answer], objectives={"max_active": 2})
    play.wait_until(20)
    assert play.texts == ["Soak it", "Wring it"], "no more than the cap"
    play.wait_until(40)
    assert play.texts == ["Soak and wring the banner"]
    assert [objective.status for objective in play.manager.objectives] == ["completed", "dropped", "active"]
    assert play.manager.objectives[1].ending == "merged"
    assert play.metrics["refused"] == 4


def test_what_was_completed_is_not_found_again_but_what_was_dropped_may_be(tmp_path: Path) -> None:
    ended = {"completed": [{"id": 1, "turn": 21}], "dropped": [{"id": 2, "reason": "locked"}]}
    answers = [found("Open the sluice", "Climb the chute"), ended, found("Open the sluice", "Climb the chute")]
    play = ObjectivePlay(tmp_path, answers)
    play.wait_until(40)
    objective = play.manager.objectives[0]
    assert (objective.status, objective.ended_turn, objective.ending) == ("completed", 40, "turn 21")
    assert play.manager.text() == ""
    play.wait_until(60)
    assert play.texts == ["Climb the chute"]
    assert [objective.id for objective in play.manager.objectives] == [1, 2, 3]


GAIN: dict[str, Any] = {"action": "take banner", "inventory": (BANNER,)}
LOSS: dict[str, Any] = {"action": "drop banner", "inventory": (), "died": True, "score": -5}


@pytest.mark.parametrize(
    ("since", "location_id", "progress", "is_kept"),
    [
        (20, None, None, False),
        (21, None, None, True),
        (1, None, LOSS, False),
        (1, None, GAIN, True),
        (1, GATE.num, GAIN, True),
        (1, VATS.num, GAIN, False),
    ],
    ids=["no progress", "not for so long", "a loss", "anywhere", "at its place", "elsewhere"],
)
def test_an_objective_without_progress_is_dropped_as_stale(
    tmp_path: Path, since: int, location_id: int | None, progress: dict[str, Any] | None, is_kept: bool
) -> None:
    play = ObjectivePlay(tmp_path, lambda *_: NOTHING, objectives={"stale_after": 40})
    play.now = replace(play.now, inventory=(BANNER,) if progress is LOSS else ())
    play.manager.objectives = (Objective(1, "Dye", since, location_id=location_id),)
    play.wait_until(30)
    if progress:
        play.turn(**progress)
    play.wait_until(60)
    assert play.texts == (["Dye"] if is_kept else [])
    assert play.manager.objectives[0].ending == ("" if is_kept else "no progress")


WRONG = {"completed": "all", "dropped": [None], "objectives": [{"location_id": "Gate"}], "reasoning": 5}


@pytest.mark.parametrize("answer", [LanguageModelUnavailable("down"), ResponseInvalid("no JSON"), WRONG])
def test_a_model_that_fails_skips_the_update_and_is_asked_at_the_next_interval(tmp_path: Path, answer: Reply) -> None:
    play = ObjectivePlay(tmp_path, [answer, found("Open the sluice")])
    with capture_logs() as logs:
        play.wait_until(39)
    assert play.metrics["failures"] == 1
    assert len([log["error"] for log in logs if log["log_level"] == "warning"]) == 1
    play.wait_until(40)
    assert play.texts == ["Open the sluice"]


def test_a_spent_budget_is_no_failure_to_go_on_after(tmp_path: Path) -> None:
    with pytest.raises(BudgetSpent, match="spent"):
        ObjectivePlay(tmp_path, [BudgetSpent("spent")]).wait_until(20)


def test_the_agent_sees_open_objectives_until_the_episode_ends_which_change_at_updates_only(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [found("Open the sluice", "Climb the chute"), NOTHING])
    assert play.manager.text() == ""
    play.wait_until(20)
    text = play.manager.text()
    assert text == "1. Open the sluice\n2. Climb the chute"
    play.turn("take banner", inventory=(BANNER,), score=5)
    play.wait_until(40)
    assert play.manager.text() == text
    play.manager.reset(GameState(episode=2))
    assert (play.manager.objectives, play.manager.evidence, play.manager.asked_turn) == ((), (), 0)
    assert play.manager.get_status()["metrics"]["updates"] == 0
    assert play.manager.game_state.episode == 2


def test_points_and_belongings_count_where_the_turn_was_begun(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path)
    play.turn()
    play.turn("take all", score=5, inventory=(BANNER, MORDANT))
    play.turn("drop banner", score=3, inventory=(MORDANT, GameObject(9, "")), died=True)
    assert play.manager.evidence == (
        Evidence(2, GATE.num, "score_up", "score +5, now 5"),
        Evidence(2, GATE.num, "item_gained", "gained grey banner, jar of mordant"),
        Evidence(3, GATE.num, "score_down", "score -2, now 3"),
        Evidence(3, GATE.num, "item_gained", "gained object #9"),
        Evidence(3, GATE.num, "item_lost", "no longer carried: grey banner"),
        Evidence(3, GATE.num, "death", "the player died"),
    )


def test_a_room_is_new_once_in_an_episode_and_what_the_story_does_not_tell_is_no_evidence(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path)
    for room in (VATS, GATE, VATS):
        play.turn("go", location=room)
    new_room = Evidence(1, VATS.num, "new_room", "first visit in this game: Blue Vats (31)")
    assert play.manager.evidence == (new_room,)
    play.now = Observation("?", inventory=None)
    play.turn("x", score=5, inventory=(BANNER,), location=LOFT)
    assert play.manager.evidence == (new_room,)


def test_the_parts_of_its_prompt_can_be_asked_for_one_by_one(tmp_path: Path) -> None:
    memory = Memory("NOTE", "The sluice is barred", 1, "3", 0, "It is barred from within.", "permanent")
    play = ObjectivePlay(tmp_path, lambda *_: NOTHING, memories=Memories({GATE.num: [memory]}))
    manager = play.manager
    assert manager._get_full_knowledge() == "No strategic knowledge available."
    assert manager._format_memories([]) == "  (No memories)"
    assert "It is barred from within." in manager._format_memories([memory])
    for from_id, to_id in ((GATE.num, VATS.num), (VATS.num, LOFT.num)):
        play.map.game_map.add_connection(from_id, "north", to_id)
    assert manager._get_adjacent_room_ids(GATE.num) == [VATS.num]
    assert manager._get_adjacent_room_ids(GATE.num, max_depth=2) == sorted([VATS.num, LOFT.num])
    assert "The sluice is barred" in manager._get_memories_with_adjacent(VATS.num)
    assert f"L{VATS.num}" in manager._get_map_context()
    assert "north" in manager._get_routing_summary(GATE.num)
    manager.map_manager = manager.memory_manager = None
    assert manager._get_adjacent_room_ids(GATE.num) == []
    assert manager._get_map_context() == manager._get_routing_summary(GATE.num) == "No map data available"
    assert manager._get_memories_with_adjacent(GATE.num) == "No memory data available"
