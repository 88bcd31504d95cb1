"""Checks whether the routes learned in play bring the points that they promise.

    python -m benchmarks.route_truth [STORY ...]

The first 120 commands of each walkthrough (by default of our own story and of the folder ZORKGPT_STORIES) are learned
in a run, once as they are and once with idle commands among them. Every route to a score is then played as shown, from
the opening, with the same seed and without managers. Exit status 1: a route brings fewer points than it promises.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path

import structlog

from benchmarks.stories import OWN_STORY, Walkthrough, played, user_stories, walkthrough_of
from benchmarks.tables import Row, show
from managers.map_manager import MapManager
from managers.route_manager import RouteManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.route import Route

MOST_COMMANDS = 120
IDLE = ("look", "inventory", "examine me", "take zz", "up", "down", "wait")
"""Commands that mostly change nothing. One of them follows every second command of a walkthrough."""


@dataclass(frozen=True, slots=True)
class RouteTruth:
    """What a route promises and brings, in points.

    left_out: how many commands that were played it omits
    """

    route: Route
    promised: int
    brought: int
    left_out: int

    @property
    def is_kept(self) -> bool:
        """Whether it brings what it promises."""
        return self.brought >= self.promised


def measure(play: Walkthrough, workdir: Path) -> list[RouteTruth]:
    """Return what the routes to scores bring that the beginning of a walkthrough teaches in an empty work folder."""
    return [_tried(play, route) for route in _learned(play, workdir)]


def beginning(play: Walkthrough) -> Walkthrough:
    """Return the beginning of a walkthrough."""
    return replace(play, commands=play.commands[:MOST_COMMANDS])


def with_idle(play: Walkthrough) -> Walkthrough:
    """Return the beginning of a walkthrough with idle commands among its own."""
    idle = cycle(IDLE)
    mixed = [
        command
        for number, own in enumerate(beginning(play).commands)
        for command in (own, *([next(idle)] if number % 2 else []))
    ]
    return replace(play, commands=mixed)


def _learned(play: Walkthrough, workdir: Path) -> Iterator[Route]:
    state = GameState()
    parts = (structlog.get_logger(), GameConfiguration(zork_game_workdir=workdir), state)
    routes = RouteManager(*parts, MapManager(*parts))
    with play.open() as game:
        for turn in played(game, play.commands):
            state.record(turn)
            routes.learn(turn)
    routes.end("turn_limit")
    return (route for route in routes.book.routes if route.goal.kind == "score")


def _tried(play: Walkthrough, route: Route) -> RouteTruth:
    with play.open() as game:
        start = game.observation.score or 0
        for command in route.commands:
            game.step(command)
        brought = (game.observation.score or 0) - start
    return RouteTruth(route, route.gain(), brought, max(0, len(route.spare) - len(route.steps)))


def main(paths: Sequence[Path]) -> int:
    """Print the figures of these stories. Returns 1 if a route does not bring what it promises."""
    is_kept = True
    for title, change in (("As they are", beginning), ("With idle commands", with_idle)):
        rows: list[Row] = []
        every: list[RouteTruth] = []
        for path in paths:
            with tempfile.TemporaryDirectory() as folder:
                found = measure(change(walkthrough_of(path)), Path(folder))
            rows.append(row_of(path.stem, found))
            every += found
        show(rows, title)
        kept = sum(each.is_kept for each in every)
        print(f"{kept} of {len(every)} routes bring what they promise.\n")
        is_kept &= kept == len(every)
    return 0 if is_kept else 1


def row_of(story: str, found: Sequence[RouteTruth]) -> Row:
    """Return the figures of a story's routes, in the same order in each column."""
    figures = {
        "promised": [each.promised for each in found],
        "brought": [each.brought for each in found],
        "commands": [len(each.route.steps) for each in found],
        "left out": [each.left_out for each in found],
    }
    listed = {name: ", ".join(map(str, each)) for name, each in figures.items()}
    return {"story": story, "routes": len(found), "promises kept": sum(each.is_kept for each in found), **listed}


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]] or [OWN_STORY, *user_stories()]))
