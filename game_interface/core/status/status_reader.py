"""Reads where the player is and how the game stands, in stories of which nothing is known beforehand.

Nothing is claimed unless two sources agree: the object tree and a global on the room, the score and the status line's
copy of it, or the story's own answer, on the score. Up to version 3 the Standard's own definition is one of them.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.story import DynamicMemory
from game_interface.core.play_notes import Clues, Learned


class Status(NamedTuple):
    """What a story's memory says for certain; ``None`` where it says nothing.

    location: the room, also while the player is in a vehicle or on a chair (whose number Jericho gives as location)
    player: the object that is the player
    score, max_score: points, and the most that there are
    moves: the story's own count of turns
    """

    location: int | None = None
    player: int | None = None
    score: int | None = None
    max_score: int | None = None
    moves: int | None = None


class StatusReader(Protocol):
    """Reads the status of the story that is played.

    learned: what the reader found out about the story until now; it belongs to the story's state
    """

    learned: Learned

    def read(self, memory: DynamicMemory, text: str) -> Status:
        """Return the status after a step that left ``memory``, which is dynamic memory, and printed ``text``."""
        ...

    def begin(self) -> None:
        """Know what was known before the first turn: the story begins anew."""
        ...


class ClueReader:
    """Reads where clues point, and claims what two of them agree on. The same memory always gives the same status."""

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
        """Return the object that the story calls the player now, if it is in a room that the story calls the room."""
        body = self._value(memory, self.clues.body)
        return body if body and self._room(memory, body) else None

    def _value(self, memory: DynamicMemory, num: int | None) -> int | None:
        """Return the signed value of a global, ``None`` of none."""
        if num is None:
            return None
        at = self._globals + 2 * num
        value = memory[at] << 8 | memory[at + 1]
        return value - 0x10000 if value & 0x8000 else value

    def _player(self, memory: DynamicMemory) -> int | None:
        """Return the object that is the player now; ``None`` while that is one which nobody has seen move about."""
        players, body = self.clues.players, self._value(memory, self.clues.body)
        if body is None:
            return players[0] if players else None
        return body if body in players else None

    def _room(self, memory: DynamicMemory, player: int | None) -> int | None:
        """Return the outermost object around the player that a global names: not the vehicle, but what it stands in."""
        named = [self._value(memory, num) for num in self.clues.rooms]
        if player is None:
            first = named[0] if named and not self.clues.players else None
            return first if 0 < (first or 0) <= self._table.count else None
        return next((num for num in reversed(self._table.ancestors(memory, player)) if num in named), None)


def _agreed(score: int | None, shown: int | None, *, just_drawn: bool) -> int | None:
    """Return the score on which both figures agree; a status line that was not just drawn does not count."""
    if not just_drawn or shown is None:
        return score
    return shown if score in (None, shown) else None
