"""Failed commands are identified by location and words, and failure by the facts of the machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from session.values import GameObject, Observation, TurnRecord
from tests.unit.zorkgpt.report.dye_runs import LOFT, SEEN, after, turn
from zorkgpt.report.figures import has_failed, repeat_failures

VAT = GameObject(7, "vat", parent=31)
BANNER = GameObject(8, "banner", parent=31)
AMONG_THINGS = replace(SEEN, inventory=(), visible=(VAT, BANNER))


@pytest.mark.parametrize(
    ("effect", "failed"),
    [
        ({}, True),
        ({"moves": 9, "text": "Time passes, and it smells differently."}, True),
        ({"location": LOFT}, False),
        ({"location": None}, False),
        ({"score": 5}, False),
        ({"world_hash": "00000002"}, False),
        ({"died": True}, False),
        ({"ending": "over"}, False),
    ],
    ids=lambda effect: "/".join(effect) if isinstance(effect, dict) else "",
)
def test_a_command_has_failed_if_it_had_no_effect(effect: dict[str, Any], failed: bool) -> None:
    assert has_failed(turn(1, "pull chain", **effect)) is failed


def test_only_what_changes_in_sight_is_an_effect() -> None:
    lit = replace(VAT, attributes=frozenset({11}))
    assert has_failed(turn(1, "pull chain", AMONG_THINGS, world_hash="00000002"))
    assert not has_failed(turn(1, "light vat", AMONG_THINGS, visible=(lit, BANNER)))


def test_where_no_object_tree_is_known_only_a_refusal_is_certain() -> None:
    assert not has_failed(turn(1, "pull chain", Observation("Steam.", SEEN.location)))
    assert has_failed(turn(1, "save", Observation("Steam."), refusal="no saving"))


def repeats(*records: TurnRecord) -> list[bool | None]:
    return list(repeat_failures(records))


def test_the_same_command_at_the_same_place_repeats_a_failure_of_any_episode() -> None:
    turns = (turn(1, "pull chain"), turn(2, "Pull   CHAIN"), turn(3, "push chain"), turn(1, "pull chain", episode=2))
    assert repeats(*turns) == [False, True, False, True]
    assert repeats(turns[0], turn(4, "pull chain", after(SEEN, location=LOFT))) == [False, False]


def test_a_command_that_worked_before_is_no_repeated_failure() -> None:
    assert repeats(turn(1, "pull chain", world_hash="00000002"), turn(2, "pull chain")) == [False, False]


def test_a_repetition_counts_though_it_works_this_time() -> None:
    assert repeats(turn(1, "north"), turn(2, "north", location=LOFT)) == [False, True]


def test_where_the_place_is_not_known_nothing_can_be_said() -> None:
    assert repeats(turn(1, "pull chain", Observation("Fog.", world_hash="00000001"))) == [None]
