"""Checks whether routes that are offered in the middle of a varied game bring the points that they promise.

    python -m benchmarks.joined_routes [STORY ...]

The first 110 commands of each walkthrough (by default of our own story and of the folder ZORKGPT_STORIES) are learned
as one game. In two more games each twelfth command or so is left out, and another one is added as often. Each route
with points that a prompt would offer there is played to its end from a saved state. Without ``perhaps`` in its line
the program knows of no difference to the game in which the route was played; chance and unseen variables may still
differ.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import structlog

from benchmarks.stories import OWN_STORY, Walkthrough, played, user_stories, walkthrough_of
from benchmarks.tables import Row, show
from game_interface.core.game import Game
from managers.map_manager import MapManager
from managers.route_manager import RouteManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState

MOST_COMMANDS = 110
CHANGE = 0.08
"""The share of commands that are left out, and of those after which another one is added."""
OTHERS = ("look", "inventory", "wait", "north", "south", "east", "west", "up", "down", "drop all", "take all")


def measure(play: Walkthrough, workdir: Path) -> Iterator[tuple[bool, bool]]:
    """Yield for each offer whether it was marked as doubtful, and whether it brought what it promised."""
    chance, commands = Random(play.story.stem), play.commands[:MOST_COMMANDS]
    for episode in (1, 2, 3):
        state, checked = GameState(episode=episode), set[tuple[int, int, str]]()
        parts = (structlog.get_logger(), GameConfiguration(zork_game_workdir=workdir), state)
        routes = RouteManager(*parts, MapManager(*parts))
        with play.open() as game:
            state.begin(game.observation)
            for turn in played(game, commands if episode == 1 else [*_varied(commands, chance)]):
                state.record(turn)
                routes.learn(turn)
                for route, done in routes.shown(turn.after)[0] if episode > 1 else ():
                    now = (route.number, done, turn.after.state_hash)
                    if route.gain(done) > 0 and now not in checked:
                        checked.add(now)
                        yield bool(route.doubts), _brought(game, route.commands[done:]) >= route.gain(done)
        routes.end("turn_limit")


def _varied(commands: Sequence[str], chance: Random) -> Iterator[str]:
    for command in commands:
        drawn = chance.random()
        yield from [command] if drawn > CHANGE else []
        yield from [chance.choice(OTHERS)] if drawn > 1 - CHANGE else []


def _brought(game: Game, commands: Sequence[str]) -> int:
    """Return the points that the commands bring now; the game is as before afterwards."""
    saved = game.save()
    for command in commands:
        if game.observation.ending is None:
            game.step(command)
    brought = (game.observation.score or 0) - (saved.observation.score or 0)
    game.restore(saved)
    return brought


def main(paths: Sequence[Path]) -> int:
    """Print the figures of these stories. Returns 0."""
    rows: list[Row] = []
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            found = [*measure(walkthrough_of(path), Path(folder))]
        sure = [is_kept for is_doubtful, is_kept in found if not is_doubtful]
        kept = sum(is_kept for _, is_kept in found)
        figures = {"offers": len(found), "kept": kept, "without perhaps": len(sure), "of these kept": sum(sure)}
        rows.append({"story": path.stem, **figures})
    show(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]] or [OWN_STORY, *user_stories()]))
