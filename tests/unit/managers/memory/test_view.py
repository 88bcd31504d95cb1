"""Each location is shown another's memories: a permutation without a fixed point."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from managers.memory.prompt import shuffled_location

LOCATIONS = st.sets(st.integers(1, 600), min_size=2, max_size=40)
SEEDS = st.integers(1, 2**31)


@given(LOCATIONS, SEEDS)
def test_every_location_with_memories_is_shown_another_one_and_all_are_shown_once(known: set[int], seed: int) -> None:
    shown = {location: shuffled_location(location, known, seed) for location in known}
    assert all(location != other for location, other in shown.items())
    assert set(shown.values()) == known


@given(LOCATIONS, SEEDS)
def test_the_same_seed_shuffles_alike_whatever_the_order_of_the_locations(known: set[int], seed: int) -> None:
    for location in known:
        assert shuffled_location(location, sorted(known), seed) == shuffled_location(
            location, sorted(known, reverse=True), seed
        )


@given(LOCATIONS, SEEDS, st.integers(601, 700))
def test_one_more_location_changes_what_one_other_is_shown(known: set[int], seed: int, joining: int) -> None:
    before = {location: shuffled_location(location, known, seed) for location in known}
    after = {location: shuffled_location(location, {*known, joining}, seed) for location in known}
    assert sum(before[location] != after[location] for location in known) == 1


def test_another_seed_shuffles_otherwise() -> None:
    known = range(1, 20)
    assert [shuffled_location(location, known, 1) for location in known] != [
        shuffled_location(location, known, 2) for location in known
    ]


def test_a_location_without_memories_and_one_that_alone_has_some_are_shown_none() -> None:
    assert shuffled_location(7, {1, 2}, seed=1) is None
    assert shuffled_location(7, {7}, seed=1) is None
