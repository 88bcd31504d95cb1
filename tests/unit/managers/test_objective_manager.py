"""Objectives are found, judged on facts, capped, and never stop play."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from managers.objectives import LONGEST_TEXT
from session.errors import BudgetSpent, LanguageModelError, LanguageModelUnavailable, ResponseInvalid
from session.game_state import GameState
from session.memory import Memory
from session.objective import Objective
from session.values import ObjectiveNote, Verdict
from tests.fixtures.dye_works import ACCEPTED, BANNER, GATE, LOFT, VATS
from tests.unit.managers.objective_parts import Memories, ObjectivePlay, found

NOTHING: dict[str, object] = {}


def test_the_model_is_asked_once_an_interval_in_the_role_for_analysis(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, lambda *_: NOTHING)
    play.wait_until(396)
    assert [call.role for call in play.llm.calls] == ["analysis"] * 19
    assert play.metrics["updates"] == 19


def test_between_the_intervals_an_update_does_nothing(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [found("Open the sluice")], objective_update_interval=5)
    play.wait_until(4)
    assert play.llm.calls == []
    play.wait_until(5)
    assert play.manager.process_periodic_update() == ()
    assert len(play.llm.calls) == 1


def remembered(episode: int) -> Memories:
    memory = Memory("NOTE", "The sluice is barred", episode, "3", 0, "It is barred from within.", "permanent")
    return Memories({GATE.num: [memory]})


def test_an_episode_that_begins_with_knowledge_has_objectives_from_its_first_turn_on(tmp_path: Path) -> None:
    (tmp_path / "knowledgebase.md").write_text("The sluice opens with the crank.")
    play = ObjectivePlay(tmp_path, [found("Open the sluice with the crank"), NOTHING, NOTHING])
    asked = []
    while play.state.turn_count < 45:
        play.turn()
        asked.append(len(play.llm.calls))
        assert play.texts == ["Open the sluice with the crank"]
    assert [turn for turn in range(1, 45) if asked[turn] > asked[turn - 1]] == [20, 40]
    assert asked[0] == 1


@pytest.mark.parametrize(("episode", "first"), [(1, 1), (2, 20)], ids=["an earlier episode's", "this episode's own"])
def test_memories_of_an_earlier_episode_are_knowledge_to_begin_with(tmp_path: Path, episode: int, first: int) -> None:
    play = ObjectivePlay(tmp_path, lambda *_: NOTHING, memories=remembered(episode), episode=2)
    play.wait_until(20)
    assert play.manager.asked_turn == first if first == 20 else len(play.llm.calls) == 1


def test_what_objectives_are_not_found_from_gives_them_no_early_start(tmp_path: Path) -> None:
    (tmp_path / "knowledgebase.md").write_text("The sluice opens with the crank.")
    play = ObjectivePlay(tmp_path, lambda *_: NOTHING, enable_enhanced_objectives=False)
    play.wait_until(19)
    assert play.llm.calls == []


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


def test_an_objective_that_the_agent_calls_achieved_is_not_shown_any_more_and_asks_no_model(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [found("Open the sluice", "Climb the chute")])
    play.wait_until(24)
    play.turn(objective=ObjectiveNote(done=1))
    assert play.manager.text() == "2. Climb the chute"
    objective = play.manager.objectives[0]
    assert (objective.status, objective.ended_turn, objective.ending) == ("completed", 25, "turn 24")
    assert len(play.llm.calls) == 1


def test_an_objective_of_the_agents_own_is_shown_at_once(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path)
    play.turn("take banner", objective=ObjectiveNote(new="Dye the  banner"))
    assert play.manager.objectives == (Objective(1, "Dye the banner", 1, GATE.num, "the player's own"),)
    assert play.llm.calls == []
    assert play.metrics["updates"] == 0


def test_what_the_agent_says_with_a_command_that_was_sent_back_counts_and_only_once(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path)
    play.turn(verdicts=(Verdict(accepted=False), ACCEPTED), objective=ObjectiveNote(new="Dye the banner"))
    assert play.texts == ["Dye the banner"]
    assert play.metrics["refused"] == 0


@pytest.mark.parametrize("note", [ObjectiveNote(done=7), ObjectiveNote(new="open THE sluice")])
def test_what_makes_no_sense_of_what_the_agent_says_is_counted(tmp_path: Path, note: ObjectiveNote) -> None:
    play = ObjectivePlay(tmp_path, [found("Open the sluice")])
    play.wait_until(20)
    play.turn(objective=note)
    assert play.texts == ["Open the sluice"]
    assert play.metrics["refused"] == 1


@pytest.mark.parametrize(("enabled", "game_over"), [(False, False), (True, True)])
def test_nobody_is_asked_without_need(tmp_path: Path, enabled: bool, game_over: bool) -> None:
    play = ObjectivePlay(tmp_path, objectives={"enabled": enabled})
    play.state.turn_count, play.state.game_over = 20, game_over
    assert play.manager.process_periodic_update() == ()
    assert play.llm.calls == []


def test_an_objective_knows_what_it_came_from(tmp_path: Path) -> None:
    answer = {"objectives": [{"text": " Fill  the\nvat ", "location_id": GATE.num, "evidence": "memory of the vat"}]}
    play = ObjectivePlay(tmp_path, [answer])
    play.wait_until(20)
    assert play.manager.objectives == (
        Objective(1, "Fill the vat (Location 11)", 20, GATE.num, "memory of the vat", GATE.num),
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Fill the vat", "Fill the vat (Location 11)"),
        ("Fill the vat at location 11", "Fill the vat at location 11"),
        ("Fill the vat at Location #11.", "Fill the vat at Location #11."),
        ("Fill 11 vats, not those of Location 112", "Fill 11 vats, not those of Location 112 (Location 11)"),
    ],
)
def test_the_text_names_the_location_id_once(tmp_path: Path, text: str, shown: str) -> None:
    play = ObjectivePlay(tmp_path, [{"objectives": [{"text": text, "location_id": 11}]}])
    play.wait_until(20)
    assert play.texts == [shown]


def test_a_text_too_long_is_cut_and_still_names_its_location(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [{"objectives": [{"text": "stir " * 200, "location_id": 11}]}])
    play.wait_until(20)
    (text,) = play.texts
    assert len(text) <= LONGEST_TEXT
    assert text.endswith("stir… (Location 11)")


def test_an_objective_about_a_location_that_does_not_exist_is_refused_and_counted(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [{"objectives": [{"text": "Find the spring", "location_id": 999}]}])
    play.wait_until(20)
    assert play.texts == []
    assert play.metrics["refused"] == 1


def test_a_completion_before_the_objective_existed_is_refused(tmp_path: Path) -> None:
    found = {"objectives": [{"text": "Find the spring"}]}
    completed = {"completed": [{"id": 1, "turn": 19}]}
    play = ObjectivePlay(tmp_path, [found, completed])
    play.wait_until(40)
    assert play.texts == ["Find the spring"]
    assert play.metrics["refused"] == 1


def test_a_location_is_known_from_the_map_or_from_memories(tmp_path: Path) -> None:
    answer = {"objectives": [{"text": "Dye", "location_id": number} for number in (VATS.num, LOFT.num, 50)]}
    play = ObjectivePlay(tmp_path, [answer], memories=Memories({LOFT.num: []}, {50: []}))
    play.map.game_map.add_room(VATS.num)
    play.wait_until(20)
    assert play.texts == ["Dye (Location 31)", "Dye (Location 44)", "Dye (Location 50)"]


def test_plain_texts_are_objectives_too(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [{"objectives": ["Open the sluice"]}])
    play.wait_until(20)
    assert play.texts == ["Open the sluice"]


def test_an_objective_is_completed_on_a_turn_that_was_played(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [found("Open the sluice"), {"completed": [{"id": 1, "turn": 33}]}])
    play.wait_until(40)
    (objective,) = play.manager.objectives
    assert (objective.status, objective.ended_turn, objective.ending) == ("completed", 40, "turn 33")
    assert play.manager.text() == ""


@pytest.mark.parametrize(
    "nonsense",
    [
        {"completed": [{"id": 1, "turn": 41}]},
        {"completed": [{"id": 1, "turn": 0}]},
        {"completed": [{"id": 7, "turn": 33}]},
        {"dropped": [{"id": -1, "reason": "?"}]},
        found("  OPEN the \t sluice"),
        found(" \n "),
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


def test_what_makes_sense_of_an_answer_is_taken_in_spite_of_the_rest(tmp_path: Path) -> None:
    answer = found("Light the stove", "Light the stove", completed=[{"id": 1, "turn": 21}, {"id": 9, "turn": 21}])
    play = ObjectivePlay(tmp_path, [found("Open the sluice"), answer])
    play.wait_until(40)
    assert [objective.status for objective in play.manager.objectives] == ["completed", "active"]
    assert play.metrics["refused"] == 2


def test_an_objective_ends_once(tmp_path: Path) -> None:
    twice = {"completed": [{"id": 1, "turn": 21}], "dropped": [{"id": 1, "reason": "done"}]}
    play = ObjectivePlay(tmp_path, [found("Open the sluice"), twice])
    play.wait_until(40)
    assert [objective.status for objective in play.manager.objectives] == ["completed"]
    assert play.metrics["refused"] == 1


def test_what_was_completed_is_not_found_again_but_what_was_dropped_may_be(tmp_path: Path) -> None:
    ended = {"completed": [{"id": 1, "turn": 21}], "dropped": [{"id": 2, "reason": "locked"}]}
    play = ObjectivePlay(
        tmp_path, [found("Open the sluice", "Climb the chute"), ended, found("Open the sluice", "Climb the chute")]
    )
    play.wait_until(60)
    assert play.texts == ["Climb the chute"]
    assert [objective.id for objective in play.manager.objectives] == [1, 2, 3]


def test_no_more_are_open_than_the_cap_and_two_can_be_merged_into_one(tmp_path: Path) -> None:
    merged = found("Soak and wring the banner", dropped=[{"id": 1, "reason": "merged"}, {"id": 2, "reason": "merged"}])
    play = ObjectivePlay(tmp_path, [found("Soak it", "Wring it", "Sell it"), merged], objectives={"max_active": 2})
    play.wait_until(20)
    assert play.texts == ["Soak it", "Wring it"]
    play.wait_until(40)
    assert play.texts == ["Soak and wring the banner"]
    assert play.manager.objectives[0].ending == "merged"


@pytest.mark.parametrize(("since", "kept"), [(20, []), (21, ["Open the sluice"])])
def test_an_objective_without_progress_is_dropped_as_stale(tmp_path: Path, since: int, kept: list[str]) -> None:
    play = ObjectivePlay(tmp_path, lambda *_: NOTHING, objectives={"stale_after": 40})
    play.manager.objectives = (Objective(1, "Open the sluice", since),)
    play.wait_until(60)
    assert play.texts == kept
    assert play.manager.objectives[0].ending == ("" if kept else "no progress")


def test_a_loss_is_no_progress(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, lambda *_: NOTHING, objectives={"stale_after": 40})
    play.now = replace(play.now, inventory=(BANNER,))
    play.manager.objectives = (Objective(1, "Dye", 1),)
    play.wait_until(30)
    play.turn("drop banner", inventory=(), died=True, score=-5)
    play.wait_until(60)
    assert play.texts == []


@pytest.mark.parametrize(
    ("location_id", "kept"),
    [(None, ["Dye"]), (GATE.num, ["Dye"]), (VATS.num, [])],
    ids=["anywhere", "at its place", "elsewhere"],
)
def test_progress_at_its_place_keeps_an_objective(tmp_path: Path, location_id: int | None, kept: list[str]) -> None:
    play = ObjectivePlay(tmp_path, lambda *_: NOTHING, objectives={"stale_after": 40})
    play.manager.objectives = (Objective(1, "Dye", 1, location_id=location_id),)
    play.wait_until(30)
    play.turn("take banner", inventory=(BANNER,))
    play.wait_until(60)
    assert play.texts == kept


@pytest.mark.parametrize("error", [LanguageModelUnavailable("down"), ResponseInvalid("no JSON")])
def test_a_model_that_fails_skips_the_update_and_is_asked_at_the_next_interval(
    tmp_path: Path, error: LanguageModelError
) -> None:
    play = ObjectivePlay(tmp_path, [error, found("Open the sluice")])
    with capture_logs() as logs:
        play.wait_until(39)
    assert play.metrics["failures"] == 1
    assert [log["error"] for log in logs if log["log_level"] == "warning"] == [str(error)]
    play.wait_until(40)
    assert play.texts == ["Open the sluice"]


def test_a_spent_budget_is_no_failure_to_go_on_after(tmp_path: Path) -> None:
    with pytest.raises(BudgetSpent, match="spent"):
        ObjectivePlay(tmp_path, [BudgetSpent("spent")]).wait_until(20)


def test_an_answer_of_wrong_types_is_a_failure_and_not_the_end(tmp_path: Path) -> None:
    wrong = {"completed": "all", "dropped": [None], "objectives": [{"location_id": "Gate"}], "reasoning": 5}
    play = ObjectivePlay(tmp_path, [wrong])
    play.wait_until(20)
    assert play.metrics["failures"] == 1
    assert play.manager.objectives == ()


def test_an_update_says_what_changed(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [found("Open the sluice", "Climb the chute")], objective_update_interval=2)
    play.turn()
    play.state.turn_count = 2
    assert [objective.text for objective in play.manager.process_periodic_update()] == [
        "Open the sluice",
        "Climb the chute",
    ]


def test_the_agent_sees_open_objectives_with_their_numbers_which_change_at_updates_only(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [found("Open the sluice", "Climb the chute"), NOTHING])
    assert play.manager.text() == ""
    play.wait_until(20)
    text = play.manager.text()
    assert text == "1. Open the sluice\n2. Climb the chute"
    play.turn("take banner", inventory=(BANNER,), score=5)
    play.wait_until(40)
    assert play.manager.text() == text


def test_the_agent_sees_every_open_objective_however_long_they_are(tmp_path: Path) -> None:
    long = [f"{number} " + "stir " * 200 for number in range(8)]
    play = ObjectivePlay(tmp_path, [found(*long)])
    play.wait_until(20)
    lines = play.manager.text().splitlines()
    assert [line.split()[:2] for line in lines] == [[f"{number + 1}.", str(number)] for number in range(8)]


def test_a_new_episode_has_no_objectives(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [found("Open the sluice")])
    play.turn("take banner", inventory=(BANNER,))
    play.wait_until(20)
    play.manager.reset(GameState(episode=2))
    assert (play.manager.objectives, play.manager.evidence, play.manager.asked_turn) == ((), (), 0)
    assert play.manager.get_status()["metrics"]["updates"] == 0
    assert play.manager.game_state.episode == 2
