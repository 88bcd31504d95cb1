"""The commands of the plan: how they are written, read and checked."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from managers.plan import (
    PlannedStep,
    Played,
    Progress,
    Walked,
    commands_in,
    commands_line,
    next_of,
    progress_in,
    steps_of,
)
from session.values import Location, Observation, Proposal, TurnRecord

WAY = [(1, "north"), (2, "north"), (3, "take lamp"), (3, "south")]
WALKED = Walked(
    {
        (1, "north"): [2],
        (2, "north"): [3],
        (2, "ring bell"): [2],
        (2, "examine bell"): [2],
        (3, "take lamp"): [3],
        (3, "south"): [2],
    },
    {*pairwise(WAY)},
)
POINTS: dict[Played, int] = {(2, "north"): 5, (3, "take lamp"): 10}


def test_the_line_has_running_numbers_and_points() -> None:
    line = commands_line(["north", "north", "take lamp", "south", "north"], 1, WALKED, POINTS)
    assert line == (
        "Commands: 5 commands, 15 points; command 5 not played in this order before: "
        "1. north, 2. north (+5, 5 so far), 3. take lamp (+10, 15 so far), 4. south, 5. north"
    )
    assert commands_in(line) == ("north", "north", "take lamp", "south", "north")


@pytest.mark.parametrize(
    ("commands", "told"),
    [
        (["north", "north", "take lamp"], "3 commands, 15 points: "),
        (["north", "ring bell", "north"], "commands 2 to 3 not played in this order before: "),
        (["north", "dance", "north", "take lamp"], "command 2 never played there; command 3 not played in this order"),
        (
            ["north", "ring no bell", "wear hat", "north", "take lamp"],
            "5 commands, 15 points (all expected, not seen in this order); commands 2 to 3 never played there; ",
        ),
        (
            ["north", "jump", "north"],
            "3 commands, 5 points (all expected, not seen in this order); command 2 never played there; ",
        ),
        (["jump", "north", "north"], "1. jump, 2. north, 3. north (+5 expected, 5 so far)"),
        (
            ["north", "north", "jump", "take lamp"],
            "4 commands, 15 points (10 of them expected, not seen in this order); command 3 never played there; ",
        ),
        (
            ["pull rope", "ring bell", "north", "take lamp"],  # only the second place has the bell
            "4 commands, 15 points (all expected, not seen in this order); command 1 never played there; ",
        ),
        (["jump"], "1 command, 0 points; command 1 never played there: "),
        (["north", "take lamp", "wear hat", "north", "south", "south"], "; commands 2 to 3, 6 never played there"),
        (["north", "north", "dance", "south", "jump", "north"], "; commands 3, 5 never played there"),
        (["pull rope", "examine bell", "north", "north", "take lamp"], "; commands 1 to 2 never played there"),
    ],
)
def test_a_command_counts_as_walked_if_it_followed_the_one_before_it_at_this_place(
    commands: list[str], told: str
) -> None:
    assert told in commands_line(commands, 1, WALKED, POINTS)
    assert "never" not in commands_line(commands, 1, replace(WALKED, is_whole=False), POINTS)


def test_waits_until_the_story_takes_the_player_along_are_at_one_place() -> None:
    walked = Walked({(1, "pray"): [1], (1, "wait"): [2], (2, "north"): [3]}, {((1, "wait"), (2, "north"))})
    line = commands_line(["wait", "wait", "wait", "north"], 1, walked, {})
    assert line.startswith("Commands: 4 commands, 0 points; commands 2 to 3 not played in this order before: ")


@given(st.lists(st.from_regex(r"[a-z][a-z ,.'-]{0,20}[a-z]", fullmatch=True), min_size=1, max_size=60))
def test_commands_are_read_as_they_were_written(commands: list[str]) -> None:
    assert list(commands_in(commands_line(commands, 1, WALKED, POINTS))) == [
        " ".join(each.split()) for each in commands
    ]


@pytest.mark.parametrize("line", ["Follow route 3, then look.", "Commands: none", ""])
def test_other_lines_of_the_plan_have_no_commands(line: str) -> None:
    assert commands_in(line) == ()


def test_a_person_may_write_the_line_without_points() -> None:
    assert commands_in("Commands: 1. north, 2. guard, open gate, 3. wait") == ("north", "guard, open gate", "wait")


STAIRS = Walked(  # rooms 5 are several of one number, as of a trail
    {(4, "up"): [5], (5, "west"): [5], (5, "up"): [5, 6], (5, "east"): [5], (6, "open door"): [6], (6, "east"): [7]},
    {*pairwise([(4, "up"), (5, "west"), (5, "up"), (5, "east"), (5, "up"), (6, "open door")])},
)


def test_commands_in_rooms_of_one_number_are_found_where_each_was_played() -> None:
    commands = ["up", "west", "up", "east", "up", "open door"]
    assert [[*step.places] for step in steps_of(commands, 4, STAIRS)] == [[4], [5], [5], [5], [5], [6]]
    assert "not played" not in commands_line(commands, 4, STAIRS, {})


def test_the_place_of_a_command_is_open_while_those_after_it_were_played_at_each_of_them() -> None:
    *_, east = steps_of(["up", "up", "east"], 4, Walked(STAIRS.leads_to))
    assert east.places == {5, 6}


@pytest.mark.parametrize(("played_before", "winning"), [(0, 3), (1, 5), (2, 5)])
def test_points_belong_to_the_command_of_several_alike_at_which_a_game_won_them(
    played_before: int, winning: int
) -> None:
    walked = replace(STAIRS, won_after={(5, "up"): played_before})
    line = commands_line(["up", "west", "up", "east", "up", "open door"], 4, walked, {(5, "up"): 1})
    assert f"{winning}. up (+1, 1 so far)" in line
    assert line.count("+") == 1


def test_the_beginning_of_a_known_game_won_its_points_where_it_won_them() -> None:
    game = [("up", 1), ("west", 0), ("up", 0), ("east", -1), ("up", 5)]
    games = [[("up", 0)], game]
    commands = ["up", "west", "up", "east", "up", "open door"]
    line = commands_line(commands, 4, STAIRS, {(4, "up"): 1, (5, "up"): 5}, games)
    assert line.startswith("Commands: 6 commands, 6 points: 1. up (+1, 1 so far), 2. west, 3. up, 4. east, 5. up (+5,")
    other = commands_line(["up", "west", "up", "open door"], 4, STAIRS, {(5, "up"): 5}, games)
    assert "+5" not in other, "what this game did not win there it does not win"


def test_a_command_is_no_guess_if_its_place_is_unknown_and_it_was_played_somewhere() -> None:
    line = commands_line(["jump", "up", "east", "sing"], 1, STAIRS, {})
    told = "commands 1, 4 never played there; commands 2 to 3 played elsewhere, here at an unknown place: "
    assert line.startswith(f"Commands: 4 commands, 0 points; {told}")


@pytest.mark.parametrize(
    "detour",
    [
        ["east", "west"],
        ["east", "take oar", "west"],
        ["east", "down", "up", "west"],
        ["east", "down", "up", "look", "west"],
    ],
)
def test_after_a_detour_over_ways_that_were_never_walked_the_points_are_expected(detour: list[str]) -> None:
    line = commands_line(["north", *detour, "north"], 1, WALKED, {(2, "north"): 10})  # which has also worked elsewhere
    assert line.endswith(f"{len(detour) + 2}. north (+10 expected, 10 so far)")


def test_the_plan_goes_on_at_its_first_command_that_was_not_done_if_the_latest_leads_nowhere() -> None:
    steps = steps_of(["north", "ring bell", "north", "take lamp", "south"], 1, WALKED)
    progress = Progress(frozenset({0, 2}), 3)
    offers = [next_of(steps, progress, here, {"north", "south"}.__contains__) for here in (1, 2, 3)]
    assert offers == [None, 1, 3]


@pytest.mark.parametrize(
    ("steps", "here"),
    [
        ([PlannedStep("north", frozenset([1])), PlannedStep("jump", frozenset())], 2),  # its place is unknown
        ([PlannedStep("ring bell", frozenset([3])), PlannedStep("north", frozenset([2]))], 2),  # needs the bell
    ],
)
def test_nothing_but_known_moves_is_left_out_on_the_way_to_the_next_command(
    steps: list[PlannedStep], here: int
) -> None:
    assert next_of(steps, Progress(), here, {"north"}.__contains__) is None


BELL = [PlannedStep(command, frozenset([1])) for command in ("ring bell", "open door", "ring bell")]
OPEN = [PlannedStep("north", frozenset([1])), PlannedStep("jump", frozenset())]
RUNG, OPENED = (1, "ring bell"), (1, "open door")


@pytest.mark.parametrize(
    ("steps", "played", "progress"),
    [
        (BELL, [RUNG, OPENED, RUNG], Progress(frozenset({0, 1, 2}), 3)),
        (BELL, [OPENED, RUNG], Progress(frozenset({1, 2}), 3)),  # the bell of the next command
        (BELL, [OPENED, RUNG, OPENED, RUNG], Progress(frozenset({0, 1, 2}), 1)),  # the one that is left
        (BELL, [(2, "ring bell")], Progress()),
        (OPEN, [(2, "jump")], Progress()),  # its place is unknown, and it is not the next one
        (OPEN, [(1, "north"), (2, "jump")], Progress(frozenset({0, 1}), 2)),
    ],
)
def test_of_equal_commands_the_next_one_that_is_left_was_done(
    steps: list[PlannedStep], played: list[tuple[int, str]], progress: Progress
) -> None:
    assert progress_in(steps, [turn_of(*each) for each in played], same_command) == progress


def test_a_command_that_did_not_reach_the_story_was_not_done() -> None:
    refused = turn_of(*RUNG)
    refused = replace(refused, after=replace(refused.after, refusal="no"))
    assert progress_in(BELL, [refused], same_command) == Progress()


def turn_of(location_id: int, command: str) -> TurnRecord:
    moment = Observation("", Location(location_id, ""))
    return TurnRecord(1, 1, moment, (Proposal(command),), (), moment)


def same_command(turn: TurnRecord, step: PlannedStep) -> bool:
    return turn.action == step.command


def test_the_place_of_a_command_after_an_unknown_one_is_open_if_it_was_played_at_several() -> None:
    walked = Walked({(5, "dig"): [5], (6, "dig"): [6]})
    assert [*map(attrgetter("places"), steps_of(["jump", "dig"], 1, walked))] == [{1}, set()]
    assert steps_of(["jump", "dig"], 1, Walked({(5, "dig"): [5]}))[1].places == {5}
