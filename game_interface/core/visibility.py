"""Finds what the player carries and can see, as far as the story's own object tree makes it certain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from session.values import GameObject

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from game_interface.core.machine.object_table import ObjectTable

_MOST_NODES = 1000
"""States that are kept of each object; a long session sees some dozens of most."""


@dataclass(frozen=True, slots=True)
class _Node:
    """An object in one state, with where the tree goes on from it and what its attributes mean."""

    object: GameObject
    child: int
    sibling: int
    hidden: bool
    shows_contents: bool
    lit: bool


class Sight:
    """Looks around in a story's object tree.

    attributes: the numbers of the story's attributes by name; empty where they are not known
    """

    def __init__(self, table: ObjectTable, attributes: Mapping[str, int]) -> None:
        self._table = table
        self._hidden = _numbers(attributes, "invisible", "concealed", "absent")
        self._see_through = _numbers(attributes, "surface", "transparent")
        self._holders = _numbers(attributes, "container", "actor")
        self._open = _numbers(attributes, "open")
        self._lit = _numbers(attributes, "lit")
        self._places_in_memory = [table.place(num) for num in range(table.count + 1)]
        self._nodes: list[dict[bytes, _Node]] = [{} for _ in self._places_in_memory]

    def inventory(self, memory: bytes, player: int) -> tuple[GameObject, ...]:
        """Return what ``player`` carries, one level deep, in the machine's order."""
        return tuple([node.object for node in self._within(memory, self._node(memory, player))])

    def around(self, memory: bytes, room: int, player: int | None) -> tuple[GameObject, ...]:
        """Return what ``player`` in ``room`` can see and does not carry; nothing in the dark.

        Where attributes are not known, that is what lies directly in the room and in the vehicle the player is in.
        """
        places = self._places(memory, room, player)
        inside = {player, *places}
        found: list[_Node] = []
        for place in places:
            found += self._openly_in(memory, self._node(memory, place), inside)
        if self._lit and not self._is_lit(memory, room, player, found):
            return ()
        return tuple([node.object for node in found])

    def _places(self, memory: bytes, room: int, player: int | None) -> list[int]:
        """Return what the player is in, from the nearest thing up to the room."""
        if not player or self._table.parent(memory, player) == room:
            return [room]
        around = self._table.ancestors(memory, player)
        return around[: around.index(room) + 1] if room in around else [room]

    def _openly_in(self, memory: bytes, holder: _Node, left_out: Collection[int | None] = ()) -> list[_Node]:
        """Return what can be seen in ``holder``, each thing before its contents; a tree that is a circle is cut."""
        found: list[_Node] = []
        pending = self._within(memory, holder)[::-1]
        while pending and len(found) < self._table.count:
            node = pending.pop()
            if not node.hidden and node.object.num not in left_out:
                found.append(node)
                if node.shows_contents:
                    pending += self._within(memory, node)[::-1]
        return found

    def _is_lit(self, memory: bytes, room: int, player: int | None, found: list[_Node]) -> bool:
        if self._node(memory, room).lit or any(node.lit for node in found):
            return True
        if not player:
            return False
        bearer = self._node(memory, player)
        return bearer.lit or any(node.lit for node in self._openly_in(memory, bearer))

    def _within(self, memory: bytes, node: _Node) -> list[_Node]:
        """Return the objects directly in ``node``; a corrupt tree that runs in a circle is cut."""
        found: list[_Node] = []
        num, nodes, places = node.child, self._nodes, self._places_in_memory
        while num and len(found) < self._table.count:
            entry = memory[places[num]]
            child = nodes[num].get(entry) or self._read(memory, num, entry)
            found.append(child)
            num = child.sibling
        return found

    def _node(self, memory: bytes, num: int) -> _Node:
        entry = memory[self._places_in_memory[num]]
        return self._nodes[num].get(entry) or self._read(memory, num, entry)

    def _read(self, memory: bytes, num: int, entry: bytes) -> _Node:
        """Read the node and keep it for the next time that its entry in memory is the same."""
        table, kept = self._table, self._nodes[num]
        attributes = table.attributes(memory, num)
        opened = bool(attributes & self._holders and attributes & self._open)
        if len(kept) >= _MOST_NODES:
            kept.clear()
        node = kept[entry] = _Node(
            object=GameObject(num, table.name(num), table.parent(memory, num), attributes),
            child=table.child(memory, num),
            sibling=table.sibling(memory, num),
            hidden=bool(attributes & self._hidden),
            shows_contents=opened or bool(attributes & self._see_through),
            lit=bool(attributes & self._lit),
        )
        return node


def _numbers(attributes: Mapping[str, int], *names: str) -> frozenset[int]:
    return frozenset(attributes[name] for name in names if name in attributes)
