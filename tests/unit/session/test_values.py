"""What of a moment a player can notice, and what a turn revealed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from session.values import GameObject, Location, Observation, Proposal, TurnRecord, Verdict

VAT, BANNER = GameObject(7, "vat", parent=31), GameObject(8, "banner", parent=31)
SEEN = Observation("Steam.", Location(31, "Blue Vats"), (), (VAT, BANNER), score=0, world_hash="00000001")
UNKNOWN: list[dict[str, Any]] = [{"inventory": None}, {"visible": None}]


@pytest.mark.parametrize(
    "other",
    [
        {"location": Location(44, "Drying Loft")},
        {"location": None},
        {"score": 5},
        {"score": None},
        {"inventory": (BANNER,), "visible": (VAT,)},
        {"visible": (VAT,)},
        {"visible": (replace(VAT, attributes=frozenset({11})), BANNER)},
        {"visible": (VAT, replace(BANNER, parent=7))},
    ],
)
def test_place_points_belongings_and_things_in_sight_are_noticed(other: dict[str, Any]) -> None:
    assert replace(SEEN, **other).noticed != SEEN.noticed


@pytest.mark.parametrize(
    "other", [{"text": "Fog."}, {"moves": 9}, {"visible": (BANNER, VAT)}, {"world_hash": "00000002"}, {"parents": (1,)}]
)
def test_words_time_order_and_what_is_out_of_sight_are_not(other: dict[str, Any]) -> None:
    same = replace(SEEN, **other)
    assert same.noticed == SEEN.noticed
    assert hash(same.noticed) == hash(SEEN.noticed)


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_where_belongings_or_sight_are_not_known_the_object_tree_stands_in(unknown: dict[str, Any]) -> None:
    blind = replace(SEEN, **unknown)
    assert blind.noticed == replace(blind, moves=9).noticed
    assert blind.noticed != replace(blind, world_hash="00000002").noticed
    assert blind.noticed != replace(blind, score=5).noticed


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_where_the_object_tree_is_not_known_either_nothing_can_be_said(unknown: dict[str, Any]) -> None:
    assert replace(SEEN, world_hash="", **unknown).noticed is None
    assert replace(SEEN, world_hash="").noticed == SEEN.noticed


ROOM, LOFT = Location(1, "Study"), Location(2, "Loft")
DESK, PAPER, OIL = GameObject(3, "desk"), GameObject(4, "yellow paper"), GameObject(5, "can of oil")
ON_DESK = (0, 0, 0, 1, 3, 0)
"""The paper is on the desk in the study; the oil is nowhere."""


def came_to_light(before: Observation, after: Observation) -> list[str]:
    record = TurnRecord(1, 1, before, (Proposal("do it"),), (Verdict(accepted=True),), after)
    return [thing.name for thing in record.came_to_light]


@pytest.mark.parametrize(
    ("inventory", "visible", "found"),
    [
        ((), (DESK, OIL), ["can of oil"]),
        ((OIL,), (DESK,), ["can of oil"]),
        ((PAPER,), (DESK,), []),
        ((), (DESK, PAPER), ["yellow paper"]),
        ((), (), []),
    ],
)
def test_what_is_new_and_was_not_only_picked_up(
    inventory: tuple[GameObject, ...], visible: tuple[GameObject, ...], found: list[str]
) -> None:
    before = Observation("Study", ROOM, (), (DESK,), parents=ON_DESK)
    assert came_to_light(before, Observation("Done.", ROOM, inventory, visible)) == found


def test_nothing_where_the_player_moved_or_what_was_seen_before_is_not_known() -> None:
    before = Observation("Study", ROOM, (), (DESK,), parents=ON_DESK)
    assert came_to_light(before, Observation("Loft", LOFT, (), (OIL,))) == []
    assert came_to_light(Observation("Study", ROOM), Observation("Study", ROOM, (), (OIL,))) == []


def test_a_tree_that_runs_in_a_circle_or_is_cut_short_is_no_trap() -> None:
    for parents in ((0, 0, 0, 4, 3), (0, 0)):
        before = Observation("Study", ROOM, (), (DESK,), parents=parents)
        assert came_to_light(before, Observation("Taken.", ROOM, (PAPER,), (DESK,))) == ["yellow paper"]
