"""The commands of the plan: the exact opening of the next game, checked against what has worked where."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import product, takewhile, zip_longest

from session.commands import passes_time, perceives, plain_command
from session.text import counted, one_line
from session.values import TurnRecord
from zorkgpt.mapping.map_values import OPPOSITES

PLAN = 0
"""The number by which the plan's commands are followed, as routes are by theirs."""
MOST_COMMANDS = 60
PREFIX = "Commands: "
"""The beginning of their line below the heading of the plan."""
NEVER, UNKNOWN = "never played there", "played elsewhere, here at an unknown place"
IN_ORDER = "not played in this order before"
_COMMAND = re.compile(r"(\d+)\. (.*?)(?: \(\+\d+(?: expected)?, \d+ so far\))?(?=, \d+\. |$)")

Played = tuple[int | None, str]
"""The location id and the plain form of a command that was played."""


@dataclass(frozen=True, slots=True)
class Walked:
    """What has been played, in all games that are known.

    leads_to: the location ids to which a command has led; several rooms may share the id at which it was played
    pairs: commands that were played one directly after the other
    is_whole: all that was played is known, so that what is missing was never played
    won_after: how often a command that won points had been played at its place before, without moves that failed
    """

    leads_to: Mapping[Played, Collection[int]] = field(default_factory=dict)
    pairs: AbstractSet[tuple[Played, Played]] = frozenset()
    is_whole: bool = True
    won_after: Mapping[Played, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A command of the plan in its plain form.

    places, leads_to: the location ids at which it would be played, and to which it leads; empty if unknown
    is_played: it was played there in a game
    """

    command: str
    places: frozenset[int]
    leads_to: frozenset[int] = frozenset()
    is_played: bool = False

    @property
    def played(self) -> list[Played]:
        """The command at each of its places, or at ``None``."""
        return [(place, self.command) for place in sorted(self.places) or (None,)]


@dataclass(frozen=True, slots=True)
class Progress:
    """What of the plan was done in a game, by numbers from 0.

    at: the number after the one that was done last
    """

    done: frozenset[int] = frozenset()
    at: int = 0


def commands_line(
    commands: Sequence[str],
    start: int | None,
    walked: Walked,
    points: Mapping[Played, int],
    games: Iterable[Sequence[tuple[str, int]]] = (),
) -> str:
    """Return the line of the plan's commands, with their points and the numbers of those that are in doubt.

    Points from the first one on that was not played so are expected, not seen. The beginning of a known game won what
    it won there.

    start: the location id at the opening
    points: what commands won
    games: the plain commands of each known game, in order, each with the points that it won or lost
    """
    before: list[Played] = []
    total, expected = 0, 0
    numbered: list[str] = []
    doubts: dict[str, list[int]] = {NEVER: [], UNKNOWN: [], IN_ORDER: []}
    won: set[Played] = set()
    steps = steps_of(commands, start, walked)
    times = Counter(each for step in steps for each in step.played)
    before_it = {each: min(walked.won_after.get(each, 0), times[each] - 1) for each in times}
    seen = _seen_points([step.command for step in steps], games)
    for number, (command, step) in enumerate(zip(commands, steps, strict=True), start=1):
        due = [each for each in step.played if each in points.keys() - won]
        if number <= len(seen):
            gain = max(seen[number - 1], 0)
            due = due if gain else []
        else:
            due = [each for each in due if before_it[each] <= 0]
            gain = points[due[0]] if due else 0
        total += gain
        before_it.update({each: before_it[each] - 1 for each in step.played})
        won.update(due[:1])
        if doubt := _doubt_about(step, before, walked):
            doubts[doubt].append(number)
        is_expected = any(doubts.values())
        expected += gain if is_expected else 0
        mark = " expected" if is_expected else ""
        numbered.append(f"{number}. {one_line(command)}{f' (+{gain}{mark}, {total} so far)' if gain else ''}")
        before = step.played
    remarks = [f"{numbered_commands(numbers)} {what}" for what, numbers in doubts.items() if numbers]
    number_of = "all" if expected == total else f"{expected} of them"
    marked = f" ({number_of} expected, not seen in this order)" if expected else ""
    head = "; ".join([f"{counted(len(commands), 'command')}, {counted(total, 'point')}{marked}", *remarks])
    return f"{PREFIX}{head}: {', '.join(numbered)}"


def _seen_points(commands: Sequence[str], games: Iterable[Sequence[tuple[str, int]]]) -> Sequence[int]:
    """Return the points of the first commands, as many as a known game began with."""
    seen: list[int] = []
    for game in games:
        pairs = takewhile(lambda pair: pair[0] == pair[1][0], zip(commands, game, strict=False))
        seen = max(seen, [points for _, (_, points) in pairs], key=len)
    return seen


def _doubt_about(step: PlannedStep, before: Sequence[Played], walked: Walked) -> str:
    """Return in words why it is not known what the command does after the one before; "" if it is."""
    if step.is_played or not walked.is_whole:
        is_in_order = step.is_played and not (before and walked.pairs.isdisjoint(product(before, step.played)))
        return "" if is_in_order else IN_ORDER
    is_elsewhere = not step.places and any(command == step.command for _, command in walked.leads_to)
    return UNKNOWN if is_elsewhere else NEVER


def steps_of(commands: Sequence[str], start: int | None, walked: Walked) -> Sequence[PlannedStep]:
    """Return the commands with the places at which they would be played.

    Of several places to which a command has led, those count at which the next one was played, best directly after it.
    One that only passes time may also leave the player there, because the story moves the player independently of it.
    A command whose result is unknown is taken to leave the player there if it has several words, because most of one
    word are moves, or if the next one has worked there. If the next one has only worked at one other place, it is
    taken to lead there. The opposite of a direction that leads to an unknown place is taken to lead back.
    """
    steps: list[PlannedStep] = []
    ways_back: list[tuple[str, frozenset[int]]] = []  # from unknown places
    here = frozenset() if start is None else frozenset([start])
    before: list[Played] = []
    plain = [plain_command(command) for command in commands]
    for command, following in zip_longest(plain, plain[1:], fillvalue=""):
        if not here and ways_back and command == ways_back[-1][0]:
            steps.append(PlannedStep(command, here, ways_back[-1][1]))
            here, before = ways_back.pop()[1], steps[-1].played
            continue
        played = {place for place in here if (place, command) in walked.leads_to}
        may_lead_away = steps and not steps[-1].is_played and not perceives(steps[-1].command)
        if not played and may_lead_away and not perceives(command):
            others = {place for place, each in walked.leads_to if each == command and place is not None}
            played = others if len(others) == 1 else played
        if len(played) > 1:
            ways = product(before, played)
            played = {place for one, place in ways if (one, (place, command)) in walked.pairs} or played
        places = frozenset(played) or here
        if played:
            here = frozenset(to for place in played for to in walked.leads_to[place, command])
            here |= played if passes_time(command) else frozenset()  # where the story took the player along
        elif " " not in command and not any((place, following) in walked.leads_to for place in here):
            ways_back += [(OPPOSITES[command], here)] if command in OPPOSITES else []
            here = frozenset()
        steps.append(PlannedStep(command, places, here, bool(played)))
        before = steps[-1].played
    return steps


def commands_in(line: str) -> tuple[str, ...]:
    """Return the commands of a line; nothing if it is another line of the plan."""
    if not line.startswith(PREFIX):
        return ()
    start = re.search(r"(?:^|[:\s])(?=1\. )", line)
    found = _COMMAND.findall(line[start.end() :]) if start else []
    return tuple(command for _, command in found)[:MOST_COMMANDS]


def progress_in(
    steps: Sequence[PlannedStep],
    turns: Iterable[TurnRecord],
    does_same: Callable[[TurnRecord, PlannedStep], bool],
    before: Progress = Progress(),
) -> Progress:
    """Return what of the plan was done in this game, in whatever order.

    A command without a known place counts only directly after the one before it.

    does_same: whether a turn did what a command at its place would do
    before: what was done before these turns
    """
    done, at = {*before.done}, before.at
    for turn in (turn for turn in turns if turn.after.refusal is None):
        here = turn.before.location_id
        fits = [
            number
            for number, step in enumerate(steps)
            if (number == at if here is None or not step.places else here in step.places) and does_same(turn, step)
        ]
        if fits:
            number = min(fits, key=lambda number: (number in done, number < at, number))
            done.add(number)
            at = number + 1
    return Progress(frozenset(done), at)


def next_of(
    steps: Sequence[PlannedStep], progress: Progress, here: int | None, is_move: Callable[[str], bool]
) -> int | None:
    """Return the number, from 0, of the command with which the plan goes on at a location; ``None`` if none fits.

    It is after the latest one that was done; only moves are left out on the way to it. Otherwise it is the first one
    that was not done.
    """
    is_passed = False
    left = [number for number in range(len(steps)) if number not in progress.done]
    for number in (each for each in left if each >= progress.at):
        places = steps[number].places
        if here in places if places and here is not None else not is_passed:
            return number
        if not is_move(steps[number].command):
            break
        is_passed = True
    return left[0] if left and here in steps[left[0]].places else None


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
