"""Lists visible and carried objects from the object tree for prompts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from session.game_state import GameState
from session.values import GameObject, Observation

NOT_LISTED = ("not_described", "scenery")
"""Attributes of objects that the story describes within the description of a room, if at all."""

MARKED = ("worn", "lit")
"""Attributes that are shown with the name of a carried object."""

_WORD = re.compile(r"\w+")


def scenery_of(attribute_names: Mapping[str, int]) -> frozenset[int]:
    """Return the numbers of the attributes of unlisted objects; empty if they are not known."""
    return frozenset(attribute_names[name] for name in NOT_LISTED if name in attribute_names)


class ThingsHere:
    """Lists visible objects. A name that was never printed in the episode would be a hint and is left out.

    If the story has printed only the last word of a name, such as "man", that word is listed.

    attribute_names: the numbers of the story's attributes by name; empty if they are not known
    """

    def __init__(self, attribute_names: Mapping[str, int] = MappingProxyType({})) -> None:
        self._not_listed = scenery_of(attribute_names)
        self._marks = {attribute_names[name]: name for name in MARKED if name in attribute_names}
        self.reset()

    def reset(self) -> None:
        """Begin an episode, in which nothing has been printed yet."""
        self._printed: list[str] = []
        self._searched: dict[str, int] = {}
        self._named: set[str] = set()

    def text(self, observation: Observation, state: GameState) -> str:
        """Return the names of the visible objects, without repetition; "" if there are none or they are not known."""
        if not self._printed:
            self._printed.append(_words(state.opening))
        self._printed += [_words(response) for _, response in state.action_history[len(self._printed) - 1 :]]
        in_sight = (thing for thing in observation.visible or () if not thing.attributes & self._not_listed)
        return ", ".join(filter(None, dict.fromkeys(self._printed_name(thing.name) for thing in in_sight)))

    def carried(self, inventory: Iterable[GameObject]) -> str:
        """Return the names of the carried objects, with "(worn)" or "(lit)" if the attributes are known."""
        labels = []
        for thing in inventory:
            marks = (f" ({mark})" for number, mark in self._marks.items() if number in thing.attributes)
            labels.append("".join((thing.name or f"object #{thing.num}", *marks)))
        return ", ".join(labels)

    def _printed_name(self, name: str) -> str:
        """Return the name or its last word if the story has printed it, otherwise ""."""
        return next((told for told in (name, *name.split()[-1:]) if self._was_printed(told)), "")

    def _was_printed(self, name: str) -> bool:
        """Return whether the story has printed the name. Searches each text only once."""
        words = _words(name)
        if words not in self._named:
            unread = self._printed[self._searched.get(words, 0) :]
            self._searched[words] = len(self._printed)
            if not words.strip() or not any(words in text for text in unread):
                return False
            self._named.add(words)
        return True


def _words(text: str) -> str:
    """Return the words of a text, surrounded by single spaces, so that only whole words match."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "
