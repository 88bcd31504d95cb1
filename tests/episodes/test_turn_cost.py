"""The bars on what a turn costs, over Zork I's whole walkthrough; ``benchmarks/turn_cost.py`` prints the figures."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import pytest

from benchmarks.turn_cost import ZORK_SEED, TurnCost, measure
from tests.fixtures.walkthrough import get_zork1_walkthrough

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.stories


@pytest.fixture(scope="module")
def cost(zork1: Path) -> TurnCost:
    return measure(zork1, get_zork1_walkthrough(), ZORK_SEED)


def test_the_walkthrough_wins_through_the_whole_loop(cost: TurnCost) -> None:
    assert (cost.turns, cost.score) == (396, 350)


def test_model_calls_stay_near_one_a_turn(cost: TurnCost) -> None:
    assert cost.calls_a_turn <= 1.15
    assert cost.calls["analysis"] > 0


def test_prompts_stay_short(cost: TurnCost) -> None:
    assert statistics.fmean(cost.tokens) <= 2500
    assert statistics.quantiles(cost.tokens, n=100)[94] <= 4000


def test_most_of_a_prompt_is_a_prefix_that_the_server_knows(cost: TurnCost) -> None:
    assert cost.shared_on_average >= 0.60
