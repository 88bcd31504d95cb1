"""Reads everything that an ``Observation`` holds from one copy of the story's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from game_interface.core.machine.attribute_tables import attribute_table
from game_interface.core.status.profile_reader import ProfileReader
from game_interface.core.status.status_reader import StatusReader, status_reader
from game_interface.core.visibility import Objects, Sight
from session.values import Location, Observation

if TYPE_CHECKING:
    from game_interface.core.machine.interpreter import Interpreter, Snapshot
    from game_interface.core.machine.object_table import ObjectTable
    from game_interface.core.machine.story import DynamicMemory, Story


class Observer:
    """Makes the observations of a story that an interpreter runs.

    attribute_names: the story's attributes by name; empty where they are not known for certain
    """

    def __init__(self, story: Story, table: ObjectTable, interpreter: Interpreter, opening: str) -> None:
        self._table = table
        self._interpreter = interpreter
        memory = bytes(interpreter.memory)
        self._reader: StatusReader = (
            ProfileReader(story, table, interpreter)
            if interpreter.known
            else status_reader(story, table, _ExploringEmulator(interpreter))
        )
        player = self._reader.read(memory).player
        self.attribute_names = attribute_table(story, opening, table.attributes(memory, player or 0))
        self._sight = Sight(table, self.attribute_names)
        self._view: tuple[Objects | None, Objects | None] = (None, None)
        self._parents: tuple[int, ...] = ()
        self._locations = {num: Location(num, table.name(num)) for num in range(1, table.count + 1)}
        self._seen: tuple[str, int | None, int | None] | None = None

    def observe(self, text: str) -> Observation:
        """Return what can be observed of the story now, after a step that printed ``text``; its end is not judged."""
        memory = self._interpreter.memory
        status = self._reader.read(memory)
        world_hash = self._table.world_hash(memory)
        location = status.room if self._interpreter.known else status.location
        seen = (world_hash, location, status.player)
        if seen != self._seen:  # most commands leave the objects as they were
            self._seen = seen
            tree = self._table.tree(memory)
            self._view = self._sight.look(tree, location, status.player)
            self._parents = self._table.parents(tree)
        inventory, visible = self._view
        return Observation(  # by position: names would cost a dictionary in every step
            text,
            self._locations.get(location) if location else None,
            inventory,
            visible,
            status.score,
            self._interpreter.max_score,
            status.moves,
            world_hash,
            False,
            None,
            None,
            self._parents,
            self._interpreter.prompt == "key",
        )


class _ExploringEmulator:
    """An interpreter as an ``Emulator`` that a status reader is learned on."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter

    def step(self, command: str) -> str:
        return self._interpreter.send(command.encode("ascii"))

    def memory(self) -> DynamicMemory:
        return bytes(self._interpreter.memory)

    def save(self) -> Snapshot:
        return self._interpreter.snapshot()

    def restore(self, state: Snapshot) -> None:
        self._interpreter.restore(state)
