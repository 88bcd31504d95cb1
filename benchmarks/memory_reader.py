"""What memory is worth to a player that can only win by it, and how that player fares in its third episode.

    python -m benchmarks.memory_reader [--pairs N] [--seed N]

The story that ships, six episodes of 30 turns a run, a run on each core. It is the player, and with the usual options
the comparisons, of ``tests/episodes/test_ablation_instrument.py``, which holds the bars; this prints the figures.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import mean

from benchmarks.stories import OWN_STORY
from benchmarks.tables import Row, show
from tests.fixtures.small_ablation import scripted_plan
from zorkgpt.ablation.ablation import Ablation, play_locally
from zorkgpt.ablation.comparison import Comparison, compare_all
from zorkgpt.ablation.measures import RunMeasures
from zorkgpt.llm.embedded.embedded_server import available_cores

WITH_GAMES = "transcripts-only+prompt_budgets.earlier_games=6000+prompt_budgets.agent=10000"
"""The player's prompts are short otherwise, and have no room for earlier games."""
ARMS = f"full,{WITH_GAMES},reflection-only,bm25,shuffled-memory,no-memory"
EPISODES, TURNS = 6, 30


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=20_001)
    options = parser.parse_args()
    runs = played(options.pairs, options.seed)
    show(list(_arms(runs)), "Score, by arm")
    scores = [found for found in compare_all(runs, detect=5) if found.measure == "score"]
    show([_score_row(found) for found in scores], "Score, with all memories minus otherwise")
    show(list(_third_episodes([run for run in runs if run.arm == "full"])), "With all memories")


def played(pairs: int, seed: int) -> list[RunMeasures]:
    """Play every run of every arm, and return what came of each."""
    plan = scripted_plan(OWN_STORY, ARMS, pairs=pairs, episodes=EPISODES, turns=TURNS, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        ablation = Ablation(plan, Path(folder))
        for _ in ablation.play(partial(play_locally, size=available_cores())):
            pass
        return ablation.runs()


def _arms(runs: Sequence[RunMeasures]) -> Iterator[Row]:
    """Yield each arm's means of the runs: the score of all episodes, of the first and of the last."""
    for arm in dict.fromkeys(run.arm for run in runs):
        its = [run for run in runs if run.arm == arm]
        ends = [mean(run.episodes[number].score or 0 for run in its) for number in (0, -1)]
        yield {
            "arm": arm.partition("+")[0],
            "mean": mean(run.score or 0 for run in its),
            "first episode": ends[0],
            "last episode": ends[1],
            "best": mean(run.best_score or 0 for run in its),
        }


def _score_row(found: Comparison) -> Row:
    return {
        "otherwise": found.other.partition("+")[0],
        "pairs": found.pairs,
        "points": found.difference,
        "from": found.low,
        "to": found.high,
        "p": found.p,
    }


def _third_episodes(runs: Sequence[RunMeasures]) -> Iterator[Row]:
    """Yield figures of the runs' third episodes, and which part of the visited locations has a memory at their ends."""
    third = [run.episodes[2] for run in runs]
    figures = {
        "third episode: failures repeated, %": [100 * (episode.repeated_actions or 0) for episode in third],
        "third episode: location memory, tokens a turn": [episode.memory_tokens or 0 for episode in third],
        "visited locations with a memory, %": [100 * (run.memory_coverage or 0) for run in runs],
    }
    for name, values in figures.items():
        yield {"figure": name, "mean": mean(values), "least": min(values), "most": max(values)}


if __name__ == "__main__":
    main()
