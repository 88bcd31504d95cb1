"""Whether circling and repetitions are noticed where there are some, and not where play goes well.

    python -m benchmarks.going_in_circles [STORY ...]

plays the walkthrough of each story (Zork I in the folder ZORKGPT_STORIES, and our own, where none is named) and
aimless commands past what watches for both; twice: by what the player can notice, and by the whole world's object
tree. No model, no network.
"""

from __future__ import annotations

import random
import statistics
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from benchmarks.stories import OWN_STORY, Walkthrough, walkthrough_of, zork_or_own
from benchmarks.tables import Row, show
from game_interface.core.jericho_interface import JerichoInterface
from managers.circling import CIRCLING, CirclingDetector
from managers.tried_commands import TriedCommands
from session.command_reading import plain_command
from session.context import render_sections
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
class Notices:
    """What was noticed in one game.

    changed: turns after which all was not as before
    circling: turns after which the agent was told that it goes in circles
    repeated: commands that had failed at their place before
    listed: those of them that stood in the list of what was tried there
    doubted: commands that a hybrid critic would ask its model about for having been tried
    tokens: of what the agent was shown, by turn
    """

    turns: int = 0
    changed: int = 0
    circling: int = 0
    repeated: int = 0
    listed: int = 0
    doubted: int = 0
    tokens: list[float] = field(default_factory=list)

    def row(self) -> Row:
        """Return the figures by their headings."""
        return {
            "turns": self.turns,
            "something changed": self.changed,
            "circling noticed": self.circling,
            "failures repeated": self.repeated,
            "listed": self.listed,
            "asked of the critic": self.doubted,
            "turns with advice": sum(map(bool, self.tokens)),
            "tokens a turn": statistics.fmean(self.tokens),
            "at most": max(self.tokens),
        }


def walkthrough_turns(play: Walkthrough) -> Iterator[TurnRecord]:
    """Yield the turns of the walkthrough."""
    remaining = iter(play.commands)
    return _turns(play.open(), lambda _: next(remaining, None))


def aimless_turns(story: Path, seed: int) -> Iterator[TurnRecord]:
    """Yield turns of somebody who tries anything on whatever is there."""
    chance = random.Random(seed)

    def choose(observation: Observation) -> str:
        at_hand = (*(observation.inventory or ()), *(observation.visible or ()))
        names = [each.name.split()[-1].lower() for each in at_hand if each.name.strip()]
        return chance.choice((*_ALWAYS, *(f"{verb} {name}" for verb in _VERBS for name in names)))

    return _turns(JerichoInterface(story, seed=seed), choose, AIMLESS_TURNS)


def _turns(
    game: JerichoInterface, choose: Callable[[Observation], str | None], most: int = sys.maxsize
) -> Iterator[TurnRecord]:
    with game:
        for number in range(1, most + 1):
            before = game.observation
            command = choose(before)
            if command is None or before.ending is not None:
                return
            yield TurnRecord(1, number, before, (Proposal(command),), (Verdict(accepted=True),), game.step(command))


def noticed_in(turns: Sequence[TurnRecord], *, whole_tree: bool) -> Notices:
    """Count what is noticed in these turns of one game.

    whole_tree: by the story's whole object tree instead of what the player can notice; failures are those that the
        player noticed in either case
    """
    seen, ledger, repetitions = Notices(len(turns)), FailedCommands(), Repetitions()
    parts = structlog.get_logger(), GameConfiguration(), GameState()
    circling, tried = CirclingDetector(*parts), TriedCommands(*parts)
    for turn in turns:
        known = _by_the_tree(turn) if whole_tree else turn
        sections = [manager.section(known.before) for manager in (circling, tried)]
        told = render_sections([section for section in sections if section and section.text])
        seen.tokens.append(len(told) * FIRST_GUESS)
        seen.circling += CIRCLING in told
        seen.doubted += bool(repetitions.of(known.before, turn.action))
        if ledger.repeats(turn):
            seen.repeated += 1
            seen.listed += f"`{plain_command(turn.action)}`" in told
        circling.learn(known)
        tried.learn(known)
        repetitions.learn(known)
        seen.changed += known.before.noticed != known.after.noticed
    return seen


def _by_the_tree(turn: TurnRecord) -> TurnRecord:
    """Return the turn of a player who knows neither belongings nor sight, so that the tree's hash stands in."""
    before, after = (replace(each, inventory=None, visible=None) for each in (turn.before, turn.after))
    return replace(turn, before=before, after=after)


def main(stories: Sequence[Path]) -> None:
    """Print the figures for each story."""
    rows: list[Row] = []
    for story in stories:
        games = {"walkthrough": list(walkthrough_turns(walkthrough_of(story)))}
        for seed in range(1, AIMLESS_GAMES + 1):
            games[f"aimless {seed}"] = list(aimless_turns(story, seed))
        for name, turns in games.items():
            for basis, whole_tree in (("whole tree", True), ("player", False)):
                found = noticed_in(turns, whole_tree=whole_tree).row()
                rows.append({"story": story.stem, "commands": name, "noticed by": basis, **found})
    show(rows)


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]] or list(dict.fromkeys((OWN_STORY, zork_or_own()))))
