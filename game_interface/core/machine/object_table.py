"""Reads the object tree in a story's memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from game_interface.core.machine.story import DynamicMemory, Story, TextDecoder, read_word


@dataclass(frozen=True, slots=True)
class _Layout:
    """Sizes in bytes: of the parts of an object's entry, and of the property defaults before the first entry."""

    defaults: int
    attributes: int
    link: int
    """The size of a link to another object. Parent, sibling and child follow the attributes in this order."""
    entry: int
    most_objects: int


class ObjectEntry(NamedTuple):
    """The numbers of an object's set attributes, and its links in the tree. A link to no existing object is 0.

    Attributes are numbered from 0 to 31 in versions 1 to 3, and to 47 in later versions.
    """

    attributes: frozenset[int] = frozenset()
    parent: int = 0
    sibling: int = 0
    child: int = 0


_NARROW = _Layout(defaults=62, attributes=4, link=1, entry=9, most_objects=0xFF)
_WIDE = _Layout(defaults=126, attributes=6, link=2, entry=14, most_objects=0xFFFF)
_FIRST_WIDE_VERSION = 4
_MOST_ENTRIES = 4096
"""Parsed entries to keep: most objects have a few dozen states in a long session."""
_COMPILERS_NAME = re.compile(r"\(\w+\)|\w+_\d+")


class ObjectTable:
    """The names and relations of a story's objects, numbered from 1; 0 means none (Z-Machine Standard 1.1 §12).

    places: the place in memory of each object's entry, by number
    parsed: returns what the bytes of an entry contain

    No method raises: for a number outside the table or corrupt memory they return 0, ``""`` or an empty result.
    """

    def __init__(self, story: Story) -> None:
        self._layout = layout = _WIDE if story.version >= _FIRST_WIDE_VERSION else _NARROW
        self._content = story.content
        self._entries = story.object_table + layout.defaults
        self._properties: list[int] = []  # the address of each object's table; the entries end at the lowest of them
        entry, end = self._entries, story.dynamic_size
        while entry + layout.entry <= end and len(self._properties) < layout.most_objects:
            address = read_word(self._content, entry + layout.entry - 2)
            if not self._entries < address < story.dynamic_size:
                break
            self._properties.append(address)
            end = min(end, address)
            entry += layout.entry
        self.count = len(self._properties)
        links, entries_end = self._entries + layout.attributes, self._entries + self.count * layout.entry
        self._high_parents = slice(links, entries_end, layout.entry)
        self._low_parents = slice(links + layout.link - 1, entries_end, layout.entry)
        address = max(self._properties, default=self._entries)
        name_end = address + 1 + 2 * self._content[address]
        end = 1 + max((place.stop for _, place in self._listed(address)), default=name_end)
        self._by_inform = story.by_inform_6
        if self._by_inform:  # it stores individual properties between property tables and globals
            end = max(end, story.globals)
        starts = range(self._entries, self._entries + layout.attributes)
        self._attributes = [slice(start, entries_end, layout.entry) for start in starts]
        self.place_of_world = slice(self._entries, max(entries_end, min(end, story.dynamic_size)))
        self._text = TextDecoder(story)
        self._names: dict[int, str] = {}
        self.places = [slice(end - layout.entry, end) for end in range(self._entries, entries_end + 1, layout.entry)]
        self.parsed = lru_cache(_MOST_ENTRIES)(self._parsed)

    def _listed(self, address: int) -> Iterator[tuple[int, slice]]:
        """Yield the number and the place of the value of each property in the table at ``address``."""
        content = self._content
        at = address + 1 + 2 * content[address]
        while at + 1 < len(content) and content[at]:
            first = content[at]
            if self._layout is _NARROW:
                number, at, size = first & 0x1F, at + 1, 1 + (first >> 5)
            elif first & 0x80:
                number, at, size = first & 0x3F, at + 2, content[at + 1] & 0x3F or 64
            else:
                number, at, size = first & 0x3F, at + 1, 1 + (first >> 6)
            yield number, slice(at, at + size)
            at += size

    def properties(self, num: int) -> dict[int, bytes]:
        """Return the values of the object's properties by number, from the story file."""
        if not 0 < num <= self.count:
            return {}
        return {number: self._content[place] for number, place in self._listed(self._properties[num - 1])}

    def name(self, num: int) -> str:
        """Return the short name from the story file, with abbreviations expanded; ``""`` if there is none.

        The name that Inform gives to an object without one, its identifier or number in brackets or that of its class
        with a number, as in ``Brick_1``, counts as none.
        """
        if not 0 < num <= self.count:
            return ""
        if num not in self._names:
            address = self._properties[num - 1]
            name = self._text.decode(address + 1, 2 * self._content[address])
            self._names[num] = "" if self._by_inform and _COMPILERS_NAME.fullmatch(name) else name
        return self._names[num]

    def parents(self, memory: DynamicMemory) -> tuple[int, ...]:
        """Return the parents of all objects, indexed by object number; the parent of object 0 is 0."""
        low = bytes(memory[self._low_parents])
        if self._layout is _NARROW:
            return tuple(b"\0" + low)
        return (0, *(high << 8 | rest for high, rest in zip(memory[self._high_parents], low, strict=True)))

    def entry(self, memory: DynamicMemory, num: int) -> ObjectEntry:
        """Return the attributes and links of ``num``."""
        return self.parsed(bytes(memory[self.places[num]])) if 0 < num <= self.count else ObjectEntry()

    def _parsed(self, content: bytes) -> ObjectEntry:
        size, links = self._layout.link, content[self._layout.attributes :]
        found = [int.from_bytes(links[at : at + size], "big") for at in (0, size, 2 * size)]
        parent, sibling, child = (num if num <= self.count else 0 for num in found)
        flags = enumerate(content[: self._layout.attributes])
        attributes = frozenset(8 * at + bit for at, byte in flags for bit in range(8) if byte & 0x80 >> bit)
        return ObjectEntry(attributes, parent, sibling, child)

    def children(self, memory: DynamicMemory, num: int) -> list[int]:
        """Return the children of ``num`` in the machine's order. A cycle ends the list."""
        found: list[int] = []
        num = self.entry(memory, num).child
        while num and num not in found:
            found.append(num)
            num = self.entry(memory, num).sibling
        return found

    def ancestors(self, memory: DynamicMemory, num: int) -> list[int]:
        """Return the ancestors of ``num``, its parent first. A cycle ends the list."""
        found: list[int] = []
        num = self.entry(memory, num).parent
        while num and num not in found:
            found.append(num)
            num = self.entry(memory, num).parent
        return found

    def world_hash(self, memory: DynamicMemory) -> str:
        """Return 8 hex digits: a hash of the tree, attributes and properties of all objects, but not of globals."""
        return f"{crc32(self.world(memory)):08x}"

    def attributes_hash(self, memory: DynamicMemory) -> str:
        """Return 8 hex digits: a hash of the attributes of all objects, independent of their positions in the tree."""
        return f"{crc32(b''.join([memory[each] for each in self._attributes])):08x}"

    def world(self, memory: DynamicMemory) -> DynamicMemory:
        """Return the part of ``memory`` with the tree, the attributes and the properties."""
        return memory[self.place_of_world]
