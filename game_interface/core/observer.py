"""Reads every field of an ``Observation`` from one copy of the story's memory."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias
from zlib import crc32

from game_interface.core.machine.attribute_tables import PLAYERS_NAME, attribute_table, numbers_of
from game_interface.core.machine.interpreter import Interpreter
from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.story import Story
from game_interface.core.machine.vocabulary_reader import Dictionary, names_of_things
from game_interface.core.status.status_reader import LearnedStatus, LearningReader, ProfileReader
from game_interface.core.story_text import heading_of, headings_in, plain_text
from session.values import GameObject, Location, Observation

Objects: TypeAlias = tuple[GameObject, ...]

_DARK = re.compile(r"(?:\w+ ){0,2}(?:dark|black)(?:ness)?", re.IGNORECASE)
"""A heading of the dark, which is the same in all rooms."""
_IDLE = ("look", "inventory", "wait", "examine me", "take zz", "zz " * 60)
"""Commands that change only clocks and the notes of the parser. The last one fills the parser's buffers."""
_WORD, _HYPHENATED = re.compile(r"[a-z']+"), re.compile(r"[a-z']+(?:-[a-z']+)+")
_MOST_WORDS = 3  # of a thing without a name
_MOST_NODES = 20_000
"""Cached states of all objects; most objects have a few dozen in a long session."""


def lasting_memory(interpreter: Interpreter, table: ObjectTable) -> list[slice]:
    """Return the parts of memory that commands without effect leave as they are at a story's opening.

    The objects are always among them.
    """
    changed = 0
    with interpreter.trying() as start:
        before = int.from_bytes(start.memory, "big")
        for command in _IDLE:
            if not interpreter.listens:
                break
            interpreter.send(command[: interpreter.line_room()])
            after = int.from_bytes(interpreter.memory, "big")
            changed, before = changed | (before ^ after), after
    passing = bytearray(changed.to_bytes(len(start.memory), "big"))
    passing[table.place_of_world] = bytes(len(table.world(start.memory)))
    return [slice(*part.span()) for part in re.finditer(rb"\0+", passing)]


class Observer:
    """Creates the observations of a story that an interpreter runs.

    lasting: the parts of memory that count in ``Observation.state_hash``

    attribute_names: the numbers of the story's attributes by name; empty unless they are certain
    max_score: the maximum score; ``None`` if unknown
    reader: reads the status and keeps what it has learned
    location: the player's location in the latest observation; to be restored together with the story
    printed: the words by which the parser knows things without a short name and that the story has printed, truncated
        as in its dictionary; to be restored like the location
    """

    def __init__(
        self, story: Story, table: ObjectTable, interpreter: Interpreter, opening: str, lasting: Sequence[slice]
    ) -> None:
        self._table = table
        self._interpreter = interpreter
        memory = bytes(interpreter.memory)
        self.reader: ProfileReader | LearningReader = (
            ProfileReader(story, table, interpreter) if interpreter.known else LearningReader(story, table, interpreter)
        )
        self._learned_at_opening = self.reader.learned
        status = self.reader.read(memory, opening)
        self.max_score = status.max_score
        self._locations = {num: Location(num, table.name(num)) for num in range(1, table.count + 1)}
        declared = (num for num, each in self._locations.items() if each.name == PLAYERS_NAME)
        player = table.entry(memory, status.player or next(declared, 0))
        banner = opening
        if "Library" not in opening and interpreter.listens:
            with interpreter.trying():
                banner = interpreter.send("version")
        self.attribute_names = attribute_table(story, banner, player.attributes)
        names, self._unnamed = names_of_things(story, table)
        self._parser_words = frozenset(word for words in self._unnamed.values() for word in words)
        self._letters = Dictionary.of(story).letters
        self._sight = _Sight(table, self.attribute_names, names)
        self.printed: frozenset[str] = frozenset()
        self._lasting = lasting
        self.location: Location | None = None

    def begin(self) -> None:
        """Forget what was learned and seen in play, because the story restarts."""
        self.return_to(self._learned_at_opening, None, frozenset())

    def return_to(self, learned: LearnedStatus, location: Location | None, printed: frozenset[str]) -> None:
        """Continue from a saved state."""
        self.reader.learned, self.location, self.printed = learned, location, printed

    def observe(self, text: str) -> Observation:
        """Return the observation after a step that printed ``text``, without judging the story's end."""
        before = self.location
        memory = bytes(self._interpreter.memory)
        status = self.reader.read(memory, text)
        inventory, visible, inside = self._sight.look(memory, status.location, status.player)
        if self._unnamed:
            lower = text.lower()
            words = {word[: self._letters] for word in (*_WORD.findall(lower), *_HYPHENATED.findall(lower))}
            self.printed |= self._parser_words & words
            inventory, visible = self._as_printed(inventory), self._as_printed(visible)
            inside = (self._as_printed((inside,)) or (inside,))[0] if inside else None
        self.location = self._locations.get(status.location or 0)
        if self.location and not (self.location.name and self.location.name in headings_in(text)):
            self.location = self._with_heading(self.location, before, text)
        machine = repr((self._interpreter.prompt_place, self._interpreter.chance)).encode()
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
            inside=inside,
            state_hash=f"{crc32(b''.join([machine, *[memory[each] for each in self._lasting]])):08x}",
        )

    def _as_printed(self, things: Objects | None) -> Objects | None:
        """Return the things; those without a name are named by the first parser's words that the story has printed."""
        unnamed, printed = self._unnamed, self.printed
        if things is None or unnamed.keys().isdisjoint([thing.num for thing in things]):
            return things
        words = [[word for word in unnamed.get(thing.num, ()) if word in printed][:_MOST_WORDS] for thing in things]
        return tuple(
            [replace(each, name="/".join(own)) if own else each for each, own in zip(things, words, strict=True)]
        )

    def _with_heading(self, location: Location, before: Location | None, text: str) -> Location:
        """Return ``location``, named by the heading of the room's description if its object has another name or none.

        If ``text`` has no heading, the name of ``before`` is kept as long as the player is in the same room. A heading
        of the dark names no room, and one that only extends or shortens the object's name changes nothing.
        """
        if headings_in(text) and self._interpreter.listens:
            with self._interpreter.trying():
                looked = plain_text(self._interpreter.send("look"), self._interpreter.version)
            heading = heading_of(text, looked)
            if heading and not _DARK.fullmatch(heading):
                name, printed = location.name.lower(), heading.lower()
                adds = name.startswith(printed) or (name != "" and printed.startswith(name))
                return location if adds else Location(location.num, heading)
        return before if before and before.num == location.num else location


@dataclass(frozen=True, slots=True)
class _Node:
    """An object in one state, with its links in the tree and the meaning of its attributes."""

    object: GameObject
    child: int
    sibling: int
    hidden: bool
    shows_contents: bool
    lit: bool


class _Sight:
    """Finds the objects that the player carries and can see, from the story's object tree.

    attributes: the numbers of the story's attributes by name; empty if unknown
    names: of the objects, by number
    """

    def __init__(self, table: ObjectTable, attributes: Mapping[str, int], names: Mapping[int, str]) -> None:
        self._table = table
        self._names = names
        self._places = table.places
        self._hidden = numbers_of(attributes, ("invisible", "absent"))
        self._see_through = numbers_of(attributes, ("surface", "transparent"))
        self._holders, self._open = numbers_of(attributes, ("container", "actor")), numbers_of(attributes, ("open",))
        self._lit = numbers_of(attributes, ("lit",))
        self._node_of = lru_cache(_MOST_NODES)(self._parsed_node)

    def look(
        self, memory: bytes, room: int | None, player: int | None
    ) -> tuple[Objects | None, Objects | None, GameObject | None]:
        """Return what ``player`` carries, one level deep, the other objects visible in ``room``, and what it is in.

        The first two are ``None`` without a player or a room, respectively. The third is the innermost object around
        the player, such as a chair; ``None`` if that is the room. Objects in the vehicles and containers around
        the player come first, innermost first, what is in carried ones last. In the dark nothing is visible. What
        Inform's library conceals is visible: it is left out of lists because the room's description names it. If the
        names of attributes are unknown, objects directly in the room and in the player's vehicle are visible.
        """
        bearer = self._node(memory, player) if player else None
        carried = self._row(memory, bearer.child) if bearer else ()
        inventory = tuple([node.object for node in carried]) if bearer else None
        if not room:
            return inventory, None, None
        around = [room]
        if bearer and bearer.object.parent != room:
            ancestors = self._table.ancestors(memory, bearer.object.num)
            around = ancestors[: ancestors.index(room) + 1] if room in ancestors else around
        holders = [self._node(memory, num) for num in around]
        inside = holders[0].object if len(holders) > 1 else None
        seen = [node for each in holders for node in self._openly_within(memory, each, (player, *around))]
        for node in carried:
            if node.child and node.shows_contents and not node.hidden:
                seen += self._openly_within(memory, node, (player,))
        if self._lit and not holders[-1].lit and not any(node.lit for node in seen):
            lights = [*([bearer] if bearer else []), *(node for node in carried if not node.hidden)]
            if not any(node.lit for node in lights):
                return inventory, (), inside
        return inventory, tuple([node.object for node in seen]), inside

    def _openly_within(self, memory: bytes, holder: _Node, left_out: Collection[int | None] = ()) -> list[_Node]:
        """Return the visible objects in ``holder``, each before its contents. A cycle in the tree ends the list."""
        found: list[_Node] = []
        for node in self._row(memory, holder.child):
            if not node.hidden and node.object.num not in left_out:
                found.append(node)
                if node.child and node.shows_contents:
                    found += self._openly_within(memory, node, (*left_out, node.object.num))
        return found

    def _row(self, memory: bytes, num: int) -> Collection[_Node]:
        """Return the object ``num`` and its later siblings, in the machine's order. A cycle ends the row."""
        found: dict[int, _Node] = {}
        places, node_of = self._places, self._node_of
        while num and num not in found:
            found[num] = node = node_of(num, memory[places[num]])
            num = node.sibling
        return found.values()

    def _node(self, memory: bytes, num: int) -> _Node:
        return self._node_of(num, memory[self._places[num]])

    def _parsed_node(self, num: int, content: bytes) -> _Node:
        entry = self._table.parsed(content)
        attributes = entry.attributes
        opened = bool(attributes & self._holders and attributes & self._open)
        return _Node(
            object=GameObject(num, self._names.get(num, ""), entry.parent, attributes),
            child=entry.child,
            sibling=entry.sibling,
            hidden=bool(attributes & self._hidden),
            shows_contents=opened or bool(attributes & self._see_through),
            lit=bool(attributes & self._lit),
        )
