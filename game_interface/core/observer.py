"""Reads every field of an ``Observation`` from one copy of the story's memory."""

from __future__ import annotations

from game_interface.core.commands import keypress
from game_interface.core.machine.attribute_tables import attribute_table
from game_interface.core.machine.interpreter import Interpreter, Snapshot
from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.story import DynamicMemory, Story
from game_interface.core.status.learning_reader import LearningReader
from game_interface.core.status.profile_reader import ProfileReader
from game_interface.core.status.status_reader import StatusReader
from game_interface.core.story_text import heading_of, headings_in, told_text
from game_interface.core.visibility import Objects, Sight
from session.values import Location, Observation


class Observer:
    """Creates the observations of a story that an interpreter runs.

    attribute_names: the numbers of the story's attributes by name; empty unless they are certain
    max_score: the maximum score; ``None`` if unknown
    reader: reads the status and keeps what it has learned
    location: the player's location in the latest observation; to be restored together with the story
    """

    def __init__(self, story: Story, table: ObjectTable, interpreter: Interpreter, opening: str) -> None:
        self._table = table
        self._interpreter = interpreter
        self._version = story.version
        self._emulator = _ExploringEmulator(interpreter)
        memory = bytes(interpreter.memory)
        self.reader: StatusReader = (
            ProfileReader(story, table, interpreter)
            if interpreter.known
            else LearningReader(story, table, self._emulator)
        )
        status = self.reader.read(memory, opening)
        self.max_score = status.max_score
        self.attribute_names = attribute_table(story, opening, table.attributes(memory, status.player or 0))
        self._sight = Sight(table, self.attribute_names)
        self._view: tuple[Objects | None, Objects | None] = (None, None)
        self._parents: tuple[int, ...] = ()
        self._attributes_hash = ""
        self._locations = {num: Location(num, table.name(num)) for num in range(1, table.count + 1)}
        self.location: Location | None = None
        self._seen: tuple[str, int | None, int | None] | None = None

    def observe(self, text: str) -> Observation:
        """Return the observation after a step that printed ``text``, without judging the story's end."""
        interpreter, before = self._interpreter, self.location
        memory = interpreter.memory
        status = self.reader.read(memory, text)
        world_hash = self._table.world_hash(memory)
        location = status.location
        seen = (world_hash, location, status.player)
        if seen != self._seen:  # most commands do not change the objects
            self._seen = seen
            tree = self._table.tree(memory)
            self._view = self._sight.look(tree, location, status.player)
            self._parents = self._table.parents(tree)
            self._attributes_hash = self._table.attributes_hash(tree)
        inventory, visible = self._view
        self.location = self._locations.get(location) if location else None
        if self.location and not self.location.name:
            self.location = self._with_heading(self.location, before, text)
        return Observation(
            text=text,
            location=self.location,
            inventory=inventory,
            visible=visible,
            score=status.score,
            max_score=status.max_score,
            moves=status.moves,
            world_hash=world_hash,
            parents=self._parents,
            awaits_key=interpreter.prompt == "key",
            attributes_hash=self._attributes_hash,
        )

    def _with_heading(self, location: Location, before: Location | None, text: str) -> Location:
        """Return ``location``, whose object has no name, named by the heading of the room's description.

        If ``text`` has no heading, the name of ``before`` is kept as long as the player is in the same room.
        """
        if headings_in(text) and self._emulator.listens():
            heading = heading_of(text, told_text(self._interpreter.answer_to(b"look"), self._version))
            if heading:
                return Location(location.num, f"{heading} (#{location.num})")
        return before if before and before.num == location.num else location


class _ExploringEmulator:
    """Adapts an interpreter to the ``Emulator`` protocol of the status readers."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter

    def step(self, command: str) -> str:
        interpreter = self._interpreter
        return interpreter.send(keypress(command) if interpreter.prompt == "key" else command.encode("ascii"))

    def listens(self) -> bool:
        return self._interpreter.prompt == "line" and self._interpreter.stop is None

    def memory(self) -> DynamicMemory:
        return bytes(self._interpreter.memory)

    def save(self) -> Snapshot:
        return self._interpreter.snapshot()

    def restore(self, state: Snapshot) -> None:
        self._interpreter.restore(state)
