"""Reads the status of a story that Jericho has a profile of: player and score from there, the room from memory."""

from __future__ import annotations

from typing_extensions import override

from game_interface.core.machine.interpreter import Interpreter
from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.story import DynamicMemory, Story
from game_interface.core.play_notes import NOTHING_LEARNED
from game_interface.core.status.status_reader import Status, StatusReader

_LAST_VERSION_WITH_STATUS_LINE = 3
_THIRD_GLOBAL = 4
"""Bytes from the first: the moves, or the minutes of a clock."""
_MOST_MOVES_OF_AN_OPENING = 100
"""What a story counts beyond that at its opening are no moves, but seconds or minutes."""
_MANY_ROOMS = 12
"""Rooms in an object that make it no place but a holder of all rooms, as Infocom had one."""


class ProfileReader(StatusReader):
    """Reads the status of the story that ``interpreter`` runs, whose present memory it has to be given.

    Jericho takes whatever the player is directly in for the location. Here it is the room, also for a player in
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
        """Return the room that the player is in, 0 for none."""
        around = [num for num in self._table.ancestors(memory, self._player) if num not in self._room_holders]
        return around[-1] if around else 0


def _room_holders(table: ObjectTable, memory: DynamicMemory) -> frozenset[int]:
    """Return the objects that only hold rooms: without a parent, with many children that hold things themselves."""
    roots = (num for num in range(1, table.count + 1) if not table.parent(memory, num))
    return frozenset(
        root
        for root in roots
        if sum(1 for num in table.children(memory, root) if table.child(memory, num)) >= _MANY_ROOMS
    )
