"""Finds what the player carries and can see, as far as the story's own object tree makes it certain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from game_interface.core.machine.object_table import ObjectTable
from session.values import GameObject

Objects: TypeAlias = tuple[GameObject, ...]

_MOST_STATES = 1000
"""States that are kept of each object; a long session sees some dozens of most objects."""


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
        self._objects = [(table.place(num), _States(partial(self._node_of, num))) for num in range(table.count + 1)]

    def look(self, tree: bytes, room: int | None, player: int | None) -> tuple[Objects | None, Objects | None]:
        """Return what ``player`` carries, one level deep, and what else can be seen from there in ``room``.

        ``None`` where there is no player, or no room. In the dark nothing can be seen. Where attributes are not known,
        what lies directly in the room and in the vehicle that the player is in can be seen.
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
        if self._lit and not (is_lit or here.lit or (bearer and self._bears_light(tree, bearer))):
            return inventory, ()
        return inventory, tuple(seen)

    def _openly_around(self, tree: bytes, bearer: _Node, room: int) -> tuple[list[GameObject], bool]:
        """Return what ``bearer`` can see in whatever it is in, the nearest first, up to the room, and if any is lit."""
        around = self._table.ancestors(tree, bearer.object.num)
        holders = around[: around.index(room) + 1] if room in around else [room]
        left_out = (bearer.object.num, *holders)
        views = [self._openly_within(tree, self._node(tree, num).child, left_out) for num in holders]
        return [each for objects, _ in views for each in objects], any(is_lit for _, is_lit in views)

    def _bears_light(self, tree: bytes, bearer: _Node) -> bool:
        return bearer.lit or self._openly_within(tree, bearer.child)[1]

    def _within(self, tree: bytes, num: int) -> list[GameObject]:
        """Return the object ``num`` and those beside it, in the machine's order; a circle is cut."""
        found: list[GameObject] = []
        objects, most = self._objects, len(self._objects)
        while num and len(found) < most:
            place, states = objects[num]
            node = states[tree[place]]
            found.append(node.object)
            num = node.sibling
        return found

    def _openly_within(
        self, tree: bytes, num: int, left_out: tuple[int | None, ...] = ()
    ) -> tuple[list[GameObject], bool]:
        """Return what can be seen of the object ``num`` and those beside it, and whether any of it is lit.

        Each comes before its contents. A tree that runs in a circle is cut.
        """
        found: list[GameObject] = []
        is_lit = False
        behind: list[int] = []
        objects = self._objects
        for _ in objects:
            if not num:
                break
            place, states = objects[num]
            node = states[tree[place]]
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
        place, states = self._objects[num]
        return states[tree[place]]

    def _node_of(self, num: int, entry: bytes) -> _Node:
        """Return what an object's entry in the tree says of it."""
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


class _States(dict[bytes, _Node]):
    """The states in which one object was seen, by its entry in the tree; a new one is worked out by ``node_of``."""

    def __init__(self, node_of: Callable[[bytes], _Node]) -> None:
        self._node_of = node_of

    def __missing__(self, entry: bytes) -> _Node:
        if len(self) >= _MOST_STATES:
            self.clear()
        node = self[entry] = self._node_of(entry)
        return node


def _numbers(attributes: Mapping[str, int], *names: str) -> frozenset[int]:
    return frozenset(attributes[name] for name in names if name in attributes)
