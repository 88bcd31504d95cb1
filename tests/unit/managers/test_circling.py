"""Going round in circles is reported, without any other effect."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
import structlog

from managers.circling import CIRCLING, CirclingDetector
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import GameObject, Location, Observation, Proposal, Reading, TurnRecord, Verdict

STUDY = Observation("", Location(32, "Study"), (), (GameObject(7, "desk", 32),), score=0)
STORAGE = replace(STUDY, location=Location(41, "Storage"))


class Play:
    """An episode in the study, turn by turn."""

    def __init__(self, **options: int) -> None:
        configuration = GameConfiguration.model_validate({"circling": options})
        self.detector = CirclingDetector(structlog.get_logger(), configuration, GameState())
        self.seen, self.turn = STUDY, 0

    def do(self, action: str, answer: str = "", *, then: Observation = STUDY, in_combat: bool = False) -> Play:
        """One turn; ``then`` is what there is to be seen after it."""
        after = replace(then, text=answer)
        self.turn += 1
        proposal = Proposal(action, reading=Reading(in_combat=in_combat))
        record = TurnRecord(1, self.turn, self.seen, (proposal,), (Verdict(accepted=True),), after)
        self.detector.game_state.record(record)
        self.detector.learn(record)
        self.seen = after
        return self

    def told(self) -> str:
        """Return the warnings for the agent."""
        section = self.detector.section(self.seen)
        assert section is not None
        assert (section.title == CIRCLING) == ("repeated yourself" in section.text)
        return section.text


def warned(times: int) -> str:
    return (
        f"You have repeated yourself {times} times since anything new was said or won: the same command in the same "
        "situation had the same result. Do something that you have not tried here."
    )


def test_before_the_first_turn_there_is_nothing_to_warn_of() -> None:
    assert Play().told() == ""


def test_single_tries_are_no_circle_however_many_there_are() -> None:
    play = Play(repeated_states=1)
    for number in range(20):
        play.do(f"examine book {number}", "The book is bound.")
    assert play.told() == ""


def test_the_same_command_with_the_same_answer_is_a_repetition() -> None:
    play = Play(repeated_states=2).do("open vial", "There seems no way\nto open it.")
    play.do("Open  vial.", "There seems no way to open it.")
    assert play.told() == ""
    assert play.do("open vial", "There seems no way to open it.").told() == warned(2)


def test_opening_and_closing_again_and_again_is_a_circle_by_the_fourth_time() -> None:
    play, is_open = Play(), replace(STUDY, visible=(GameObject(7, "desk", 32, attributes=frozenset({11})),))
    for _ in range(4):
        play.do("open desk", "Opened.", then=is_open).do("close desk", "Closed.")
    assert play.told() == warned(5)


def test_walking_to_and_fro_is_a_circle() -> None:
    play = Play()
    for _ in range(4):
        play.do("north", "Storage", then=STORAGE).do("west", "Study")
    assert play.told() == warned(5)


def test_a_way_through_known_rooms_with_other_commands_is_no_circle() -> None:
    play = Play(repeated_states=1).do("north", "Storage", then=STORAGE).do("west", "Study")
    assert play.do("up", "Storage", then=STORAGE).do("down", "Study").told() == ""


@pytest.mark.parametrize(
    "change",
    [
        replace(STUDY, score=5),
        replace(STUDY, visible=()),
        replace(STUDY, inventory=(GameObject(9, "vial"),)),
        STORAGE,
    ],
    ids=["points", "sight", "belongings", "place"],
)
def test_the_same_command_in_another_situation_is_no_repetition(change: Observation) -> None:
    play = Play(repeated_states=1).do("act", "Yes.", then=change).do("act", "Yes.", then=STUDY)
    assert play.told() == ""


def test_what_failed_here_before_is_a_repetition_although_news_came_between() -> None:
    play = Play(repeated_states=1).do("open vial", "No.").do("read paper", "Beware of the dog.").do("open vial", "No.")
    assert play.told() == warned(1)


@pytest.mark.parametrize("score", [None, 5], ids=["text", "points"])
def test_after_new_text_or_points_all_is_new(score: int | None) -> None:
    play = Play(repeated_states=1).do("open vial", "No.").do("open vial", "No.")
    news = replace(STUDY, score=5) if score else STUDY
    assert play.do("act", "No." if score else "Yes.", then=news).told() == ""


def test_another_answer_is_no_repetition() -> None:
    assert Play(repeated_states=1).do("light fuse", "You miss.").do("light fuse", "You miss again.").told() == ""


def test_a_fight_is_no_circle() -> None:
    play = Play(repeated_states=1).do("attack troll", "You miss.")
    for _ in range(3):
        play.do("attack troll", "You miss.", in_combat=True)
    assert play.told() == ""


@pytest.mark.parametrize("command", ["ask charles about key", "charles, read paper", "say hello", "wait", "z"])
def test_nor_is_talk_nor_waiting(command: str) -> None:
    play = Play(repeated_states=1).do(command, "He shakes his head.").do(command, "He shakes his head.")
    assert play.told() == ""


def test_commands_that_never_reached_the_story_are_no_tries() -> None:
    refused = replace(STUDY, refusal="not for the player")
    play = Play(repeated_states=1).do("save", "No.", then=refused).do("save", "No.", then=refused)
    assert play.told() == ""


def test_a_change_out_of_sight_makes_a_difference_where_such_changes_are_rare() -> None:
    play = Play(repeated_states=1).do("look", "A study.").do("smell", "Dust.").do("feel", "Wood.")
    assert play.do("turn wheel", "Click.", then=replace(STUDY, world_hash="1")).told() == ""
    assert play.do("turn wheel", "Click.", then=replace(STUDY, world_hash="2")).told() == ""


def test_it_makes_none_in_a_world_that_changes_in_every_turn() -> None:
    play = Play(repeated_states=1)
    for turn in range(3):
        play.do("open vial", "No.", then=replace(STUDY, world_hash=str(turn)))
    assert play.told() == warned(2)


def test_if_what_was_noticed_is_not_known_nothing_is_counted() -> None:
    play = Play(repeated_states=1)
    for _ in range(3):
        play.do("open vial", "No.", then=Observation(""))
    assert play.told() == ""


def scored(scores: Iterable[int | None], **options: int) -> Play:
    """Turns of waiting with these scores, the first of which is the opening's."""
    opening, *others = (replace(STUDY, score=score) for score in scores)
    play = Play(**options)
    play.seen = opening
    for after in others:
        play.do("wait", "Time passes.", then=after)
    return play


@pytest.mark.parametrize(
    ("scores", "text"),
    [
        ([0, 0, 0], ""),
        ([0, 0, 0, 0], "No point scored for 3 turns."),
        ([0, 5, 5, 5], ""),
        ([0, 5, 5, 5, 5], "No point scored for 3 turns."),
        ([9, 9, 5, 5], "No point scored for 3 turns."),
        ([None, None, None, None, None], ""),
        ([None, None, 0, 0, 0], ""),
        ([0, None, 0, 0, 0, 0], "No point scored for 3 turns."),
    ],
)
def test_turns_without_a_point_are_counted_where_the_score_is_known(scores: list[int | None], text: str) -> None:
    assert scored(scores, turns_without_score=3).told() == text


def test_both_warnings_are_given() -> None:
    play = Play(turns_without_score=2, repeated_states=1).do("open vial", "No.").do("open vial", "No.")
    assert play.told() == f"{warned(1)}\nNo point scored for 2 turns."


def test_a_new_episode_has_tried_nothing() -> None:
    play = Play(turns_without_score=2, repeated_states=1).do("open vial", "No.").do("open vial", "No.")
    assert play.detector.get_status()["metrics"] == {"repetitions": 1, "turns_without_score": 2}
    play.detector.reset(GameState(episode=2))
    assert play.told() == ""
    assert not any(play.detector.get_status()["metrics"].values())
