"""What of a moment a player can notice, what a turn revealed, and seeds that share no luck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from managers.objectives import evidence_of
from session.game_state import Tries
from session.values import (
    HIGHEST_SEED,
    GameObject,
    Location,
    Observation,
    Proposal,
    TurnRecord,
    Verdict,
    derived_seed,
    things_around,
)

PRESS = Path(__file__).parents[2] / "stories" / "press.z5"
VAT, BANNER = GameObject(7, "vat", parent=31), GameObject(8, "banner", parent=31)
SEEN = Observation("Steam.", Location(31, "Blue Vats"), (), (VAT, BANNER), score=0, world_hash="00000001")


@pytest.mark.parametrize(
    ("is_noticed", "other"),
    [
        (True, {"location": Location(44, "Drying Loft")}),
        (True, {"location": None}),
        (True, {"score": 5}),
        (True, {"score": None}),
        (True, {"inside": VAT}),
        (True, {"inventory": (BANNER,), "visible": (VAT,)}),
        (True, {"visible": (VAT,)}),
        (True, {"visible": (replace(VAT, attributes=frozenset({11})), BANNER)}),
        (True, {"visible": (VAT, replace(BANNER, parent=7))}),
        (False, {"text": "Fog."}),
        (False, {"moves": 9}),
        (False, {"visible": (BANNER, VAT)}),
        (False, {"world_hash": "00000002"}),
        (False, {"world_hash": ""}),
        (False, {"parents": (1,)}),
    ],
)
def test_place_points_belongings_and_things_in_sight_are_noticed_and_nothing_else(
    other: dict[str, Any], *, is_noticed: bool
) -> None:
    noticed = replace(SEEN, **other).noticed
    assert (noticed != SEEN.noticed) is is_noticed
    assert is_noticed or hash(noticed) == hash(SEEN.noticed)


@pytest.mark.parametrize("unknown", [{"inventory": None}, {"visible": None}])
def test_where_belongings_or_sight_are_not_known_the_object_tree_stands_in_if_it_is(unknown: dict[str, Any]) -> None:
    blind = replace(SEEN, **unknown)
    assert blind.noticed == replace(blind, moves=9).noticed
    assert blind.noticed != replace(blind, world_hash="00000002").noticed
    assert blind.noticed != replace(blind, score=5).noticed
    assert replace(blind, world_hash="").noticed is None


def test_what_the_screen_shows_is_noticed_while_the_story_waits_for_a_key() -> None:
    menu = replace(SEEN, text="> Apples\n  Pears", awaits_key=True)
    assert menu.noticed != replace(menu, text="  Apples\n> Pears").noticed
    assert menu.noticed == replace(menu).noticed


def test_only_what_changes_its_place_far_from_the_player_moves_unseen() -> None:
    before = Observation("", Location(1, "Study"), parents=(0, 0, 0, 0, 1, 2, 2, 3))
    after = Observation("", Location(2, "Loft"), parents=(0, 0, 0, 0, 2, 0, 3, 0))
    record = TurnRecord(1, 1, before, (Proposal("up"),), (Verdict(accepted=True),), after)
    assert record.moved_unseen == {7}
    assert replace(record, after=replace(after, location=None)).moved_unseen == frozenset()


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
    for parents in ((0, 0, 0, 4, 3), (0, 0)):  # a tree that runs in a circle or is cut short is no trap
        before = Observation("Study", ROOM, (), (DESK,), parents=parents)
        assert came_to_light(before, Observation("Taken.", ROOM, (PAPER,), (DESK,))) == ["yellow paper"]


def test_a_vehicle_that_the_player_leaves_was_there_before() -> None:
    car = GameObject(7, "rail car", ROOM.num)
    before = Observation("Car", ROOM, (), (DESK,), inside=car)
    assert came_to_light(before, Observation("You get out.", ROOM, (), (DESK, car))) == []


def test_the_first_seed_is_that_of_the_user_and_the_others_stay_the_same_in_every_version() -> None:
    assert [derived_seed(7, number, "episode") for number in (1, 2, 3)] == [7, 1924475159, 1447365636]
    assert derived_seed(HIGHEST_SEED, 2, "pair") == 1526252054


@pytest.mark.parametrize(
    ("seeds", "share"),
    [
        (range(1, 21), 1.0),
        ([derived_seed(1, number, "episode") for number in range(1, 21)], 0.0),
        ([derived_seed(first, 2, "pair") for first in range(1, 21)], 0.0),
    ],
    ids=["neighbours", "of one run", "of neighbouring runs"],
)
def test_no_random_number_follows_from_those_of_two_other_seeds(seeds: Sequence[int], share: float) -> None:
    with JerichoInterface(PRESS) as game:
        rolls = [roll(game, seed) for seed in seeds]
    evenly = [
        (one - 2 * other + third + 3) % 0x8000 <= 6
        for three in zip(rolls, rolls[1:], rolls[2:], strict=False)
        for one, other, third in zip(*three, strict=True)
    ]
    assert sum(evenly) / len(evenly) == pytest.approx(share, abs=0.05)


def roll(game: JerichoInterface, seed: int) -> list[int]:
    """The first random numbers of a game, below 2**15."""
    game.reset(seed)
    return [int(each) for each in game.step("dice").text.split()[:20]]


@pytest.mark.parametrize(
    ("parents", "around"),
    [((), {8}), ((0, 0, 9, 0, 0, 0, 0, 1, 7, 8), {7, 8}), ((0, 0, 9, 0, 0, 0, 0, 9, 7, 8), {7, 8})],
    ids=["only the things in reach are known", "the whole tree", "a circle"],
)
def test_the_things_around_an_object_are_those_in_reach_that_it_is_in_or_on(
    parents: tuple[int, ...], around: set[int]
) -> None:
    pin = GameObject(2, "pin", parent=8)
    moment = Observation("Steam.", Location(1, "Blue Vats"), (replace(VAT, parent=9),), (BANNER, pin), parents=parents)
    if parents:
        moment = replace(moment, inventory=(replace(VAT, parent=parents[7]),), visible=(replace(BANNER, parent=7),))
    assert things_around(2, moment) == around


@pytest.mark.parametrize(
    ("now", "did_something"),
    [
        ((0, 0, 0, 1, 3, 0, 2), False),
        ((0, 0, 0, 1, 0, 3, 2), True),  # one thing takes the place of another on the table 3
        ((0, 0, 0, 1, 1, 0, 2), True),  # it gets down from the table
        ((0, 0, 0, 1, 3, 2, 2), False),  # elsewhere
    ],
)
def test_a_change_of_places_where_the_player_is_did_something_though_nothing_in_sight_differs(
    now: tuple[int, ...], did_something: bool
) -> None:
    before = replace(SEEN, location=Location(1, "Study"), parents=(0, 0, 0, 1, 3, 0, 2))
    record = TurnRecord(1, 1, before, (Proposal("wake"),), (Verdict(accepted=True),), replace(before, parents=now))
    assert record.did_something == did_something


@pytest.mark.parametrize(("moves", "took_no_turn"), [(4, True), (5, False), (None, False)])
def test_a_refused_command_took_no_turn_though_the_parser_marked_a_thing_out_of_sight(
    moves: int | None, took_no_turn: bool
) -> None:
    before = replace(SEEN, location=Location(1, "Study"), moves=4, attributes_hash="00000001")
    after = replace(before, text="You can't see any such thing.", moves=moves, attributes_hash="00000002")
    record = TurnRecord(1, 1, before, (Proposal("examine silhouettes"),), (Verdict(accepted=True),), after)
    assert record.took_no_turn == took_no_turn
    tries = Tries()
    tries.add(record)
    assert bool(tries.done_at(1)) != took_no_turn, "it is not shown as done"
    assert not replace(record, after=replace(after, ending="lost")).took_no_turn, "an end takes a turn"


def test_a_thing_that_takes_the_place_of_another_one_replaces_it() -> None:
    man, charles, hat = (GameObject(num, name, 1) for num, name in ((3, "young man"), (4, "Charles"), (5, "hat")))
    before = Observation("", Location(1, "Study"), (), (man,), parents=(0, 0, 0, 1, 0, 0, 0))
    after = replace(before, visible=(charles,), parents=(0, 0, 0, 0, 1, 0, 0))
    record = TurnRecord(1, 1, before, (Proposal("wait"),), (Verdict(accepted=True),), after)
    assert {num: thing.name for num, thing in record.replaced.items()} == {4: "young man"}
    two = replace(record, after=replace(after, visible=(charles, hat), parents=(0, 0, 0, 0, 1, 1, 0)))
    assert two.replaced == {}
    stays = replace(record, after=replace(before, visible=(charles, man), parents=(0, 0, 0, 1, 1, 0, 0)))
    assert stays.replaced == {}


def test_a_man_who_gets_down_from_a_table_in_the_room_does_not_come_to_light() -> None:
    table, man, cup = (GameObject(num, name, 1) for num, name in ((2, "table"), (3, "man"), (4, "cup")))
    before = Observation("", Location(1, "Study"), (), (table,), parents=(0, 0, 1, 2, 0))
    after = replace(before, visible=(table, man, cup), parents=(0, 0, 1, 1, 1))
    record = TurnRecord(1, 1, before, (Proposal("wait"),), (Verdict(accepted=True),), after)
    assert record.came_to_light == (cup,)


def test_a_thing_that_is_exchanged_for_one_of_its_name_was_neither_got_nor_lost() -> None:
    closed, opened, letter = (
        GameObject(number, name) for number, name in ((70, "envelope"), (69, "envelope"), (68, "letter"))
    )
    before, after = replace(SEEN, inventory=(closed, BANNER)), replace(SEEN, inventory=(letter, opened))
    record = TurnRecord(1, 1, before, (Proposal("open envelope"),), (Verdict(accepted=True),), after)
    assert (record.newly_held, record.no_longer_held) == ((letter,), (BANNER,))
    second = replace(record, after=replace(after, inventory=(letter, opened, replace(opened, num=71))))
    assert [thing.label for thing in second.newly_held] == ["letter", "envelope"], "there are more of them than before"
    assert [fact.text for fact in evidence_of(record, ())] == ["gained letter", "no longer carried: banner"]
