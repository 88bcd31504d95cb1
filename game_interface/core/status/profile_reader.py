"""Reads the status of a story with a Jericho profile: player and score from the profile, the room from memory."""

from __future__ import annotations

from typing_extensions import override

from game_interface.core.machine.interpreter import Interpreter
from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.saved_state import NOTHING_LEARNED
from game_interface.core.machine.story import DynamicMemory, Story
from game_interface.core.status.status_reader import Status, StatusReader

_LAST_VERSION_WITH_STATUS_LINE = 3
_THIRD_GLOBAL = 4
"""Offset in bytes from the first global. Contains the moves, or the minutes of a clock."""
_MOST_MOVES_OF_AN_OPENING = 100
"""A higher count at the opening is of seconds or minutes instead of moves."""
_MANY_ROOMS = 12
"""Rooms in an object from which on it is the container of all rooms, as in Infocom's stories, not a place."""


class ProfileReader(StatusReader):
    """Reads the status of the story that ``interpreter`` runs; only its current memory is valid input.

    Jericho returns the player's direct parent as the location. This reader returns the room, even if the player is in
    a vehicle or on a chair.
    """

    def __init__(self, story: Story, table: ObjectTable, interpreter: Interpreter) -> None:
        self._table = table
        self._interpreter = interpreter
        self._player = interpreter.player or 0
        self._here = story.globals if story.version <= _LAST_VERSION_WITH_STATUS_LINE else None
        is_clock = story.shows_time and interpreter.counts_moves_at(story.globals + _THIRD_GLOBAL)
        self._counts_moves = interpreter.moves() <= _MOST_MOVES_OF_AN_OPENING and not is_clock
        self.learned = NOTHING_LEARNED
        self._room_holders = _room_holders(table, interpreter.memory)

    @override
    def begin(self) -> None:
        pass

    @override
    def read(self, memory: DynamicMemory, text: str) -> Status:
        interpreter, here = self._interpreter, self._here
        room = self._outermost(memory) if here is None else memory[here] << 8 | memory[here + 1]
        moves = interpreter.moves() if self._counts_moves else None
        return Status(room or None, self._player, interpreter.score(), interpreter.max_score, moves)

    def _outermost(self, memory: DynamicMemory) -> int:
        """Return the player's room, or 0."""
        around = [num for num in self._table.ancestors(memory, self._player) if num not in self._room_holders]
        return around[-1] if around else 0


def _room_holders(table: ObjectTable, memory: DynamicMemory) -> frozenset[int]:
    """Return the objects that only contain rooms: they have no parent, and many of their children have children."""
    roots = (num for num in range(1, table.count + 1) if not table.parent(memory, num))
    return frozenset(
        root
        for root in roots
        if sum(1 for num in table.children(memory, root) if table.child(memory, num)) >= _MANY_ROOMS
    )
