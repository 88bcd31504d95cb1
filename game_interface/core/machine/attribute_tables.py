"""The names of object attributes, for stories in which they are certain. They give no hints about a story."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from game_interface.core.machine.story import Story

ZORK_1 = MappingProxyType(
    {
        "touched": 3,
        "invisible": 7,
        "surface": 10,
        "open": 11,
        "transparent": 12,
        "try_take": 13,
        "not_described": 14,
        "readable": 16,
        "takeable": 17,
        "container": 19,
        "lit": 20,
        "door": 23,
        "burnable": 26,
        "weapon": 29,
        "actor": 30,
        "light_source": 31,
    }
)
"""Release 88, serial 840726; derived from changes during play."""

_INFORM_6_ORDER = (
    "animate absent clothing concealed container door edible enterable general lit lockable locked moved on open"
    " openable proper scenery scored static surface switchable talkable transparent touched workflag worn"
    " male female neuter plural"
)
INFORM_6 = MappingProxyType({name: number for number, name in enumerate(_INFORM_6_ORDER.split())})
"""The Inform 6 library, 6/5 to 6/12, in the order of its declarations (linklpa.h).

Three names are those of the other table: light is ``lit``, supporter is ``surface``, visited is ``touched``.
"""

_INFORM_5_ORDER = (
    _INFORM_6_ORDER.replace(" absent", "")
    .replace("enterable", "enterable female")
    .removesuffix(" male female neuter plural")
)
INFORM_5 = MappingProxyType({name: number for number, name in enumerate(_INFORM_5_ORDER.split())})
"""The Inform library 5/12 to 6/2. It uses one attribute for women and for things that are absent."""

_INFORM_7_ORDER = (
    _INFORM_6_ORDER.partition(" male")[0]
    .replace("animate absent", "absent animate")
    .replace(" general", "")
    .replace(" proper", "")
    .replace(" scored", "")
    .replace(" workflag", "")
)
INFORM_7 = MappingProxyType({name: number for number, name in enumerate(_INFORM_7_ORDER.split())})
"""Inform 7, builds 5T to 5Z; derived from objects of three stories. What comes after ``worn`` is not known."""

_ZORK_1_MD5 = "b732a93a6244ddd92a9b9a3e3a46c687"
_BANNERS = (
    (re.compile(r"Inform v?6\.\d+ Library v?6[./](?:[5-9]|1[0-2])\b"), INFORM_6),
    (re.compile(r"Inform v?(?:6\.\d+|1[56]\d\d) Library (?:5/12|6/[12])\b"), INFORM_5),
    (re.compile(r"Inform 7 build 5[T-Z]\d\d \(I6/v6\.\d+ lib 6/1[12]N\)"), INFORM_7),
)
_PLAYER_OF_INFORM = ("animate", "concealed", "proper", "transparent")
_ATTRIBUTES = 48
"""Attributes of an object from version 4 on (Z-Machine Standard 1.1 §12.3)."""
PLAYERS_NAME = "(self object)"
"""The name of the object that the Inform 6 library declares for the player."""


def attribute_table(story: Story, opening: str, player: frozenset[int]) -> Mapping[str, int]:
    """Return the numbers of ``story``'s attributes by name; empty unless they are certain.

    Inform's library is recognised by its banner in the ``opening`` text. A story's own earlier declarations shift all
    its numbers equally. The shift is certain if the ``player`` has the attributes that the library gives it at one
    distance only.
    """
    if story.md5 == _ZORK_1_MD5:
        return ZORK_1
    for banner, table in _BANNERS:
        given = [table[name] for name in _PLAYER_OF_INFORM if name in table]
        free = _ATTRIBUTES - len(table)
        shifts = [shift for shift in range(free + 1) if player.issuperset(number + shift for number in given)]
        if banner.search(opening) and len(shifts) == 1:
            return MappingProxyType({name: number + shifts[0] for name, number in table.items()})
    return MappingProxyType({})


def numbers_of(table: Mapping[str, int], names: Iterable[str]) -> frozenset[int]:
    """Return the numbers of those ``names`` that ``table`` contains."""
    return frozenset(table[name] for name in names if name in table)


def named_attributes(table: Mapping[str, int], attributes: frozenset[int]) -> dict[str, bool]:
    """Return for each name of ``table`` whether it is among ``attributes``, together with derived attributes.

    ``openable`` and ``takeable`` are always present. If the story has no such attributes, containers and doors are
    openable, and objects that are not static, scenery, animate or doors are takeable.
    """
    found = {name: number in attributes for name, number in table.items()}
    found.setdefault("openable", found.get("container", False) or found.get("door", False))
    fixed = any(found.get(name, False) for name in ("static", "scenery", "animate", "door"))
    found.setdefault("takeable", not fixed)
    return found
