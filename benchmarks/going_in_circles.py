"""Measures whether circling and repetitions are noticed when they happen, and only then.

    python -m benchmarks.going_in_circles [STORY ...]

Plays the walkthrough of each story (by default the project's own and those in the folder ZORKGPT_STORIES), then
aimless commands, and submits every turn to both detectors. No model, no network.
"""

from __future__ import annotations

import logging
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.stories import OWN_STORY, Walkthrough, user_stories, walkthrough_of
from benchmarks.tables import Row, show
from game_interface.core.jericho_interface import JerichoInterface
from managers.circling import CIRCLING, CirclingDetector, TriedCommands
from session.commands import plain_command
from session.context import render_sections
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import FIRST_GUESS
from session.values import Observation, Proposal, TurnRecord, Verdict
from zorkgpt.report.figures import repeat_failures

AIMLESS_TURNS, AIMLESS_GAMES = 400, 3
_ALWAYS = ("north", "south", "east", "west", "up", "down", "look", "wait", "inventory", "take all", "open door")
_VERBS = ("take", "open", "examine", "push")


@dataclass(slots=True)
class Notices:
    """The detections in one game.

    changed: turns in which the player could notice a change
    circling: turns in whose prompt the agent was warned that it goes in circles
    first_wait: turns from a first repetition to the first warning, with nothing new in between
    longest_wait: the most turns from a first repetition to its warning, or to something new, or to the end of the
        game
    repeated: commands that had failed before at their location
    listed: those of them in the list of commands tried there
    doubted: commands that a hybrid critic would submit to its model because they were tried before
    tokens: of the advice in each turn's prompt
    """

    turns: int = 0
    changed: int = 0
    circling: int = 0
    first_wait: int | None = None
    longest_wait: int = 0
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
            "first warning after": self.first_wait,
            "longest wait": self.longest_wait,
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
    """Yield turns of a player who tries random commands on the objects at hand."""
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


def noticed_in(turns: Sequence[TurnRecord]) -> Notices:
    """Count what is noticed in these turns of one game."""
    seen, state = Notices(len(turns)), GameState()
    parts = logging.getLogger(__name__), GameConfiguration(), state
    circling, tried = CirclingDetector(*parts), TriedCommands(*parts)
    start: int | None = None
    for turn, repeats in zip(turns, repeat_failures(turns), strict=True):
        sections = [manager.section(turn.before) for manager in (circling, tried)]
        advice = render_sections([section for section in sections if section and section.text])
        seen.tokens.append(len(advice) * FIRST_GUESS)
        seen.circling += CIRCLING in advice
        seen.doubted += len(set(state.tries.outcomes(turn.before, turn.action))) == 1
        if repeats:
            seen.repeated += 1
            seen.listed += f"`{plain_command(turn.action)}`" in advice
        was_circling = circling.is_circling
        state.record(turn)
        circling.learn(turn)
        seen.changed += turn.before.noticed != turn.after.noticed
        if circling.repetitions == 0:
            start = None
        elif start is None:
            start = turn.turn
        if start is not None and not was_circling:
            seen.longest_wait = max(seen.longest_wait, turn.turn - start)
            if circling.is_circling and seen.first_wait is None:
                seen.first_wait = turn.turn - start
    return seen


def main(stories: Sequence[Path]) -> None:
    """Print the figures for each story."""
    rows: list[Row] = []
    for story in stories:
        games = {"walkthrough": list(walkthrough_turns(walkthrough_of(story)))}
        for seed in range(1, AIMLESS_GAMES + 1):
            games[f"aimless {seed}"] = list(aimless_turns(story, seed))
        for name, turns in games.items():
            rows.append({"story": story.stem, "commands": name, **noticed_in(turns).row()})
    show(rows)


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]] or [OWN_STORY, *user_stories()])
