"""Reads the player's location and the score of a story.

For a story without a profile, a value is claimed only if two sources agree:

- the room: the object tree and a global
- the score: a global and either its copy in the status line or the story's answer to ``score``

Up to version 3 the definition in the Standard counts as one source.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import NamedTuple

from game_interface.core.machine.interpreter import Interpreter
from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.saved_state import Clues, Learned
from game_interface.core.machine.story import DynamicMemory, Story, read_word
from game_interface.core.status.inference import explore, infer_clues, told_score

_LAST_VERSION_WITH_STATUS_LINE = 3
_THIRD_GLOBAL = 4
"""Offset in bytes from the first global. Contains the moves, or the minutes of a clock."""
_MOST_MOVES_OF_AN_OPENING = 100
"""A higher count at the opening is of seconds or minutes instead of moves."""
_MANY_ROOMS = 12
"""Rooms in an object from which on it is the container of all rooms, as in Infocom's stories, not a place."""
_ANSWERS: tuple[tuple[str, ...], ...] = ((), ("no",), ("yes",), ("1",), ("",))
_WAYS: tuple[tuple[str, ...], ...] = ((), ("open door",), ("north",), ("stand",), ("wait",) * 10, ("wait",) * 40)
"""Commands that may be needed before a move succeeds: open a door, try a move that fails, stand up, wait."""
_OPENINGS = sorted((answer + way for answer, way in product(_ANSWERS, _WAYS)), key=len)
_MOST_MOVES = 4000
"""A higher counter counts seconds or minutes instead of moves."""
_TRIES = 6
_TRY_EVERY = 5
"""While a value is missing, the reader learns again at each of the first ``_TRIES`` turns, then at every fifth."""
_STAYS = 6
"""Turns after which another body is accepted as the player without having moved; visions are shorter."""


class Status(NamedTuple):
    """The certain values in a story's memory; ``None`` for the others.

    location: the room, even while the player is in a vehicle or on a chair (which Jericho returns as the location)
    player: the object that is the player
    score, max_score: points and their maximum
    moves: the story's own count of turns
    """

    location: int | None = None
    player: int | None = None
    score: int | None = None
    max_score: int | None = None
    moves: int | None = None


class ProfileReader:
    """Reads the status of the story that ``interpreter`` runs; only its current memory is valid input.

    Player and score are those of Jericho's profile. Jericho returns the player's direct parent as the location. This
    reader returns the room, even if the player is in a vehicle or on a chair.

    learned: nothing
    """

    def __init__(self, story: Story, table: ObjectTable, interpreter: Interpreter) -> None:
        self._table = table
        self._interpreter = interpreter
        self._player = interpreter.player or 0
        self._here = story.globals if story.version <= _LAST_VERSION_WITH_STATUS_LINE else None
        is_clock = story.shows_time and interpreter.counts_moves_at(story.globals + _THIRD_GLOBAL)
        self._counts_moves = interpreter.moves() <= _MOST_MOVES_OF_AN_OPENING and not is_clock
        self.learned = Learned()
        memory = interpreter.memory
        entries = {num: table.entry(memory, num) for num in range(1, table.count + 1)}
        self._room_holders = {
            num
            for num, entry in entries.items()
            if not entry.parent and sum(1 for each in table.children(memory, num) if entries[each].child) >= _MANY_ROOMS
        }

    def read(self, memory: DynamicMemory, _text: str) -> Status:
        """Return the status in dynamic ``memory``."""
        interpreter = self._interpreter
        if self._here is None:
            around = [num for num in self._table.ancestors(memory, self._player) if num not in self._room_holders]
            room = around[-1] if around else 0
        else:
            room = read_word(memory, self._here)
        moves = interpreter.moves() if self._counts_moves else None
        return Status(room or None, self._player, interpreter.score(), interpreter.max_score, moves)


class LearningReader:
    """Learns to read the status of ``story`` by trying moves on ``interpreter``, which is restored afterwards.

    Must be constructed right after the opening text, which takes several hundred steps. Later, while the player or the
    room is missing, it tries again every few turns.

    learned: what the reader has learned about the story so far; part of the story's saved state
    """

    def __init__(self, story: Story, table: ObjectTable, interpreter: Interpreter) -> None:
        self._story, self._table, self._interpreter = story, table, interpreter
        self.learned = Learned(self._learn_at_opening(), missed=1)

    def read(self, memory: DynamicMemory, text: str) -> Status:
        """Return the status in dynamic ``memory``, after a step that printed ``text``."""
        status = self._status(memory)
        if status.player and status.location:
            if self.learned.missed:
                self.learned = Learned(self.learned.clues)
        elif self._interpreter.listens:
            clues, missed = self.learned.clues, self.learned.missed + 1
            if missed <= _TRIES or missed % _TRY_EVERY == 0:
                found, moved = self._learn(_MOST_MOVES)
                clues = _merged(clues, found, moved=moved)
            if missed >= _STAYS:
                clues = self._with_body(clues, memory)
            self.learned = Learned(clues, missed)
            status = self._status(memory)
        if status.score is None and self.learned.clues.tells_score:
            score = told_score(text).score
            if self._interpreter.listens:
                with self._interpreter.trying():
                    score = told_score(self._interpreter.send("score")).score
            status = status._replace(score=score)
        return status

    def _status(self, memory: DynamicMemory) -> Status:
        """Return the status that the clues find in ``memory``."""
        clues = self.learned.clues
        player, body = next(iter(clues.players), None), self._value(memory, clues.body)
        if body is not None:  # an object that has never been seen to move is not the player
            player = body if body in clues.players else None
        score, shown_score = self._value(memory, clues.score), self._value(memory, clues.shown_score)
        turns, shown_turns = self._value(memory, clues.turns), self._value(memory, clues.shown_turns)
        just_drawn = shown_turns in (None, turns)
        if just_drawn and shown_score is not None:
            score = shown_score if score in (None, shown_score) else None
        room = self._room(memory, clues, player)
        return Status(room, player, score, clues.max_score or None, turns if just_drawn else None)

    def _value(self, memory: DynamicMemory, num: int | None) -> int | None:
        """Return the signed value of global ``num``; ``None`` if ``num`` is ``None``."""
        if num is None:
            return None
        value = read_word(memory, self._story.globals + 2 * num)
        return value - 0x10000 if value & 0x8000 else value

    def _room(self, memory: DynamicMemory, clues: Clues, player: int | None) -> int | None:
        """Return the outermost object around the player that a global names: the room rather than a vehicle in it."""
        named = [self._value(memory, num) for num in clues.rooms]
        if player is None:
            first = named[0] if named and not clues.players else None
            return first if 0 < (first or 0) <= self._table.count else None
        return next((num for num in reversed(self._table.ancestors(memory, player)) if num in named), None)

    def _with_body(self, clues: Clues, memory: DynamicMemory) -> Clues:
        """Return ``clues`` with the object that ``memory`` names as the player, if its room is named too."""
        body = self._value(memory, clues.body)
        if not body or not self._room(memory, clues, body):
            return clues
        return replace(clues, players=tuple(dict.fromkeys((*clues.players, body))))

    def _learn_at_opening(self) -> Clues:
        """Return the clues after the first opening that lets the player move, or else of the first with any rooms."""
        clues = Clues()
        for opening in _OPENINGS:
            found, moved = self._learn(_MOST_MOVES_OF_AN_OPENING, opening)
            if moved and found.rooms:
                return self._with_body(_with_score_of(found, clues), self._interpreter.memory)
            if not clues.rooms:
                clues = _with_score_of(found, clues)
        return clues

    def _learn(self, most_moves: int, opening: tuple[str, ...] = ()) -> tuple[Clues, bool]:
        """Play ``opening``, explore from there, and return the clues and whether the player moved.

        The interpreter is restored.
        """
        with self._interpreter.trying():
            for command in opening:
                self._interpreter.send(command)
            exploration = explore(self._table, self._interpreter)
        return infer_clues(self._story, self._table, exploration, most_moves), bool(exploration.moves)


def _merged(known: Clues, found: Clues, *, moved: bool) -> Clues:
    """Return ``known`` combined with what was ``found``: an object that moved is the player or another body."""
    if not (moved and found.players and found.rooms):
        return _with_score_of(known, found)
    if known.body is None or known.body != found.body:
        return _with_score_of(found, known)
    return replace(known, players=tuple(dict.fromkeys(known.players + found.players)))


def _with_score_of(clues: Clues, other: Clues) -> Clues:
    """Return ``clues`` completed by the told score and maximum of ``other``."""
    return replace(
        clues,
        tells_score=clues.tells_score or (clues.score is None and other.tells_score),
        max_score=other.max_score if clues.max_score is None else clues.max_score,
    )
