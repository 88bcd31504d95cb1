"""Explores the beginning of an unknown story, and infers where it keeps its status.

The exploration shows which object is the player and which globals hold the room, the score and the turns.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from struct import unpack_from
from typing import NamedTuple

from game_interface.core.machine.interpreter import Interpreter, Snapshot
from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.saved_state import Clues
from game_interface.core.machine.story import Story

_MOTIONS = (
    *("north", "south", "east", "west", "northeast", "northwest", "southeast", "southwest"),
    *("up", "down", "in", "out", "stand"),
)
_TURNS = ("look", "inventory", "look")
"""Commands that take a turn in every library without changing the world."""
_MOST_PLACES = 7
_ENOUGH_MOVES = 8


_LAST_STATUS_LINE_VERSION = 3
"""Up to this version the interpreter draws the status line, from the first three globals."""
_GLOBALS = 240
_MOST_MOVES = 0.8
_FIGURE = re.compile(r"-?\d+(?!\d|:\d)")
"""A number that is not the hour of a time."""
_OUT_OF = re.compile(
    r"(-?\d+)(?: points?)?,?\s*(?:/|\(?(?:out )?of\b|\(total of)\s*(?:(?:a|the|an?)\s+)?"
    r"(?:(?:possible|maximum|total|grand|of)\s+)*(\d+)",
    re.IGNORECASE,
)
_SCORED = re.compile(
    r"\bscored?\b(?: (?:is|of|was|would be|so far|you|have|stands|at|now|a|total|currently|only))*:?"
    r"\s*(-?\d+)\b(?!:)",
    re.IGNORECASE,
)
_POINTS = re.compile(r"(-?\d+) points?\b", re.IGNORECASE)
_KEEPS_NONE = re.compile(
    r"\b(?:no|without(?: a)?) (?:scor|point)|\b(?:not|n['\u2019]t) (?:\w+ )*(?:scor|point)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Exploration:
    """The observations of an exploration. Memories are copies of dynamic memory.

    turns: memories of consecutive turns
    score_text: the answer to ``score`` after these turns
    places: memories at the start and after every successful motion
    moves: for each successful motion, the objects that moved because of it; waiting would not have moved them
    takers: the objects into which ``take all`` moved something
    """

    turns: list[bytes]
    score_text: str
    places: list[bytes]
    moves: list[frozenset[int]] = field(default_factory=list)
    takers: set[int] = field(default_factory=set)


def explore(table: ObjectTable, interpreter: Interpreter) -> Exploration:
    """Explore from the current state in about a hundred steps, breadth first. Does not restore ``interpreter``."""
    start = interpreter.snapshot()
    turns = [bytes(interpreter.memory)]
    for command in _TURNS:
        interpreter.send(command)
        turns.append(bytes(interpreter.memory))
    exploration = Exploration(turns, interpreter.send("score"), [turns[0]])

    def parents_after(place: Snapshot, command: str) -> tuple[int, ...]:
        interpreter.restore(place)
        interpreter.send(command)
        return table.parents(interpreter.memory)

    seen = {table.parents(turns[0])}
    unexplored = deque([start])
    for _ in range(_MOST_PLACES):
        if not unexplored or len(exploration.moves) >= _ENOUGH_MOVES:
            break
        place = unexplored.popleft()
        interpreter.restore(place)
        before = table.parents(interpreter.memory)
        drifting = _moved(before, parents_after(place, "wait"))
        taken = parents_after(place, "take all")
        exploration.takers.update(taken[num] for num in _moved(before, taken) - drifting)
        reached: dict[tuple[int, ...], Snapshot] = {}
        for motion in _MOTIONS:
            after = parents_after(place, motion)
            moved = _moved(before, after) - drifting
            if moved:
                exploration.moves.append(moved)
                exploration.places.append(bytes(interpreter.memory))
                reached[after] = interpreter.snapshot()
        unexplored.extend(state for after, state in reached.items() if after not in seen)
        seen.update(reached)
    return exploration


def _moved(before: tuple[int, ...], after: tuple[int, ...]) -> frozenset[int]:
    """Return the objects with a new parent in ``after``, other than 0."""
    return frozenset(num for num, parent in enumerate(after) if parent not in (0, before[num]))


_LIBRARIES = ((5, 10), (3, 8), (-1, 1))
"""The libraries of Inform 6 since 6/7, of Inform 7, and the older ones of Inform 5 and 6.

For each the offsets of the score and of the player's body from the global that counts turns, given by the order of the
library's declarations.
"""


class ToldScore(NamedTuple):
    """The score and the maximum in a story's answer; ``None`` for a value that it does not contain."""

    score: int | None = None
    maximum: int | None = None


def told_score(answer: str) -> ToldScore:
    """Return the score and maximum in the ``answer`` to ``score``; a maximum of 0 means that no score is kept."""
    if not re.search("scor|point", answer, re.IGNORECASE):
        return ToldScore()
    out_of = _OUT_OF.search(answer)
    if out_of and int(out_of[2]):
        return ToldScore(int(out_of[1]), int(out_of[2]))
    if out_of or _KEEPS_NONE.search(answer):
        return ToldScore(maximum=0)
    alone = _SCORED.search(answer) or _POINTS.search(answer)
    return ToldScore(int(alone[1])) if alone else ToldScore()


def infer_clues(story: Story, table: ObjectTable, exploration: Exploration, most_moves: int) -> Clues:
    """Return the clues that are certain after ``exploration``.

    most_moves: a higher counter counts seconds or minutes instead of moves
    """
    evidence = _GlobalsOverTime(story, table, exploration, most_moves)
    if story.version <= _LAST_STATUS_LINE_VERSION:
        # The Standard defines the globals (§8.2); only the player is learned.
        players = [clues.players for clues in evidence.motion_clues() if 0 in clues.rooms]
        clues = Clues(players[0] if len(players) == 1 else (), rooms=(0,))
        if not story.shows_time:
            clues = replace(clues, score=1, turns=2 if evidence.counts_turns(2, every=False) else None)
    else:
        candidates = evidence.library_clues() or evidence.motion_clues()
        certain = len({clues.players for clues in candidates}) == 1
        clues = evidence.with_score(candidates[0]) if certain else Clues()
    told = told_score(exploration.score_text)  # takes precedence over a global
    if told.maximum == 0:
        return replace(clues, score=None, shown_score=None, max_score=0)
    if told.score is not None and clues.score is not None and told.score != evidence.turns[-1][clues.score]:
        clues = replace(clues, score=None, shown_score=None)
    return replace(clues, tells_score=told.score is not None, max_score=told.maximum)


class _GlobalsOverTime:
    """The values of all globals in all memories of an exploration, to be compared with the object tree."""

    def __init__(self, story: Story, table: ObjectTable, exploration: Exploration, most_moves: int) -> None:
        self._table, self._exploration, self._most_moves = table, exploration, most_moves
        layout = f">{min(_GLOBALS, (story.dynamic_size - story.globals) // 2)}h"
        self.turns = [unpack_from(layout, memory, story.globals) for memory in exploration.turns]
        self._places = [unpack_from(layout, memory, story.globals) for memory in exploration.places]
        self._numbers = range(len(self._places[0]))
        self._counters = [num for num in self._numbers if self.counts_turns(num)]

    def counts_turns(self, num: int, *, every: bool = True) -> bool:
        """Return whether a global counts every turn, or at least some turns if ``every`` is false."""
        steps = {after[num] - before[num] for before, after in pairwise(self.turns)}
        return steps <= ({1} if every else {0, 1}) and 0 <= self.turns[0][num] <= self._most_moves

    def _always_equal(self, num: int, other: int) -> bool:
        return all(values[num] == values[other] for values in [*self.turns, *self._places])

    def motion_clues(self) -> list[Clues]:
        """Return clues for each object that moves like the player.

        A global names the body only if it is the only one that contains the player in all places; objects that follow
        the player have no such global.
        """
        moves, takers = self._exploration.moves, self._exploration.takers
        votes = Counter(num for moved in moves for num in moved)
        movers = frozenset(num for num, count in votes.items() if count >= _MOST_MOVES * len(moves))
        players = movers & takers if takers else movers
        naming = {
            player: [num for num in self._numbers if all(values[num] == player for values in self._places)]
            for player in players
        }
        if len(players) > 1:
            players = frozenset(player for player in players if naming[player])
        return [
            Clues((player,), naming[player][0] if len(naming[player]) == 1 else None, rooms)
            for player in players
            if (rooms := self._rooms(player))
        ]

    def library_clues(self) -> list[Clues]:
        """Return clues for each library whose globals fit around a counter of turns and agree with the object tree."""
        found = []
        for turns, (to_score, to_body) in product(self._counters, _LIBRARIES):
            score, body = turns + to_score, turns + to_body
            if score not in self._numbers or body not in self._numbers:
                continue
            player = self._places[0][body]
            rooms = self._rooms(player)
            if turns - 2 in rooms:
                continue  # a copy for the status line, followed by a fitting value by chance
            if not self._exploration.moves:
                rooms = tuple(num for num in rooms if num + 2 in self._counters)
            if rooms:
                found.append(Clues((player,), body, rooms, score, turns))
        return found

    def _rooms(self, player: int) -> tuple[int, ...]:
        """Return the globals that contain an ancestor of ``player``, sorted by the number of places, descending.

        Such a global may contain one other object, darkness, but must not contain the same ancestor everywhere.
        """
        around = [self._table.ancestors(memory, player) for memory in self._exploration.places]
        fewest = 2 if self._exploration.moves else 1
        hits: dict[int, int] = {}
        for num in self._numbers:
            named = [values[num] for values in self._places]
            right = [value for value, chain in zip(named, around, strict=True) if value in chain]
            if len(set(right)) >= fewest and len(set(named) - set(right)) <= 1:
                hits[num] = len(right)
        return tuple(sorted(hits, key=lambda num: -hits[num]))

    def with_score(self, clues: Clues) -> Clues:
        """Return ``clues`` with the globals of score and turns that a second value confirms."""
        line = min((num for num in clues.rooms if num + 2 in self._counters), default=None)
        if line is None:
            return clues
        if clues.score is None or clues.turns is None:
            score = line + 1
            turns = line + 2
            if not self._told(score, turns):
                return clues
            count = next((num for num in self._counters if num != turns and self._always_equal(num, turns)), None)
            if count is None:
                return replace(clues, score=score, turns=turns)
            return replace(clues, turns=count, shown_score=score, shown_turns=turns)
        if self._always_equal(clues.turns, line + 2) and self._always_equal(clues.score, line + 1):
            return replace(clues, shown_score=line + 1, shown_turns=line + 2)
        return clues if self._told(clues.score, clues.turns) else replace(clues, score=None, turns=None)

    def _told(self, score: int, turns: int) -> bool:
        """Return whether the story's answer to ``score`` contains the values of both globals."""
        answer, latest = self._exploration.score_text, self.turns[-1]
        figures = {int(figure) for figure in _FIGURE.findall(answer)}
        return "score" in answer.lower() and {latest[score], latest[turns]} <= figures
