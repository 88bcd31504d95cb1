"""Reads every field of an ``Observation`` from one copy of the story's memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from game_interface.core.machine.attribute_tables import attribute_table, numbers_of
from game_interface.core.machine.interpreter import Interpreter
from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.story import Story
from game_interface.core.machine.vocabulary_reader import names_of_things
from game_interface.core.status.status_reader import LearningReader, ProfileReader
from game_interface.core.story_text import heading_of, headings_in, told_text
from session.values import GameObject, Location, Observation

Objects: TypeAlias = tuple[GameObject, ...]


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
        memory = bytes(interpreter.memory)
        self.reader: ProfileReader | LearningReader = (
            ProfileReader(story, table, interpreter) if interpreter.known else LearningReader(story, table, interpreter)
        )
        self._learned_at_opening = self.reader.learned
        status = self.reader.read(memory, opening)
        self.max_score = status.max_score
        self.attribute_names = attribute_table(story, opening, table.entry(memory, status.player or 0).attributes)
        self._sight = _Sight(table, self.attribute_names, names_of_things(story, table))
        self._locations = {num: Location(num, table.name(num)) for num in range(1, table.count + 1)}
        self.location: Location | None = None

    def begin(self) -> None:
        """Forget what was learned and seen in play, because the story restarts."""
        self.reader.learned = self._learned_at_opening
        self.location = None

    def observe(self, text: str) -> Observation:
        """Return the observation after a step that printed ``text``, without judging the story's end."""
        before = self.location
        memory = bytes(self._interpreter.memory)
        status = self.reader.read(memory, text)
        inventory, visible = self._sight.look(memory, status.location, status.player)
        self.location = self._locations.get(status.location or 0)
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
            world_hash=self._table.world_hash(memory),
            parents=self._table.parents(memory),
            awaits_key=self._interpreter.prompt == "key",
            attributes_hash=self._table.attributes_hash(memory),
        )

    def _with_heading(self, location: Location, before: Location | None, text: str) -> Location:
        """Return ``location``, whose object has no name, named by the heading of the room's description.

        If ``text`` has no heading, the name of ``before`` is kept as long as the player is in the same room.
        """
        if headings_in(text) and self._interpreter.listens:
            with self._interpreter.trying():
                looked = told_text(self._interpreter.send("look"), self._version)
            heading = heading_of(text, looked)
            if heading:
                return Location(location.num, f"{heading} (#{location.num})")
        return before if before and before.num == location.num else location


class _Sight:
    """Finds the objects that the player carries and can see, from the story's object tree.

    attributes: the numbers of the story's attributes by name; empty if unknown
    names: of the objects, by number
    """

    def __init__(self, table: ObjectTable, attributes: Mapping[str, int], names: Mapping[int, str]) -> None:
        self._table = table
        self._names = names
        self._hidden = numbers_of(attributes, ("invisible", "concealed", "absent"))
        self._see_through = numbers_of(attributes, ("surface", "transparent"))
        self._holders, self._open = numbers_of(attributes, ("container", "actor")), numbers_of(attributes, ("open",))
        self._lit = numbers_of(attributes, ("lit",))

    def look(self, memory: bytes, room: int | None, player: int | None) -> tuple[Objects | None, Objects | None]:
        """Return what ``player`` carries, one level deep, and the other objects that are visible in ``room``.

        Each is ``None`` without a player or a room, respectively. Objects in the vehicles and containers around
        the player come first, innermost first. In the dark nothing is visible. If the names of attributes are unknown,
        objects directly in the room and in the player's vehicle are visible.
        """
        table = self._table
        inventory = self._objects(memory, table.children(memory, player)) if player else None
        if not room:
            return inventory, None
        ancestors = table.ancestors(memory, player) if player else []
        around = ancestors[: ancestors.index(room) + 1] if room in ancestors else [room]
        known = {player or 0, *around}
        seen = [num for holder in around for num in self._openly_within(memory, holder, known)]
        if self._lit and not self._gives_light(memory, [room, *seen]):
            carried = [player, *self._openly_within(memory, player, {player})] if player else []
            if not self._gives_light(memory, carried):
                return inventory, ()
        return inventory, self._objects(memory, seen)

    def _openly_within(self, memory: bytes, holder: int, known: set[int]) -> list[int]:
        """Return the visible objects in ``holder``, each before its contents, and add them to those that are known."""
        found: list[int] = []
        waiting = self._table.children(memory, holder)[::-1]
        while waiting:
            num = waiting.pop()
            attributes = self._table.entry(memory, num).attributes
            if num in known or attributes & self._hidden:
                continue
            known.add(num)
            found.append(num)
            if attributes & self._see_through or (attributes & self._holders and attributes & self._open):
                waiting += self._table.children(memory, num)[::-1]
        return found

    def _gives_light(self, memory: bytes, nums: Iterable[int]) -> bool:
        return any(self._table.entry(memory, num).attributes & self._lit for num in nums)

    def _objects(self, memory: bytes, nums: Iterable[int]) -> Objects:
        entries = ((num, self._table.entry(memory, num)) for num in nums)
        return tuple(GameObject(num, self._names.get(num, ""), each.parent, each.attributes) for num, each in entries)
