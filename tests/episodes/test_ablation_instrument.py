"""An ablation sees an effect where there is one, none where there is none, and the same on a cluster as here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fixtures.small_ablation import scripted_plan
from zorkgpt.ablation.ablation import Ablation
from zorkgpt.ablation.comparison import compare_all
from zorkgpt.ablation.crew import LocalCrew

if TYPE_CHECKING:
    from pathlib import Path

    from zorkgpt.ablation.comparison import Comparison

OTHER_SEED = "agent_sampling.seed=1000"
PAIRS, EPISODES, TURNS = 10, 4, 25


@pytest.fixture(scope="module")
def differences(own_story: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Comparison]:
    """In score, of a player that can only win by what memory tells it, by the arm it is compared with.

    One arm is the first one over again, one is the same but for the player's seed.
    """
    arms = f"full,no-memory,shuffled-memory,{OTHER_SEED},map.shown=true"
    plan = scripted_plan(own_story, arms, pairs=PAIRS, episodes=EPISODES, turns=TURNS)
    ablation = Ablation(plan, tmp_path_factory.mktemp("instrument"))
    for _ in ablation.play(LocalCrew(2)):
        pass
    return {each.other: each for each in compare_all(ablation.runs(), detect=5) if each.measure == "score"}


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["no-memory", "shuffled-memory"])
def test_it_scores_higher_with_its_own_memories_than_with_none_or_with_anothers(
    differences: dict[str, Comparison], arm: str
) -> None:
    found = differences[arm]
    assert found.low is not None
    assert found.low > 0
    assert found.is_shown


@pytest.mark.slow
def test_two_identical_arms_differ_in_no_pair(differences: dict[str, Comparison]) -> None:
    found = differences["map.shown=true"]
    assert (found.pairs, found.difference, found.p) == (PAIRS, 0, 1)
    assert not found.is_shown


@pytest.mark.slow
def test_two_arms_that_only_chance_tells_apart_are_not_told_apart(differences: dict[str, Comparison]) -> None:
    found = differences[OTHER_SEED]
    assert found.difference != 0
    assert not found.is_shown
