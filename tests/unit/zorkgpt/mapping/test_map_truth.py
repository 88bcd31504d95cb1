"""The map learnt in play is true of real stories, as defined in ``benchmarks.map_truth``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.map_truth import MapTruth, measure
from game_interface.core.jericho_interface import JerichoInterface
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.walkthrough import WINNING_SEED, get_zork1_walkthrough


def truth_of(story: Path, commands: Sequence[str], workdir: Path) -> MapTruth:
    with JerichoInterface(story, seed=WINNING_SEED) as game:
        return measure(game, commands, workdir)


def test_the_map_of_the_shipped_story_is_true_after_its_walkthrough(own_story: Path, tmp_path: Path) -> None:
    truth = truth_of(own_story, WALKTHROUGH, tmp_path)
    assert truth.commands == len(WALKTHROUGH)
    assert truth.edges > 0
    assert truth.holds, truth


@pytest.mark.stories
def test_the_map_of_zork_1_is_true_after_its_walkthrough(zork1: Path, tmp_path: Path) -> None:
    truth = truth_of(zork1, get_zork1_walkthrough(), tmp_path)
    assert (truth.commands, truth.moves, truth.carried, truth.rooms, truth.edges) == (396, 241, 2, 86, 142)
    assert truth.holds, truth
