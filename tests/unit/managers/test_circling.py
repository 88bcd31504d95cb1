"""Going round in circles is said, and nothing else is done about it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import structlog

from managers.circling import CIRCLING, CirclingDetector
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import GameObject, Location, Observation, Proposal, Reading, TurnRecord, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

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
        self.detector.learn(TurnRecord(1, self.turn, self.seen, (proposal,), (Verdict(accepted=True),), after))
        self.seen = after
        return self

    def told(self) -> str:
        """What the agent is told."""
        section = self.detector.section(self.seen)
        assert section is not None
        assert (section.title == CIRCLING) == ("the same answer" in section.text)
        return section.text


def warned(*commands: str, times: int = 2) -> str:
    return "\n".join(
        f"`{command}` has had the same answer {times} times, with no change between that you can see."
        for command in commands
    )


def test_before_the_first_turn_there_is_nothing_to_say() -> None:
    assert Play().told() == ""


def test_single_tries_are_no_circle_however_many_there_are() -> None:
    play = Play().do("examine bookshelves", "The bookshelves are filled with bound volumes.")
    play.do("examine man", "The unconscious man is young, tall, and white.").do("wake man", "He sits up, confused.")
    assert play.do("search desk", "There is nothing on the desk.").told() == ""


def test_the_same_command_with_the_same_answer_is_one_the_second_time() -> None:
    play = Play().do("open vial", "There seems no way\nto open it.").do("Open  vial.", "There seems no way to open it.")
    assert play.told() == warned("open vial")
    assert play.do("open vial", "There seems no way to open it.").told() == warned("open vial", times=3)


def test_what_changes_nothing_comes_between_nothing() -> None:
    play = (
        Play().do("open vial", "No.").do("search desk", "Nothing.").do("open vial", "No.").do("search desk", "Nothing.")
    )
    assert play.told() == warned("open vial", "search desk")


def test_the_latest_two_are_told() -> None:
    play = Play()
    for command in ("open vial", "search desk", "read paper") * 2:
        play.do(command, "No.")
    assert play.told() == warned("search desk", "read paper")


@pytest.mark.parametrize(
    "change",
    [
        replace(STUDY, score=5),
        replace(STUDY, visible=()),
        replace(STUDY, inventory=(GameObject(9, "vial"),)),
        replace(STUDY, attributes_hash="0badcafe"),
        STORAGE,
    ],
    ids=["points", "sight", "belongings", "a thing elsewhere", "place"],
)
def test_after_a_change_all_is_new(change: Observation) -> None:
    play = Play().do("open vial", "No.").do("open vial", "No.").do("act", "Yes.", then=change)
    assert play.told() == ""
    assert play.do("open vial", "No.").told() == ""


def test_another_answer_is_no_circle() -> None:
    assert Play().do("light fuse", "You miss.").do("light fuse", "You miss again.").told() == ""
    again = Play().do("light fuse", "You miss.").do("light fuse", "You slip.").do("light fuse", "You miss.")
    assert again.told() == ""


def test_a_fight_is_no_circle() -> None:
    play = Play().do("attack troll", "You swing and miss.").do("attack troll", "You swing and miss.", in_combat=True)
    assert play.do("attack troll", "You swing and miss.", in_combat=True).told() == ""


@pytest.mark.parametrize("command", ["ask charles about key", "charles, read paper", "say hello", "wait", "z"])
def test_nor_is_talk_nor_waiting(command: str) -> None:
    assert Play().do(command, "He shakes his head.").do(command, "He shakes his head.").told() == ""


def test_commands_that_never_reached_the_story_are_no_tries() -> None:
    refused = replace(STUDY, refusal="not for the player")
    assert Play().do("save", "No.", then=refused).do("save", "No.", then=refused).told() == ""


def test_what_goes_on_out_of_sight_makes_no_difference() -> None:
    play = Play()
    for turn in range(2):
        play.do("open vial", "No.", then=replace(STUDY, world_hash=str(turn)))
    assert play.told() == warned("open vial")


def test_where_what_was_noticed_is_not_known_nothing_is_said() -> None:
    play = Play()
    for _ in range(3):
        play.do("open vial", "No.", then=Observation(""))
    assert play.told() == ""


def test_more_tries_may_be_allowed() -> None:
    play = Play(repeated_states=3).do("open vial", "No.").do("open vial", "No.")
    assert play.told() == ""
    assert play.do("open vial", "No.").told() == warned("open vial", times=3)


def scored(scores: Iterable[int | None], **options: int) -> Play:
    """Turns of waiting with these scores, the first of which is the opening's."""
    opening, *others = (replace(STUDY, score=score) for score in scores)
    play = Play(**options)
    play.seen = opening
    for number, after in enumerate(others):
        play.do(f"wait {number}", "Time passes.", then=after)
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


def test_both_are_told() -> None:
    play = Play(turns_without_score=2).do("open vial", "No.").do("open vial", "No.")
    assert play.told() == f"{warned('open vial')}\nNo point scored for 2 turns."


def test_a_new_episode_has_tried_nothing() -> None:
    play = Play(turns_without_score=2).do("open vial", "No.").do("open vial", "No.")
    status = play.detector.get_status()["metrics"]
    assert status == {"tries_since_a_change": 2, "commands_repeated": 1, "turns_without_score": 2}
    play.detector.reset(GameState(episode=2))
    assert play.told() == ""
    assert not any(play.detector.get_status()["metrics"].values())
