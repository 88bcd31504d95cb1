"""What memory is worth to a player that can only win by it, and how that player fares in its third episode.

    python -m benchmarks.memory_reader [--pairs N] [--seed N]

The story that ships, six episodes of 30 turns a run, two runs at a time. It is the player, and with the usual options
the comparisons, of ``tests/episodes/test_ablation_instrument.py``, which holds the bars; this prints the figures.
"""

from __future__ import annotations

import argparse
import tempfile
from importlib.resources import files
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from tests.fixtures.small_ablation import scripted_plan
from zorkgpt.ablation.ablation import Ablation
from zorkgpt.ablation.comparison import compare_all
from zorkgpt.ablation.runners import LocalRunner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zorkgpt.ablation.comparison import Comparison
    from zorkgpt.ablation.measures import RunMeasures

ARMS = "full,no-memory,shuffled-memory"
EPISODES, TURNS = 6, 30


def main() -> None:
    """The figures are printed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=20_001)
    options = parser.parse_args()
    runs = played(options.pairs, options.seed)
    for found in compare_all(runs, detect=5):
        if found.measure == "score":
            print(f"score, full minus {found.other}: {in_words(found)}, {found.pairs} pairs")
    print_learning([run for run in runs if run.arm == "full"])


def in_words(found: Comparison) -> str:
    """The difference in points, its interval and p; where these cannot be had, why."""
    if found.difference is None or found.low is None or found.high is None or found.p is None:
        return found.why_not
    return f"{found.difference:.2f} ({found.low:.2f} to {found.high:.2f}), p {found.p:.4f}"


def played(pairs: int, seed: int) -> list[RunMeasures]:
    """Every run of every arm."""
    story = Path(str(files("game_interface.stories") / "tidehouse.z5"))
    plan = scripted_plan(story, ARMS, pairs=pairs, episodes=EPISODES, turns=TURNS, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        ablation = Ablation(plan, Path(folder))
        for _ in ablation.play(LocalRunner(2)):
            pass
        return ablation.runs()


def print_learning(runs: Sequence[RunMeasures]) -> None:
    """Of third episodes, repeated failures and tokens of location memory a turn: mean, least and most of the runs.

    Then the least share of visited locations that have a memory at the end of a run.
    """
    third = [run.episodes[2] for run in runs]
    repeats = [100 * (episode.repeated_actions or 0) for episode in third]
    tokens = [episode.memory_tokens or 0 for episode in third]
    print(f"third episode of full, repeats  {mean(repeats):.1f} % ({min(repeats):.1f} to {max(repeats):.1f})")
    print(f"third episode of full, memory   {mean(tokens):.0f} tokens a turn ({min(tokens):.0f} to {max(tokens):.0f})")
    print(f"locations with a memory         {100 * min(run.memory_coverage or 0 for run in runs):.0f} % or more")


if __name__ == "__main__":
    main()
