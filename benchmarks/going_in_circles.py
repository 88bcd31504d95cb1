"""Whether circling and repetitions are noticed where there are some, and not where play goes well.

    python -m benchmarks.going_in_circles [STORY ...]

plays the walkthrough of each story (Zork I in the folder ZORKGPT_STORIES, and our own, where none is named) and
aimless commands past what watches for both; twice: by what the player can notice, and by the whole world's object
tree. No model, no network.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from benchmarks.critic_verdicts import Play, walkthrough_of
from game_interface.core.jericho_interface import JerichoInterface
from managers.circling import CirclingDetector
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.token_counter import FIRST_GUESS
from session.values import Proposal, TurnRecord, Verdict
from zorkgpt.players.repetitions import Repetitions
from zorkgpt.report.failed_commands import FailedCommands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from session.values import Observation

AIMLESS_TURNS, AIMLESS_GAMES = 400, 3
_ALWAYS = ("north", "south", "east", "west", "up", "down", "look", "wait", "inventory", "take all", "open door")
_VERBS = ("take", "open", "examine", "push")


@dataclass(slots=True)
class Watch:
    """What was noticed in one game.

    changed: turns after which all was not as before
    circling: turns after which the agent was told that it goes in circles
    repeated: commands that had failed at their place before
    warned: those of them that stood among what the agent was shown
    doubted: commands that a hybrid critic would ask its model about for having been tried
    tokens: of what the agent was shown, by turn
    """

    turns: int = 0
    changed: int = 0
    circling: int = 0
    repeated: int = 0
    warned: int = 0
    doubted: int = 0
    tokens: list[float] = field(default_factory=list)

    def row(self) -> str:
        """The figures in one line."""
        mean, most = statistics.fmean(self.tokens), max(self.tokens)
        return (
            f"{self.turns:>5} {self.changed:>8} {self.circling:>9} {f'{self.warned}/{self.repeated}':>15}"
            f" {self.doubted:>8} {sum(map(bool, self.tokens)):>6} {mean:>6.0f} {most:>5.0f}"
        )


def walkthrough_turns(play: Play) -> Iterator[TurnRecord]:
    """The turns of the walkthrough."""
    remaining = iter(play.commands)
    return _turns(play.story, play.seed, lambda _: next(remaining, None))


def aimless_turns(story: Path, seed: int) -> Iterator[TurnRecord]:
    """Turns of somebody who tries anything on whatever is there."""
    chance = random.Random(seed)

    def choose(observation: Observation) -> str:
        at_hand = (*(observation.inventory or ()), *(observation.visible or ()))
        names = [each.name.split()[-1].lower() for each in at_hand if each.name.strip()]
        return chance.choice((*_ALWAYS, *(f"{verb} {name}" for verb in _VERBS for name in names)))

    return _turns(story, seed, choose, AIMLESS_TURNS)


def _turns(
    story: Path, seed: int, choose: Callable[[Observation], str | None], most: int = sys.maxsize
) -> Iterator[TurnRecord]:
    with JerichoInterface(story, seed=seed) as game:
        for number in range(1, most + 1):
            before = game.observation
            command = choose(before)
            if command is None or before.ending is not None:
                return
            yield TurnRecord(1, number, before, (Proposal(command),), (Verdict(accepted=True),), game.step(command))


def watch(turns: Sequence[TurnRecord], *, whole_tree: bool) -> Watch:
    """What was noticed in these turns of one game; a failure is one that the player noticed, whatever is watched."""
    seen, ledger, repetitions = Watch(len(turns)), FailedCommands(), Repetitions()
    circling = CirclingDetector(structlog.get_logger(), GameConfiguration(), GameState())
    for turn in turns:
        known = _by_the_tree(turn) if whole_tree else turn
        shown = repetitions.text(known.before)
        told = "\n".join(filter(None, (circling.text(), shown)))
        seen.tokens.append(len(told) * FIRST_GUESS)
        seen.doubted += bool(repetitions.of(known.before, turn.action))
        if ledger.repeats(turn):
            seen.repeated += 1
            seen.warned += f"`{turn.action.lower()}`" in shown
        circling.learn(known)
        repetitions.learn(known)
        seen.circling += circling.text().startswith("Everything")
        seen.changed += known.before.noticed != known.after.noticed
    return seen


def _by_the_tree(turn: TurnRecord) -> TurnRecord:
    """The turn of a player who knows neither belongings nor sight, so that the tree's hash stands in."""
    before, after = (replace(each, inventory=None, visible=None) for each in (turn.before, turn.after))
    return replace(turn, before=before, after=after)


def main(stories: Sequence[Path]) -> None:
    """Print the figures for each story."""
    print(f"{'':<34} turns  changed  circling  warned/repeated  doubted  shown  tokens: mean, most")
    for story in stories:
        games = {"walkthrough": list(walkthrough_turns(walkthrough_of(story)))}
        for seed in range(1, AIMLESS_GAMES + 1):
            games[f"aimless {seed}"] = list(aimless_turns(story, seed))
        for name, turns in games.items():
            for basis, whole_tree in (("whole tree", True), ("noticed", False)):
                print(f"{story.stem:<10} {name:<12} {basis:<10} {watch(turns, whole_tree=whole_tree).row()}")


def _known_stories() -> list[Path]:
    ours = Path(str(files("game_interface.stories") / "tidehouse.z5"))
    zork = Path(os.environ.get("ZORKGPT_STORIES", "")) / "zork1.z5"
    return [ours, *([zork] if zork.is_file() else [])]


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]] or _known_stories())
