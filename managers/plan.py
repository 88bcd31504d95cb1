"""The commands of the plan: the exact opening of the next game, checked against what has worked where."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from session.commands import plain_command
from session.route import done_in_order
from session.text import counted, one_line
from session.values import TurnRecord

PLAN = 0
"""The number by which the plan's commands are followed, as routes are by theirs."""
MOST_COMMANDS = 60
PREFIX = "Commands: "
"""The beginning of their line below the heading of the plan."""
_COMMAND = re.compile(r"(\d+)\. (.*?)(?: \(\+\d+(?: expected)?, \d+ so far\))?(?=, \d+\. |$)")

Played = tuple[int | None, str]
"""The location id and the plain form of a command that was played."""


@dataclass(frozen=True, slots=True)
class Walked:
    """What has been played, in all games that are known.

    leads_to: the location id after a command
    pairs: commands that were played one directly after the other
    """

    leads_to: Mapping[Played, int] = field(default_factory=dict)
    pairs: Collection[tuple[Played, Played]] = frozenset()


def commands_line(commands: Sequence[str], start: int | None, walked: Walked, points: Mapping[Played, int]) -> str:
    """Return the line of the plan's commands, with their points and the numbers of those that were not walked so.

    Points from the first of those on are expected, not seen.

    start: the location id at the opening
    points: what commands won
    """
    before, total, expected = None, 0, 0
    numbered: list[str] = []
    unproven: list[int] = []
    won: set[Played] = set()
    for number, (command, played) in enumerate(
        zip(commands, _at_places(commands, start, walked), strict=True), start=1
    ):
        gain = 0 if played in won else points.get(played, 0)
        total += gain
        won.add(played)
        if played not in walked.leads_to or (before is not None and (before, played) not in walked.pairs):
            unproven.append(number)
        expected += gain if unproven else 0
        mark = " expected" if unproven else ""
        numbered.append(f"{number}. {one_line(command)}{f' (+{gain}{mark}, {total} so far)' if gain else ''}")
        before = played
    told = f"; {numbered_commands(unproven)} not walked in this order before" if unproven else ""
    marked = f" ({expected} of them expected)" if expected else ""
    head = f"{counted(len(commands), 'command')}, {counted(total, 'point')}{marked}{told}"
    return f"{PREFIX}{head}: {', '.join(numbered)}"


def guesses_in(commands: Sequence[str], start: int | None, walked: Walked) -> list[int]:
    """Return the numbers of the commands that were never played at their place."""
    steps = enumerate(_at_places(commands, start, walked), start=1)
    return [number for number, played in steps if played not in walked.leads_to]


def _at_places(commands: Sequence[str], start: int | None, walked: Walked) -> Iterator[Played]:
    """Yield the plain commands with their locations, ``None`` if unknown.

    A command whose result is unknown is taken to leave the player there if it has several words, because most of one
    word are moves, or if the next one has worked there. If the next one has only worked at one other place, it is
    taken to lead there.
    """
    here, is_seen = start, True
    for number, command in enumerate(commands, start=1):
        played = here, plain_command(command)
        if not is_seen and played not in walked.leads_to:
            others = {place for place, each in walked.leads_to if each == played[1]}
            played = (others.pop() if len(others) == 1 else here), played[1]
        here, is_seen = played[0], played in walked.leads_to
        yield played
        stays = " " in played[1] or (
            number < len(commands) and (here, plain_command(commands[number])) in walked.leads_to
        )
        here = walked.leads_to.get(played, here if stays else None)


def commands_in(line: str) -> tuple[str, ...]:
    """Return the commands of a line; nothing if it is another line of the plan."""
    if not line.startswith(PREFIX):
        return ()
    start = re.search(r"(?:^|[:\s])(?=1\. )", line)
    found = _COMMAND.findall(line[start.end() :]) if start else []
    return tuple(command for _, command in found)[:MOST_COMMANDS]


def done_of(commands: Sequence[str], turns: Iterable[TurnRecord]) -> int:
    """Return how many of the commands, from the first on, were played in this game, in this order."""
    played = (plain_command(turn.action) for turn in turns if turn.after.refusal is None)
    return done_in_order(map(plain_command, commands), played)


def numbered_commands(numbers: Sequence[int]) -> str:
    """Return commands by their numbers, as in ``commands 3, 27 to 31``."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    shown = ", ".join(f"{each[0]} to {each[-1]}" if len(each) > 1 else str(each[0]) for each in ranges)
    return f"command {shown}" if len(numbers) == 1 else f"commands {shown}"
