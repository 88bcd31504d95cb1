"""Reads the player's location and the score of stories without a profile.

A value is claimed only if two sources agree:

- the room: the object tree and a global
- the score: a global and either its copy in the status line or the story's answer to ``score``

Up to version 3 the definition in the Standard counts as one source.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.saved_state import Clues, Learned
from game_interface.core.machine.story import DynamicMemory


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


class StatusReader(Protocol):
    """Reads the status of the running story.

    learned: what the reader has learned about the story so far; part of the story's saved state
    """

    learned: Learned

    def read(self, memory: DynamicMemory, text: str) -> Status:
        """Return the status in dynamic ``memory``, after a step that printed ``text``."""
        ...

    def begin(self) -> None:
        """Reset ``learned`` to its value before the first turn, because the story restarts."""
        ...


class ClueReader:
    """Reads the globals named by clues. The status depends on the memory alone."""

    def __init__(self, table: ObjectTable, global_variables: int, clues: Clues) -> None:
        self._table, self._globals, self.clues = table, global_variables, clues

    def read(self, memory: DynamicMemory) -> Status:
        """Return the status in ``memory``, a copy of dynamic memory."""
        clues = self.clues
        player = self._player(memory)
        score, shown_score = self._value(memory, clues.score), self._value(memory, clues.shown_score)
        turns, shown_turns = self._value(memory, clues.turns), self._value(memory, clues.shown_turns)
        just_drawn = shown_turns in (None, turns)
        return Status(
            self._room(memory, player),
            player,
            _agreed(score, shown_score, just_drawn=just_drawn),
            clues.max_score or None,
            turns if just_drawn else None,
        )

    def body(self, memory: DynamicMemory) -> int | None:
        """Return the object that the story names as the player now, if a global also names its room."""
        body = self._value(memory, self.clues.body)
        return body if body and self._room(memory, body) else None

    def _value(self, memory: DynamicMemory, num: int | None) -> int | None:
        """Return the signed value of global ``num``; ``None`` if ``num`` is ``None``."""
        if num is None:
            return None
        at = self._globals + 2 * num
        value = memory[at] << 8 | memory[at + 1]
        return value - 0x10000 if value & 0x8000 else value

    def _player(self, memory: DynamicMemory) -> int | None:
        """Return the object that is the player now; ``None`` if the named object has never been seen to move."""
        players, body = self.clues.players, self._value(memory, self.clues.body)
        if body is None:
            return players[0] if players else None
        return body if body in players else None

    def _room(self, memory: DynamicMemory, player: int | None) -> int | None:
        """Return the outermost object around the player that a global names: the room rather than a vehicle in it."""
        named = [self._value(memory, num) for num in self.clues.rooms]
        if player is None:
            first = named[0] if named and not self.clues.players else None
            return first if 0 < (first or 0) <= self._table.count else None
        return next((num for num in reversed(self._table.ancestors(memory, player)) if num in named), None)


def _agreed(score: int | None, shown: int | None, *, just_drawn: bool) -> int | None:
    """Return the score if both values agree; a status line that was not just drawn is ignored."""
    if not just_drawn or shown is None:
        return score
    return shown if score in (None, shown) else None
