"""The status of a story that Jericho has a profile of: its player object and score, and the room from memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from game_interface.core.status.status_reader import Status

if TYPE_CHECKING:
    from game_interface.core.machine.interpreter import Interpreter
    from game_interface.core.machine.object_table import Memory, ObjectTable
    from game_interface.core.machine.story import Story

_LAST_VERSION_WITH_STATUS_LINE = 3
_MANY_ROOMS = 12
"""Children that make an object around a room a shelf of rooms, as Infocom kept them."""


class ProfileReader:
    """A ``StatusReader`` of the story that ``interpreter`` runs.

    Jericho takes for the location whatever the player is directly in. Here it is the room, also for a player in
    a vehicle or on a chair.
    """

    def __init__(self, story: Story, table: ObjectTable, interpreter: Interpreter) -> None:
        self._table = table
        self._interpreter = interpreter
        self._player = interpreter.player or 0
        self._here = story.globals if story.version <= _LAST_VERSION_WITH_STATUS_LINE else None
        self._shelves = _shelves(table, bytes(interpreter.memory))

    def read(self, memory: Memory) -> Status:
        """The status as ``memory`` has it, which has to be the interpreter's present memory."""
        return Status(
            room=self._room(memory) or None,
            player=self._player,
            score=self._interpreter.score(),
            moves=self._interpreter.moves(),
        )

    def _room(self, memory: Memory) -> int:
        if self._here is not None:
            return memory[self._here] << 8 | memory[self._here + 1]
        around = [num for num in self._table.ancestors(memory, self._player) if num not in self._shelves]
        return around[-1] if around else 0


def _shelves(table: ObjectTable, memory: Memory) -> frozenset[int]:
    """The objects that hold rooms: without a parent, with many children that hold things themselves."""
    roots = (num for num in range(1, table.count + 1) if not table.parent(memory, num))
    return frozenset(
        root
        for root in roots
        if sum(1 for num in table.children(memory, root) if table.child(memory, num)) >= _MANY_ROOMS
    )
