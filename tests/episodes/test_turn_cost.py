"""The bars on what a turn and an observation cost, over Zork I's whole walkthrough.

``benchmarks/turn_cost.py`` and ``benchmarks/performance_metrics.py`` print the figures.
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest

from benchmarks.stories import walkthrough_of
from benchmarks.turn_cost import BARS, Calls, Measured, measure
from game_interface.core.jericho_interface import JerichoInterface

pytestmark = [pytest.mark.stories, pytest.mark.slow]  # whole walkthroughs
COUNTED = [name for name, bar in BARS.items() if not bar.is_time]


@pytest.fixture(scope="module")
def cold(zork1: Path) -> Measured:
    return measure(walkthrough_of(zork1))


@pytest.fixture(scope="module")
def warm(zork1: Path, cold: Measured) -> Measured:
    return measure(walkthrough_of(zork1), cold.cost.rooms)


def test_the_walkthrough_wins_through_the_whole_loop(cold: Measured) -> None:
    assert (cold.cost.turns, cold.cost.score) == (396, 350)


@pytest.mark.parametrize("figure", COUNTED)
def test_a_turn_costs_no_more_than_its_bar(cold: Measured, figure: str) -> None:
    assert cold.figures()[figure] <= BARS[figure].cold


@pytest.mark.parametrize("figure", COUNTED)
def test_a_turn_costs_no_more_than_its_bar_with_much_to_remember(warm: Measured, figure: str) -> None:
    assert warm.figures()[figure] <= BARS[figure].warm


def test_most_of_an_agents_prompt_is_a_prefix_that_the_server_knows(cold: Measured) -> None:
    assert fmean(cold.cost.shared["agent"]) >= 0.85


def test_so_they_are_with_much_to_remember(warm: Measured) -> None:
    assert fmean(warm.cost.shared["agent"]) >= 0.85


def test_an_observation_takes_few_function_calls(zork1: Path) -> None:
    """More than 150 a step cost the bar of 0.45 of bare Jericho's speed, which a busy machine hides."""
    play = walkthrough_of(zork1)
    with JerichoInterface(play.story, seed=play.seed) as game, Calls() as calls:
        for command in play.commands:
            game.step(command)
    assert calls.all <= 150 * len(play.commands)
