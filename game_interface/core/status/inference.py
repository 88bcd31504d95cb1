"""Infers from an exploration which object is the player and which globals hold the status."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from struct import unpack_from
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from game_interface.core.machine.object_table import ObjectTable
    from game_interface.core.machine.story import Story
    from game_interface.core.status.exploration import Exploration

_LAST_STATUS_LINE_VERSION = 3
"""Up to this version the machine itself draws the status line, from the first three globals."""
_SHOWS_TIME = 0x02
_GLOBALS = 240
_MOST_MOVES = 0.8
_FIGURE = re.compile(r"-?\d+(?!\d|:\d)")
"""A number, but not an hour before its minutes."""


@dataclass(frozen=True, slots=True)
class Clues:
    """Where a story keeps its status. All but ``player`` are numbers of globals.

    player: the object that the player starts as
    body: holds the object that is the player now
    rooms: each holds the room, in most places
    score, turns: hold the story's own figures
    shown_score, shown_turns: hold their copies from when the status line was drawn last; only these may be known
    """

    player: int | None = None
    body: int | None = None
    rooms: tuple[int, ...] = ()
    score: int | None = None
    turns: int | None = None
    shown_score: int | None = None
    shown_turns: int | None = None


@dataclass(frozen=True, slots=True)
class _Library:
    """How far a library's globals lie from the one that counts turns, by the order in which it declares them."""

    score: int
    body: int


_LIBRARIES = (_Library(score=5, body=10), _Library(score=3, body=8), _Library(score=-1, body=1))
"""The libraries of Inform 6 since 6/7, of Inform 7, and the older ones of Inform 5 and 6."""


def infer_clues(story: Story, table: ObjectTable, exploration: Exploration) -> Clues | None:
    """Return the clues that ``exploration`` makes certain; ``None`` where not even the room is among them."""
    evidence = _GlobalsOverTime(story, table, exploration)
    if story.version <= _LAST_STATUS_LINE_VERSION:
        return evidence.defined_clues(shows_time=bool(story.version == 3 and story.content[1] & _SHOWS_TIME))  # noqa: PLR2004
    candidates = evidence.library_clues() or evidence.motion_clues()
    if len({clues.player for clues in candidates}) != 1:
        return None
    return evidence.with_score(candidates[0])


class _GlobalsOverTime:
    """All globals in all memories of an exploration, and what they and the object tree say together."""

    def __init__(self, story: Story, table: ObjectTable, exploration: Exploration) -> None:
        self._table, self._exploration = table, exploration
        self._layout = f">{min(_GLOBALS, (story.dynamic_size - story.globals) // 2)}h"
        self._globals = story.globals
        self._turns = [self._read(memory) for memory in exploration.turns]
        self._places = [self._read(memory) for memory in exploration.places]
        self._numbers = range(len(self._places[0]))
        self._counters = [num for num in self._numbers if self._counts_turns(num)]
        self._movers = self._most_moved()

    def _read(self, memory: bytes) -> tuple[int, ...]:
        return unpack_from(self._layout, memory, self._globals)

    def _counts_turns(self, num: int) -> bool:
        return all(after[num] == before[num] + 1 for before, after in pairwise(self._turns))

    def _always_equal(self, num: int, other: int) -> bool:
        return all(values[num] == values[other] for values in [*self._turns, *self._places])

    def _most_moved(self) -> frozenset[int]:
        """Return the objects that moved in most of the moves: the player, and what follows it everywhere."""
        votes = Counter(num for moved in self._exploration.moves for num in moved)
        least = _MOST_MOVES * len(self._exploration.moves)
        return frozenset(num for num, count in votes.items() if count >= least)

    def defined_clues(self, *, shows_time: bool) -> Clues:
        """Return the clues of a version whose globals the Standard defines; only the player is learned.

        Z-Machine Standard 1.1 §8.2.
        """
        players = [clues.player for clues in self.motion_clues() if 0 in clues.rooms]
        clues = Clues(players[0] if len(players) == 1 else None, rooms=(0,))
        return clues if shows_time else replace(clues, score=1, turns=2)

    def motion_clues(self) -> list[Clues]:
        """Return clues for each object that moves as the player would."""
        players = self._movers & self._exploration.takers if self._exploration.takers else self._movers
        if len(players) > 1:
            players = frozenset(num for num in players if self._is_named(num))
        return [Clues(num, rooms=rooms) for num in players if (rooms := self._rooms(num))]

    def _is_named(self, player: int) -> bool:
        """Return whether some global holds ``player`` everywhere, as none does for what follows the player."""
        return any(all(values[num] == player for values in self._places) for num in self._numbers)

    def library_clues(self) -> list[Clues]:
        """Return clues for each library whose globals may lie around a counter of turns, if the object tree agrees."""
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
            return None  # the status line's copy of the count, by chance before the right number
        if not self._exploration.moves:
            rooms = tuple(num for num in rooms if num + 2 in self._counters)
        return Clues(player, body, rooms, score, turns)

    def _rooms(self, player: int) -> tuple[int, ...]:
        """Return the globals that hold something around ``player``, those first that do so in more places."""
        around = [self._table.ancestors(memory, player) for memory in self._exploration.places]
        hits = {num: self._hits(num, around) for num in self._numbers}
        return tuple(sorted((num for num in hits if hits[num]), key=lambda num: -hits[num]))

    def _hits(self, num: int, around: list[list[int]]) -> int:
        """Return in how many places a global holds something around the player; 0 if it does not hold rooms.

        It may hold one other thing, darkness, instead; but not the same thing around the player everywhere.
        """
        named = [values[num] for values in self._places]
        hits = [value for value, chain in zip(named, around, strict=True) if value in chain]
        fewest = 2 if self._exploration.moves else 1
        names_rooms = len(set(hits)) >= fewest and len(set(named) - set(hits)) <= 1
        return len(hits) if names_rooms else 0

    def with_score(self, clues: Clues) -> Clues:
        """Return ``clues`` with those of score and turns, as far as a second figure confirms them."""
        line = min((num for num in clues.rooms if num + 2 in self._counters), default=None)
        if line is None:
            return clues
        if clues.score is None or clues.turns is None:
            return self._with_shown_score(clues, line + 1, line + 2)
        if self._always_equal(clues.turns, line + 2) and self._always_equal(clues.score, line + 1):
            return replace(clues, shown_score=line + 1, shown_turns=line + 2)
        return clues if self._told(clues.score, clues.turns) else replace(clues, score=None, turns=None)

    def _with_shown_score(self, clues: Clues, score: int, turns: int) -> Clues:
        """Return ``clues`` with those of the status line, if the story's own answer confirms them."""
        if not self._told(score, turns):
            return clues
        count = next((num for num in self._counters if num != turns and self._always_equal(num, turns)), None)
        if count is None:
            return replace(clues, score=score, turns=turns)
        return replace(clues, turns=count, shown_score=score, shown_turns=turns)

    def _told(self, score: int, turns: int) -> bool:
        """Return whether the story's own answer to ``score`` names the values of both globals."""
        answer, latest = self._exploration.score_text, self._turns[-1]
        figures = {int(figure) for figure in _FIGURE.findall(answer)}
        return "score" in answer.lower() and {latest[score], latest[turns]} <= figures
