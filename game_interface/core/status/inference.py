"""Infers from an exploration which object is the player and which globals hold the status."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from struct import unpack_from
from typing import NamedTuple

from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.saved_state import NO_CLUES, Clues
from game_interface.core.machine.story import Story
from game_interface.core.status.exploration import Exploration

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
class _Library:
    """Offsets of a library's globals from the global that counts turns, given by the order of its declarations."""

    score: int
    body: int


_LIBRARIES = (_Library(score=5, body=10), _Library(score=3, body=8), _Library(score=-1, body=1))
"""The libraries of Inform 6 since 6/7, of Inform 7, and the older ones of Inform 5 and 6."""


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
        clues = evidence.defined_clues(shows_time=story.shows_time)
    else:
        candidates = evidence.library_clues() or evidence.motion_clues()
        certain = len({clues.players for clues in candidates}) == 1
        clues = evidence.with_score(candidates[0]) if certain else NO_CLUES
    return evidence.with_told_score(clues)


class _GlobalsOverTime:
    """The values of all globals in all memories of an exploration, to be compared with the object tree."""

    def __init__(self, story: Story, table: ObjectTable, exploration: Exploration, most_moves: int) -> None:
        self._table, self._exploration, self._most_moves = table, exploration, most_moves
        self._layout = f">{min(_GLOBALS, (story.dynamic_size - story.globals) // 2)}h"
        self._globals = story.globals
        self._turns = [self._read(memory) for memory in exploration.turns]
        self._places = [self._read(memory) for memory in exploration.places]
        self._numbers = range(len(self._places[0]))
        self._counters = [num for num in self._numbers if self._counts_turns(num)]
        votes = Counter(num for moved in self._exploration.moves for num in moved)
        least = _MOST_MOVES * len(self._exploration.moves)
        self._movers = frozenset(num for num, count in votes.items() if count >= least)

    def _read(self, memory: bytes) -> tuple[int, ...]:
        return unpack_from(self._layout, memory, self._globals)

    def _counts_turns(self, num: int, *, every: bool = True) -> bool:
        """Return whether a global counts every turn, or at least some turns if ``every`` is false."""
        steps = {after[num] - before[num] for before, after in pairwise(self._turns)}
        return steps <= ({1} if every else {0, 1}) and 0 <= self._turns[0][num] <= self._most_moves

    def _always_equal(self, num: int, other: int) -> bool:
        return all(values[num] == values[other] for values in [*self._turns, *self._places])

    def defined_clues(self, *, shows_time: bool) -> Clues:
        """Return the clues for versions whose globals the Standard defines; only the player is learned.

        Z-Machine Standard 1.1 §8.2.
        """
        players = [clues.players for clues in self.motion_clues() if 0 in clues.rooms]
        clues = Clues(players[0] if len(players) == 1 else (), rooms=(0,))
        if shows_time:
            return clues
        return replace(clues, score=1, turns=2 if self._counts_turns(2, every=False) else None)

    def motion_clues(self) -> list[Clues]:
        """Return clues for each object that moves like the player."""
        players = self._movers & self._exploration.takers if self._exploration.takers else self._movers
        if len(players) > 1:
            players = frozenset(num for num in players if self._naming(num))
        return [self._clues_of(num, rooms) for num in players if (rooms := self._rooms(num))]

    def _clues_of(self, player: int, rooms: tuple[int, ...]) -> Clues:
        """Return clues for ``player``; a global names the body only if it is the only one that names ``player``."""
        naming = self._naming(player)
        return Clues((player,), naming[0] if len(naming) == 1 else None, rooms)

    def _naming(self, player: int) -> list[int]:
        """Return the globals that contain ``player`` in all places; objects that follow the player have none."""
        return [num for num in self._numbers if all(values[num] == player for values in self._places)]

    def library_clues(self) -> list[Clues]:
        """Return clues for each library whose globals fit around a counter of turns and agree with the object tree."""
        return [
            clues
            for turns in self._counters
            for library in _LIBRARIES
            if (clues := self._library_clues(library, turns)) and clues.rooms
        ]

    def _library_clues(self, library: _Library, turns: int) -> Clues | None:
        score, body = turns + library.score, turns + library.body
        if score not in self._numbers or body not in self._numbers:
            return None
        player = self._places[0][body]
        rooms = self._rooms(player)
        if turns - 2 in rooms:
            return None  # a copy for the status line, followed by a fitting value by chance
        if not self._exploration.moves:
            rooms = tuple(num for num in rooms if num + 2 in self._counters)
        return Clues((player,), body, rooms, score, turns)

    def _rooms(self, player: int) -> tuple[int, ...]:
        """Return the globals that contain an ancestor of ``player``, sorted by the number of places, descending."""
        around = [self._table.ancestors(memory, player) for memory in self._exploration.places]
        hits = {num: self._hits(num, around) for num in self._numbers}
        return tuple(sorted((num for num in hits if hits[num]), key=lambda num: -hits[num]))

    def _hits(self, num: int, around: list[list[int]]) -> int:
        """Return in how many places a global contains an ancestor of the player; 0 if it does not contain rooms.

        It may contain one other object, darkness, but must not contain the same ancestor everywhere.
        """
        named = [values[num] for values in self._places]
        hits = [value for value, chain in zip(named, around, strict=True) if value in chain]
        fewest = 2 if self._exploration.moves else 1
        names_rooms = len(set(hits)) >= fewest and len(set(named) - set(hits)) <= 1
        return len(hits) if names_rooms else 0

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

    def with_told_score(self, clues: Clues) -> Clues:
        """Return ``clues`` corrected by the story's answer to ``score``, which takes precedence over a global."""
        told = told_score(self._exploration.score_text)
        if told.maximum == 0:
            return replace(clues, score=None, shown_score=None, max_score=0)
        if told.score is not None and clues.score is not None and told.score != self._turns[-1][clues.score]:
            clues = replace(clues, score=None, shown_score=None)
        return replace(clues, tells_score=told.score is not None, max_score=told.maximum)

    def _told(self, score: int, turns: int) -> bool:
        """Return whether the story's answer to ``score`` contains the values of both globals."""
        answer, latest = self._exploration.score_text, self._turns[-1]
        figures = {int(figure) for figure in _FIGURE.findall(answer)}
        return "score" in answer.lower() and {latest[score], latest[turns]} <= figures
