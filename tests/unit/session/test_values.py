"""What of a moment a player can notice, and how the object tree is kept."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from session.values import GameObject, Location, Observation, Parents

OBSERVATION = TypeAdapter(Observation)

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


@given(st.lists(st.integers(0, 65535), max_size=300))
def test_parents_are_numbers_packed_and_a_list_in_json(numbers: list[int]) -> None:
    parents = Parents.of(numbers)
    assert list(parents) == [parents[num] for num in range(len(parents))] == numbers
    written = OBSERVATION.dump_json(Observation("", parents=parents))
    assert json.loads(written)["parents"] == numbers
    assert OBSERVATION.validate_json(written).parents == parents


@pytest.mark.parametrize("wrong", ["[-1]", "[65536]", '["one"]', "7", '"text"', "null", "[1.5]"])
def test_what_are_no_object_numbers_are_no_parents(wrong: str) -> None:
    with pytest.raises(ValidationError):
        OBSERVATION.validate_json(f'{{"text": "", "parents": {wrong}}}')
