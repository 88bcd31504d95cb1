"""What is not needed is left out, and no more than that."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from managers.routes.trail import minimised

LETTERS = st.lists(st.sampled_from("abcdefgh"), max_size=24).map(tuple)


def holds(needed: str, commands: tuple[str, ...]) -> bool:
    """The commands have those letters in that order."""
    left = iter(commands)
    return all(letter in left for letter in needed)


@given(LETTERS, st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6).map("".join))
def test_only_what_is_needed_is_left_in_its_order(idle: tuple[str, ...], needed: str) -> None:
    commands = (*idle, *needed, *idle)
    assert minimised(commands, lambda shorter: holds(needed, shorter)) == tuple(needed)


def test_two_commands_that_only_go_together_are_both_left_out() -> None:
    def works(commands: tuple[str, ...]) -> bool:
        return "goal" in commands and commands.count("open") == commands.count("shut")

    assert minimised(("open", "shut", "wait", "goal"), works) == ("goal",)


def test_there_and_back_again_is_left_out_wherever_it_stands() -> None:
    moves = {"north": 1, "south": -1, "east": 10}

    def works(commands: tuple[str, ...]) -> bool:
        return sum(moves[each] for each in commands) == 12 and commands[-1] == "north"

    way = ("north", "north", "south", "south", "east", "south", "north", "north", "north")
    assert minimised(way, works) == ("east", "north", "north")


def test_what_cannot_be_shortened_is_tried_a_few_times_only() -> None:
    tried: list[tuple[str, ...]] = []

    def fails(commands: tuple[str, ...]) -> bool:
        tried.append(commands)
        return False

    commands = tuple("abcdefghijklmnopqrstuvwxyz")
    assert minimised(commands, fails) == commands
    assert len(tried) <= 3 * len(commands)


def test_one_command_stays() -> None:
    assert minimised(("north",), lambda _shorter: True) == ("north",)
