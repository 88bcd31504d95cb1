"""Remembers which commands were typed before in an episode with everything as it is now, and what came of them.

As it is now means: as far as the player can tell.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from session.commands import plain_command
from session.text import cut_at, one_line
from session.values import Observation, TurnRecord

LONGEST_OUTCOME = 60
"""Characters of an outcome that are shown."""
_INTRODUCTION = "With everything you can see as it is now, you have typed here, and each time this was the answer:"


class _Try(NamedTuple):
    """One time that a command was typed: what came of it, and the hash of the world before."""

    outcome: str
    world_hash: str


class Repetitions:
    """The commands of one episode, by what the player noticed before each.

    What this tells is advice: something out of sight may make the difference next time.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin a new episode, in which nothing was typed."""
        self._tries: defaultdict[tuple[object, ...], dict[str, list[_Try]]] = defaultdict(dict)

    def learn(self, turn: TurnRecord) -> None:
        """Remember the turn's command and its outcome, unless it was a move or never reached the story.

        Moves are left out, because a way that leads on may be walked as often as it is needed.
        """
        noticed = turn.before.noticed
        if noticed is not None and turn.after.refusal is None and not turn.moved:
            tries, command = self._tries[noticed], plain_command(turn.action)
            tries[command] = [*tries.get(command, ()), _Try(one_line(turn.after.text), turn.before.world_hash)]

    def of(self, observation: Observation, command: str) -> str:
        """Return a sentence on what came of ``command`` before, if once even all out of sight was as it is now.

        "" where it was not typed, and where its outcomes differ: then there is chance in it, and trying again may help.
        """
        plain = plain_command(command)
        noticed = observation.noticed
        tries = ({} if noticed is None else self._tries.get(noticed, {})).get(plain, [])
        same_world = any(each.world_hash == observation.world_hash != "" for each in tries)
        return f"{_INTRODUCTION} {_line(plain, tries)}" if same_world and _is_steady(tries) else ""


def _is_steady(tries: list[_Try]) -> bool:
    return len({each.outcome for each in tries}) == 1


def _line(command: str, tries: list[_Try]) -> str:
    times = "once" if len(tries) == 1 else f"{len(tries)} times"
    return f"`{command}` ({times}): {cut_at(tries[0].outcome, LONGEST_OUTCOME)}"
