"""Seeds of one run, ablation or proof share no luck."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from session.seeds import HIGHEST_SEED, derived_seed

PRESS = Path(__file__).parents[2] / "stories" / "press.z5"


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
