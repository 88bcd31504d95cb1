"""Finds the objects that the player carries and can see, from the story's object tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TypeAlias

from game_interface.core.machine.object_table import ObjectTable
from session.values import GameObject

Objects: TypeAlias = tuple[GameObject, ...]

_MOST_STATES = 1000
"""Cached states of each object; most objects have a few dozen in a long session."""


@dataclass(frozen=True, slots=True)
class _Node:
    """An object in one state, with its links in the tree and the meaning of its attributes."""

    object: GameObject
    child: int
    sibling: int
    hidden: bool
    shows_contents: bool
    lit: bool


class Sight:
    """Finds visible and carried objects in a story's object tree.

    attributes: the numbers of the story's attributes by name; empty if unknown
    """

    def __init__(self, table: ObjectTable, attributes: Mapping[str, int]) -> None:
        self._table = table
        self._hidden = _numbers(attributes, "invisible", "concealed", "absent")
        self._see_through = _numbers(attributes, "surface", "transparent")
        self._holders = _numbers(attributes, "container", "actor")
        self._open = _numbers(attributes, "open")
        self._lit = _numbers(attributes, "lit")
        cache = lru_cache(_MOST_STATES)
        self._objects = [(table.place(num), cache(partial(self._node_of, num))) for num in range(table.count + 1)]

    def look(self, tree: bytes, room: int | None, player: int | None) -> tuple[Objects | None, Objects | None]:
        """Return what ``player`` carries, one level deep, and the other objects that are visible in ``room``.

        Each is ``None`` if there is no player or no room respectively. In the dark nothing is visible. If the names of
        attributes are unknown, objects directly in the room and in the player's vehicle are visible.
        """
        bearer = self._node(tree, player) if player else None
        inventory = tuple(self._within(tree, bearer.child)) if bearer else None
        if not room:
            return inventory, None
        here = self._node(tree, room)
        if bearer and bearer.object.parent != room:
            seen, is_lit = self._openly_around(tree, bearer, room)
        else:
            seen, is_lit = self._openly_within(tree, here.child, (player, room))
        bears_light = bearer and (bearer.lit or self._openly_within(tree, bearer.child)[1])
        if self._lit and not (is_lit or here.lit or bears_light):
            return inventory, ()
        return inventory, tuple(seen)

    def _openly_around(self, tree: bytes, bearer: _Node, room: int) -> tuple[list[GameObject], bool]:
        """Return the visible objects in the containers around ``bearer``, innermost first, and if any is lit."""
        around = self._table.ancestors(tree, bearer.object.num)
        holders = around[: around.index(room) + 1] if room in around else [room]
        left_out = (bearer.object.num, *holders)
        views = [self._openly_within(tree, self._node(tree, num).child, left_out) for num in holders]
        return [each for objects, _ in views for each in objects], any(is_lit for _, is_lit in views)

    def _within(self, tree: bytes, num: int) -> list[GameObject]:
        """Return the object ``num`` and its later siblings, in the machine's order. A cycle ends the list."""
        found: list[GameObject] = []
        objects, most = self._objects, len(self._objects)
        while num and len(found) < most:
            place, node_of = objects[num]
            node = node_of(tree[place])
            found.append(node.object)
            num = node.sibling
        return found

    def _openly_within(
        self, tree: bytes, num: int, left_out: tuple[int | None, ...] = ()
    ) -> tuple[list[GameObject], bool]:
        """Return the visible objects from ``num`` on, its later siblings included, and whether any of them is lit.

        Each object precedes its contents. A cycle in the tree ends the list.
        """
        found: list[GameObject] = []
        is_lit = False
        behind: list[int] = []
        objects = self._objects
        for _ in objects:
            if not num:
                break
            place, node_of = objects[num]
            node = node_of(tree[place])
            if node.hidden or num in left_out:
                num = node.sibling
            else:
                found.append(node.object)
                is_lit = is_lit or node.lit
                num = node.sibling
                if node.shows_contents and node.child:
                    behind.append(num)
                    num = node.child
            while behind and not num:
                num = behind.pop()
        return found, is_lit

    def _node(self, tree: bytes, num: int) -> _Node:
        place, node_of = self._objects[num]
        return node_of(tree[place])

    def _node_of(self, num: int, entry: bytes) -> _Node:
        """Return the node for an object's entry in the object table."""
        attributes, parent, sibling, child = self._table.read_entry(entry)
        opened = bool(attributes & self._holders and attributes & self._open)
        return _Node(
            object=GameObject(num, self._table.name(num), parent, attributes),
            child=child,
            sibling=sibling,
            hidden=bool(attributes & self._hidden),
            shows_contents=opened or bool(attributes & self._see_through),
            lit=bool(attributes & self._lit),
        )


def _numbers(attributes: Mapping[str, int], *names: str) -> frozenset[int]:
    return frozenset(attributes[name] for name in names if name in attributes)
