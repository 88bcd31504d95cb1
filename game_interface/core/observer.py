"""Reads everything that an ``Observation`` holds from one copy of the story's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from game_interface.core.machine.attribute_tables import attribute_table
from game_interface.core.status.profile_reader import ProfileReader
from game_interface.core.status.status_reader import StatusReader, status_reader
from game_interface.core.visibility import Sight
from session.values import GameObject, Location, Observation

if TYPE_CHECKING:
    from game_interface.core.endings import StoryEnding
    from game_interface.core.machine.interpreter import Interpreter, Snapshot
    from game_interface.core.machine.object_table import Memory, ObjectTable
    from game_interface.core.machine.story import Story


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
        self._inventory: tuple[GameObject, ...] | None = None
        self._visible: tuple[GameObject, ...] | None = None
        self._parents: tuple[int, ...] = ()
        self._locations = {num: Location(num, table.name(num)) for num in range(1, table.count + 1)}
        self._seen: tuple[str, int | None, int | None] | None = None

    def observe(self, text: str, ending: StoryEnding) -> Observation:
        """Return what can be observed of the story now, after a step that printed ``text`` and ended so."""
        memory = bytes(self._interpreter.memory)
        status = self._reader.read(memory)
        world_hash = self._table.world_hash(memory)
        location = status.room if self._interpreter.known else status.location
        self._look_around(memory, world_hash, location, status.player)
        return Observation(
            text=text,
            location=self._locations.get(location) if location else None,
            inventory=self._inventory,
            visible=self._visible,
            parents=self._parents,
            score=status.score,
            max_score=self._interpreter.max_score,
            moves=status.moves,
            world_hash=world_hash,
            died=ending.died,
            ending=ending.ending,
            awaits_key=self._interpreter.prompt == "key",
        )

    def _look_around(self, memory: bytes, world_hash: str, location: int | None, player: int | None) -> None:
        """Read inventory, visible objects and tree, unless all objects are as they were, as in most turns."""
        seen = (world_hash, location, player)
        if seen == self._seen:
            return
        self._seen = seen
        self._inventory = self._sight.inventory(memory, player) if player else None
        self._visible = self._sight.around(memory, location, player) if location else None
        self._parents = self._table.parents(memory)


class _ExploringEmulator:
    """An interpreter as an ``Emulator`` that a status reader is learned on."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter

    def step(self, command: str) -> str:
        return self._interpreter.send(command.encode("ascii"))

    def memory(self) -> Memory:
        return bytes(self._interpreter.memory)

    def save(self) -> Snapshot:
        return self._interpreter.snapshot()

    def restore(self, state: Snapshot) -> None:
        self._interpreter.restore(state)
