"""What a turn revealed, by visible and carried objects and their earlier places."""

from __future__ import annotations

import pytest

from session.values import GameObject, Location, Observation, Proposal, TurnRecord, Verdict

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
