"""Reads the object tree in a story's memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from game_interface.core.machine.story import DynamicMemory, Story, read_word
from game_interface.core.machine.zstring import TextDecoder


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
    """The attributes of an object and its links in the tree."""

    attributes: frozenset[int]
    parent: int
    sibling: int
    child: int


class _Property(NamedTuple):
    """The address and size of a property's value, in bytes."""

    number: int
    at: int
    size: int


_NARROW = _Layout(defaults=62, attributes=4, link=1, entry=9, most_objects=0xFF)
_WIDE = _Layout(defaults=126, attributes=6, link=2, entry=14, most_objects=0xFFFF)
_FIRST_WIDE_VERSION = 4
_LOW_BYTE = 0 if sys.byteorder == "little" else 1
_COMPILER_ADDRESS = 0x3C
_INFORM_6 = b"6."
"""The compiler's signature in the header. It stores individual properties between property tables and globals."""


class ObjectTable:
    """The names and relations of a story's objects, numbered from 1; 0 means none (Z-Machine Standard 1.1 §12).

    No method raises: for a number outside the table or corrupt memory they return 0, ``""`` or an empty result.
    """

    def __init__(self, story: Story) -> None:
        self._layout = layout = _WIDE if story.version >= _FIRST_WIDE_VERSION else _NARROW
        self._content = story.content
        self._entries = story.object_table + layout.defaults
        self._properties = self._property_tables(story.dynamic_size)
        self.count = len(self._properties)
        links, entries_end = self._entries + layout.attributes, self._entries + self.count * layout.entry
        self._high_parents = slice(links, entries_end, layout.entry)
        self._low_parents = slice(links + layout.link - 1, entries_end, layout.entry)
        address = max(self._properties, default=self._entries)
        name_end = address + 1 + 2 * self._content[address]
        end = 1 + max((each.at + each.size for each in self._listed(address)), default=name_end)
        if story.content.startswith(_INFORM_6, _COMPILER_ADDRESS):
            end = max(end, story.globals)
        self._links = Struct(f"{1 + self.count}{'B' if layout is _NARROW else 'H'}")
        self._tree = slice(0, entries_end)
        starts = range(self._entries, self._entries + layout.attributes)
        self._attributes = [slice(start, entries_end, layout.entry) for start in starts]
        self._world = slice(self._entries, max(entries_end, min(end, story.dynamic_size)))
        self._text = TextDecoder(story)
        self._names: dict[int, str] = {}

    def _property_tables(self, dynamic_size: int) -> list[int]:
        """Return the address of each object's property table. The entries end at the lowest of them."""
        addresses: list[int] = []
        layout, end = self._layout, dynamic_size
        entry = self._entries
        while entry + layout.entry <= end and len(addresses) < layout.most_objects:
            address = read_word(self._content, entry + layout.entry - 2)
            if not self._entries < address < dynamic_size:
                break
            addresses.append(address)
            end = min(end, address)
            entry += layout.entry
        return addresses

    def _listed(self, address: int) -> Iterator[_Property]:
        """Yield the properties of the table at ``address`` in order."""
        content = self._content
        at = address + 1 + 2 * content[address]
        while at + 1 < len(content) and content[at]:
            first = content[at]
            if self._layout is _NARROW:
                listed = _Property(first & 0x1F, at + 1, 1 + (first >> 5))
            elif first & 0x80:
                listed = _Property(first & 0x3F, at + 2, content[at + 1] & 0x3F or 64)
            else:
                listed = _Property(first & 0x3F, at + 1, 1 + (first >> 6))
            yield listed
            at = listed.at + listed.size

    def properties(self, num: int) -> dict[int, bytes]:
        """Return the values of the object's properties by number, from the story file."""
        if not 0 < num <= self.count:
            return {}
        listed = self._listed(self._properties[num - 1])
        return {each.number: self._content[each.at : each.at + each.size] for each in listed}

    def name(self, num: int) -> str:
        """Return the short name from the story file, with abbreviations expanded; ``""`` if there is none."""
        if not 0 < num <= self.count:
            return ""
        if num not in self._names:
            address = self._properties[num - 1]
            self._names[num] = self._text.decode(address + 1, 2 * self._content[address])
        return self._names[num]

    def parents(self, memory: DynamicMemory) -> tuple[int, ...]:
        """Return the parents of all objects, indexed by object number; the parent of object 0 is 0."""
        low = b"\0" + bytes(memory[self._low_parents])
        if self._layout is _NARROW:
            return self._links.unpack(low)
        links = bytearray(self._links.size)
        links[_LOW_BYTE::2], links[1 - _LOW_BYTE :: 2] = low, b"\0" + bytes(memory[self._high_parents])
        return self._links.unpack(links)

    def _link(self, memory: DynamicMemory, num: int, place: int) -> int:
        """Return the ``place``-th link of an object's entry: 0 parent, 1 sibling, 2 child."""
        if not 0 < num <= self.count:
            return 0
        layout = self._layout
        at = self._entries + (num - 1) * layout.entry + layout.attributes + place * layout.link
        other = memory[at] << 8 | memory[at + 1] if layout.link == 2 else memory[at]  # noqa: PLR2004 - bytes of a word
        return other if other <= self.count else 0

    def parent(self, memory: DynamicMemory, num: int) -> int:
        """Return the parent of ``num``."""
        return self._link(memory, num, 0)

    def sibling(self, memory: DynamicMemory, num: int) -> int:
        """Return the next sibling of ``num``."""
        return self._link(memory, num, 1)

    def child(self, memory: DynamicMemory, num: int) -> int:
        """Return the first child of ``num``."""
        return self._link(memory, num, 2)

    def children(self, memory: DynamicMemory, num: int) -> list[int]:
        """Return the children of ``num`` in the machine's order. A cycle ends the list."""
        return self._chain(memory, self.child(memory, num), place=1)

    def ancestors(self, memory: DynamicMemory, num: int) -> list[int]:
        """Return the ancestors of ``num``, its parent first. A cycle ends the list."""
        return self._chain(memory, self.parent(memory, num), place=0)

    def _chain(self, memory: DynamicMemory, num: int, place: int) -> list[int]:
        """Return ``num`` and the objects reached by following the ``place``-th link, each once."""
        found: list[int] = []
        while num and num not in found:
            found.append(num)
            num = self._link(memory, num, place)
        return found

    def attributes(self, memory: DynamicMemory, num: int) -> frozenset[int]:
        """Return the numbers of the attributes that are set: 0 to 31 in versions 1 to 3, 0 to 47 in later versions."""
        if not 0 < num <= self.count:
            return frozenset()
        at = self._entries + (num - 1) * self._layout.entry
        return _bits(bytes(memory[at : at + self._layout.attributes]))

    def place(self, num: int) -> slice:
        """Return the position of the entry of ``num``, which contains its attributes and links."""
        at = self._entries + (num - 1) * self._layout.entry
        return slice(at, at + self._layout.entry)

    def read_entry(self, entry: bytes) -> ObjectEntry:
        """Return the parsed entry of an object. A link to a nonexistent object is read as 0."""
        size, links = self._layout.link, entry[self._layout.attributes :]
        found = [int.from_bytes(links[place * size : (place + 1) * size], "big") for place in range(3)]
        parent, sibling, child = (num if num <= self.count else 0 for num in found)
        return ObjectEntry(_bits(entry[: self._layout.attributes]), parent, sibling, child)

    def world_hash(self, memory: DynamicMemory) -> str:
        """Return 8 hex digits: a hash of the tree, attributes and properties of all objects, but not of globals."""
        return f"{crc32(memory[self._world]):08x}"

    def attributes_hash(self, tree: bytes) -> str:
        """Return 8 hex digits: a hash of the attributes of all objects, independent of their positions in the tree."""
        return f"{crc32(b''.join([tree[each] for each in self._attributes])):08x}"

    def world(self, memory: DynamicMemory) -> DynamicMemory:
        """Return the part of ``memory`` with the tree, the attributes and the properties."""
        return memory[self._world]

    def tree(self, memory: DynamicMemory) -> bytes:
        """Return a copy of ``memory`` up to the end of the tree, for methods that read only the tree."""
        return bytes(memory[self._tree])


@lru_cache(maxsize=4096)
def _bits(flags: bytes) -> frozenset[int]:
    """Return the numbers of the set bits; the highest bit of the first byte is 0."""
    return frozenset(8 * at + bit for at, byte in enumerate(flags) for bit in range(8) if byte & 0x80 >> bit)
