"""Going round in circles is said, and nothing else is done about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import structlog

from managers.circling import CirclingDetector
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import GameObject, Location, Observation, Proposal, TurnRecord, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable


def seen(mark: str, score: int | None = 0, location_id: int = 1, world_hash: str = "") -> Observation:
    """A place with one thing whose name is ``mark``."""
    thing = GameObject(7, mark, location_id)
    return Observation("", Location(location_id, ""), (), (thing,), score=score, world_hash=world_hash)


def after_turns(observations: Iterable[Observation], **options: int) -> CirclingDetector:
    """The first observation is the opening, each further one the outcome of a turn."""
    detector = CirclingDetector(
        structlog.get_logger(), GameConfiguration.model_validate({"circling": options}), GameState()
    )
    before: Observation | None = None
    for turn, after in enumerate(observations):
        if before is not None:
            verdicts = (Verdict(accepted=True),)
            detector.learn(TurnRecord(1, turn, before, (Proposal("go"),), verdicts, after))
        before = after
    return detector


def test_before_the_first_turn_there_is_nothing_to_say() -> None:
    assert after_turns([]).text() == ""


def test_the_turns_that_led_to_the_same_state_are_named() -> None:
    states = [seen(each) for each in "abacad"]
    assert after_turns(states, repeated_states=2).text() == ""
    assert (
        after_turns([*states, seen("a")], repeated_states=3).text()
        == "Everything you can see is as it was on turns 0, 2, 4."
    )


def test_fewer_returns_than_the_option_says_are_not_worth_a_word() -> None:
    states = [seen(each) for each in "abaca"]
    assert after_turns(states, repeated_states=3).text() == ""
    assert after_turns(states, repeated_states=2).text() == "Everything you can see is as it was on turns 0, 2."


def test_only_the_latest_turns_are_listed() -> None:
    assert (
        after_turns([seen("a")] * 9).text()
        == "Everything you can see is as it was on turns 3, 4, 5, 6, 7 and 3 earlier."
    )


def test_what_goes_on_out_of_sight_makes_no_difference() -> None:
    states = [seen("a", world_hash=str(turn)) for turn in range(3)]
    assert after_turns(states, repeated_states=2).text() == "Everything you can see is as it was on turns 0, 1."


@pytest.mark.parametrize("other", [seen("a", location_id=2), seen("a", score=5)])
def test_the_same_things_in_another_place_or_with_other_points_are_not_the_same(other: Observation) -> None:
    assert after_turns([seen("a"), other], repeated_states=1).text() == ""


def test_where_what_was_noticed_is_not_known_nothing_is_said() -> None:
    assert after_turns([seen("a")] * 5 + [Observation("")], repeated_states=1).text() == ""
    assert after_turns([Observation("")] * 5, repeated_states=1).text() == ""


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
    states = [seen(str(turn), score) for turn, score in enumerate(scores)]
    assert after_turns(states, turns_without_score=3).text() == text


def test_both_make_one_sentence() -> None:
    states = [seen(each) for each in "abaca"]
    assert after_turns(states, repeated_states=2, turns_without_score=4).text() == (
        "Everything you can see is as it was on turns 0, 2; no point scored for 4 turns."
    )


def test_a_new_episode_has_seen_nothing() -> None:
    detector = after_turns([seen("a")] * 9, turns_without_score=2)
    detector.reset(GameState(episode=2))
    assert detector.text() == ""
    assert detector.get_status()["metrics"] == {"states": 0, "same_state_before": 0, "turns_without_score": 0}
