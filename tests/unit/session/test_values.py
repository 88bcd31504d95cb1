"""What of a moment a player can notice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from session.values import GameObject, Location, Observation

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
