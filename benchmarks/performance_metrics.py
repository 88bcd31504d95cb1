"""Measures the speed of a story: in bare Jericho, with full observations, in a child process, with valid actions.

    python benchmarks/performance_metrics.py [--game FILE] [--repetitions N]

Without ``--game``: ``zork1.z5`` in the folder ZORKGPT_STORIES, otherwise the packaged story. Each repetition plays
the same commands once in every way, one after the other, so that a busy machine slows all of them. Figures are
medians over the repetitions, and the ratio is the median of the repetitions' ratios.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from statistics import median

from jericho import FrotzEnv
from jericho.jericho import UnsupportedGameWarning

from game_interface.core.isolated import IsolatedGame
from game_interface.core.jericho_interface import JerichoInterface

sys.path.insert(0, str(Path(__file__).parents[1]))  # if this file is run instead of the module

from collections.abc import Callable, Sequence

from benchmarks.stories import Walkthrough, walkthrough_or, zork_or_own
from benchmarks.tables import show

_PLAIN_COMMANDS = ("look", "inventory", "north", "south", "east", "west", "wait") * 20
_TURNS_BETWEEN_VALID_ACTIONS = 20


def main() -> None:
    """Print the table of figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", type=Path, default=zork_or_own())
    parser.add_argument("--repetitions", type=int, default=25)
    options = parser.parse_args()
    found = walkthrough_or(options.game, _PLAIN_COMMANDS)
    play = replace(found, seed=max(1, found.seed))
    seconds = measure(play, options.repetitions)
    bare, observed = seconds["bare"], seconds["observed"]
    ratio = median(one / other for one, other in zip(bare, observed, strict=True))
    overhead = median(one - other for one, other in zip(seconds["isolated"], observed, strict=True))
    print(f"{play.story.name}: {len(play.commands)} commands, {options.repetitions} repetitions, medians\n")
    figures: list[tuple[str, float, str]] = [
        ("bare Jericho, steps a second", 1 / median(bare), ""),
        ("with full observation, steps a second", 1 / median(observed), ""),
        ("ratio of these", ratio, "at least 0.45"),
        ("child process, ms a turn more", overhead * 1000, "at most 0.2"),
        ("valid actions, ms", valid_actions_seconds(play) * 1000, ""),
    ]
    show([{"figure": name, "value": value, "bar": bar} for name, value, bar in figures])


def measure(play: Walkthrough, repetitions: int) -> dict[str, list[float]]:
    """Play the commands ``repetitions`` times in each way, the ways by turns.

    Returns the seconds for one turn, on average over all commands, of each repetition by the way of playing.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsupportedGameWarning)
        bare = FrotzEnv(str(play.story), seed=play.seed)
    with JerichoInterface(play.story) as observed, IsolatedGame(play.story) as isolated:
        steps = {"bare": bare.step, "observed": observed.step, "isolated": isolated.step}
        found: dict[str, list[float]] = {name: [] for name in steps}
        for _ in range(repetitions):
            bare.reset()
            observed.reset(play.seed)
            isolated.reset(play.seed)
            for name, step in steps.items():
                found[name].append(turn_seconds(step, play.commands))
        return found


def turn_seconds(step: Callable[[str], object], commands: Sequence[str]) -> float:
    """Play all commands and return the seconds for one of them, on average."""
    gc.collect()
    start = time.perf_counter()
    for command in commands:
        step(command)
    return (time.perf_counter() - start) / len(commands)


def valid_actions_seconds(play: Walkthrough) -> float:
    """Return the seconds for ``valid_actions``, the median over states along the commands."""
    seconds = []
    with JerichoInterface(play.story, seed=play.seed) as game:
        for turn, command in enumerate(play.commands):
            if turn % _TURNS_BETWEEN_VALID_ACTIONS == 0:
                start = time.perf_counter()
                game.valid_actions()
                seconds.append(time.perf_counter() - start)
            game.step(command)
    return median(seconds)


if __name__ == "__main__":
    main()
