"""Counts how many of the points of a walkthrough a player could win that only chooses from the list of valid actions.

    python -m benchmarks.valid_actions [STORY ...]

Replays the walkthrough of each story (by default of the folder ZORKGPT_STORIES and the project's own). Wherever its
next command wins points, each valid action is tried: one that wins as many shows that they can be won from the list.
Exit status 1: for the project's own story, some cannot.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.stories import OWN_STORY, Walkthrough, user_stories, walkthrough_of
from benchmarks.tables import Row, show
from game_interface.core.game import Game
from session.values import Observation

MOST_COMMANDS = 250
"""Commands of a walkthrough that are played, at most."""


def scoring_commands(play: Walkthrough) -> Iterator[tuple[str, int, bool]]:
    """Yield each command that wins points, its points, and whether some valid action wins as many there."""
    with play.open() as game:
        for command in play.commands[:MOST_COMMANDS]:
            if game.observation.ending is not None:
                return
            start = game.save()
            points = _points(start.observation, game.step(command))
            if points > 0:
                after = game.save()
                game.restore(start)
                yield command, points, any(_points(start.observation, answer) >= points for answer in _answers(game))
                game.restore(after)


def _answers(game: Game) -> Iterator[Observation]:
    """Yield what each valid action leads to; the game is then as it was."""
    start = game.save()
    for action in game.valid_actions():
        yield game.step(action)
        game.restore(start)


def _points(before: Observation, after: Observation) -> int:
    """Return the points that a step won; 0 if a score is unknown."""
    return 0 if before.score is None or after.score is None else after.score - before.score


def main(paths: Sequence[Path]) -> int:
    """Print the figures of these stories. Returns 1 if a point of the project's own story is not in the list."""
    rows: list[Row] = []
    missed_in_own: list[str] = []
    for path in paths:
        found = list(scoring_commands(walkthrough_of(path)))
        missed = [command for command, _, can_be_won in found if not can_be_won]
        missed_in_own += missed if path == OWN_STORY else []
        rows.append(
            {
                "story": path.stem,
                "commands that win points": len(found),
                "replaceable by a valid action": len(found) - len(missed),
                "their points": sum(points for _, points, _ in found),
                "points of valid actions": sum(points for _, points, can_be_won in found if can_be_won),
            }
        )
    show(rows)
    if missed_in_own:
        print(f"Not replaceable in the project's own story: {', '.join(missed_in_own)}")
    return 1 if missed_in_own else 0


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]] or [OWN_STORY, *user_stories()]))
