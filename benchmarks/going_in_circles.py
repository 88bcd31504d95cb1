"""Measures whether circling and repetitions are noticed when they happen, and only then.

    python -m benchmarks.going_in_circles [STORY ...]

Plays the walkthrough of each story (by default the project's own and those in the folder ZORKGPT_STORIES), then
aimless commands, and submits every turn to both detectors. Then it plays loops of one to eight commands, and counts
their repetitions until the warning, from the first turn that had been played before. No model, no network. Exit status
1: a walkthrough was warned, or a loop was repeated more than MOST_REPETITIONS times before the warning.
"""

from __future__ import annotations

import logging
import math
import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import cycle
from pathlib import Path

from benchmarks.stories import OWN_STORY, Walkthrough, played, user_stories, walkthrough_of
from benchmarks.tables import Row, show
from game_interface.core.game import SavedState
from game_interface.core.jericho_interface import JerichoInterface
from managers.circling import CIRCLING, CirclingDetector, TriedCommands
from session.commands import plain_command
from session.context import render_sections
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import FIRST_GUESS
from session.values import Location, Observation, TurnRecord
from zorkgpt.report.figures import repeat_failures

AIMLESS_TURNS, AIMLESS_GAMES = 400, 3
_ALWAYS = ("north", "south", "east", "west", "up", "down", "look", "wait", "inventory", "take all", "open door")
_VERBS = ("take", "open", "examine", "push")
LAPS, MOST_REPETITIONS = 8, 4
LOOP_STARTS = (0, 20, 80)
"""The numbers of winning commands before the loops begin."""
_TOGGLES = {
    "open and close": ("open", "close"),
    "take and drop": ("take", "drop"),
    "in and out": ("get in", "get out of"),
}
_BETWEEN = ("look", "inventory", "examine me", "score", "listen")
_TOURS = {2: "there and back", 3: "three rooms", 4: "four rooms"}
_LOOPS = (
    "one command",
    "look and inventory",
    "and wait",
    *_TOURS.values(),
    "others between",
    "eight commands",
    *_TOGGLES,
)
_MOST_STEPS = 1000
"""How many steps the search for tours takes."""


@dataclass(slots=True)
class Notices:
    """The detections in one game.

    something_changed: turns in which the player could notice a change
    circling_noticed: turns in whose prompt the agent was warned that it goes in circles
    first_warning_after: turns from a first repetition to the first warning, with nothing new in between
    longest_wait: the most turns from a first repetition to its warning, or to something new, or to the end of the
        game
    failures_repeated: commands that had failed before at their location
    listed: those of them in the list of commands tried there
    asked_of_the_critic: commands that a hybrid critic would submit to its model because they were tried before
    tokens: of the advice in each turn's prompt
    """

    turns: int = 0
    something_changed: int = 0
    circling_noticed: int = 0
    first_warning_after: int | None = None
    longest_wait: int = 0
    failures_repeated: int = 0
    listed: int = 0
    asked_of_the_critic: int = 0
    tokens: list[float] = field(default_factory=list)

    def row(self) -> Row:
        """Return the figures by their headings."""
        return {
            **{name.replace("_", " "): value for name, value in asdict(self).items() if name != "tokens"},
            "turns with advice": sum(map(bool, self.tokens)),
            "tokens a turn": statistics.fmean(self.tokens),
            "at most": max(self.tokens),
        }


def walkthrough_turns(play: Walkthrough) -> Iterator[TurnRecord]:
    """Yield the turns of the walkthrough."""
    with play.open() as game:
        yield from played(game, play.commands)


def aimless_turns(story: Path, seed: int) -> Iterator[TurnRecord]:
    """Yield turns of a player who tries random commands on the objects at hand."""
    chance = random.Random(seed)

    def choose(observation: Observation) -> str:
        at_hand = (*(observation.inventory or ()), *(observation.visible or ()))
        names = [each.name.split()[-1].lower() for each in at_hand if each.name.strip()]
        return chance.choice((*_ALWAYS, *(f"{verb} {name}" for verb in _VERBS for name in names)))

    with JerichoInterface(story, seed=seed) as game:
        yield from played(game, (choose(game.observation) for _ in range(AIMLESS_TURNS)))


def loops(play: Walkthrough, start: int) -> dict[str, list[str]]:
    """Return loops that can be played after the first ``start`` winning commands, by a description."""
    with play.open() as game:
        for command in play.commands[:start]:
            game.step(command)
        begin, state = game.observation, game.save()
        found = {"one command": ["inventory"], "look and inventory": ["look", "inventory"]}
        found["and wait"] = ["look", "inventory", "wait"]
        for tour in _tours(game):
            found.setdefault(_TOURS[len(tour)], tour)
        if "there and back" in found:
            there, back = found["there and back"]
            found["others between"] = [there, "", back, ""]
            found["eight commands"] = [there, back, "look", there, back, "inventory", there, back]
        for name, (do, undo) in _TOGGLES.items():
            for thing in begin.visible or ():
                noun = thing.words[-1] if thing.words else ""
                game.restore(state)
                done = game.step(f"{do} {noun}").noticed
                if done != begin.noticed and game.step(f"{undo} {noun}").noticed != done:
                    found.setdefault(name, [f"{do} {noun}", f"{undo} {noun}"])
        return found


def _tours(game: JerichoInterface) -> Iterator[list[str]]:
    """Yield walks of two to four directions that lead back to where the game is now."""
    start, steps = game.observation.location, 0
    walks: list[tuple[list[str], SavedState, Location | None]] = [([], game.save(), start)]
    while walks and steps < _MOST_STEPS:
        way, state, here = walks.pop(0)
        for direction in game.facts.directions:
            game.restore(state)
            after, steps = game.step(direction), steps + 1
            if after.ending or after.died or after.awaits_key or after.location in (None, here):
                continue
            if after.location == start:
                yield [*way, direction]
            elif len(way) + 1 < max(_TOURS):
                walks.append(([*way, direction], game.save(), after.location))


def repetitions_until_warned(play: Walkthrough, start: int, loop: list[str]) -> int | None:
    """Return how often a loop was repeated until the warning, from the first turn that had been played before.

    A turn had been played before if the command, the text and what the player can notice were the same. ``None`` if
    other turns came until the end, so that no warning was due.
    """
    between = cycle(_BETWEEN)
    commands = [*play.commands[:start], *(each or next(between) for each in loop * LAPS)]
    state, known, repeated = GameState(), set[tuple[object, ...]](), 0
    circling = CirclingDetector(logging.getLogger(__name__), GameConfiguration(), state)
    for turn in walkthrough_turns(replace(play, commands=commands)):
        state.record(turn)
        circling.learn(turn)
        seen = (turn.action, turn.after.text, turn.before.noticed, turn.after.noticed)
        repeated = repeated + 1 if seen in known else 0
        known.add(seen)
        if circling.is_circling and turn.turn > start:
            break
    repetitions = math.ceil(repeated / len(loop))
    return repetitions if circling.is_circling or repetitions > MOST_REPETITIONS else None


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
        seen.circling_noticed += CIRCLING in advice
        seen.asked_of_the_critic += len(set(state.tries.outcomes(turn.before, turn.action))) == 1
        if repeats:
            seen.failures_repeated += 1
            seen.listed += f"`{plain_command(turn.action)}`" in advice
        was_circling = circling.is_circling
        state.record(turn)
        circling.learn(turn)
        seen.something_changed += turn.before.noticed != turn.after.noticed
        if circling.repetitions == 0:
            start = None
        elif start is None:
            start = turn.turn
        if start is not None and not was_circling:
            seen.longest_wait = max(seen.longest_wait, turn.turn - start)
            if circling.is_circling and seen.first_warning_after is None:
                seen.first_warning_after = turn.turn - start
    return seen


def main(stories: Sequence[Path]) -> int:
    """Print the figures for each story. Returns 1 if a walkthrough was warned, or a loop too late."""
    rows: list[Row] = []
    repeated: list[Row] = []
    for story in stories:
        play = walkthrough_of(story)
        games = {"walkthrough": list(walkthrough_turns(play))}
        for seed in range(1, AIMLESS_GAMES + 1):
            games[f"aimless {seed}"] = list(aimless_turns(story, seed))
        for name, turns in games.items():
            rows.append({"story": story.stem, "commands": name, **noticed_in(turns).row()})
        for start in (each for each in LOOP_STARTS if each < len(play.commands)):
            found = loops(play, start)
            times = {name: repetitions_until_warned(play, start, found[name]) for name in _LOOPS if name in found}
            repeated.append({"story": story.stem, "after": start, **{name: times.get(name) for name in _LOOPS}})
    show(rows)
    show(
        repeated, "Repetitions of a loop until the warning (at most 4); a dash for no loop, or new turns until the end"
    )
    warned_after = [row[name] for row in repeated for name in _LOOPS]
    late = [times for times in warned_after if isinstance(times, int) and times > MOST_REPETITIONS]
    warned = [row["story"] for row in rows if row["commands"] == "walkthrough" and row["circling noticed"]]
    return 1 if late or warned else 0


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]] or [OWN_STORY, *user_stories()]))
