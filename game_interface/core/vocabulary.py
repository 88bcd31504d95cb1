"""What a story's own tables say about words: what they are for, and which objects answer to them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from game_interface.core.dictionary import Dictionary, read_entries
from game_interface.core.grammar import free_verbs
from game_interface.core.object_table import ObjectTable
from game_interface.core.zstring import word
from session.vocabulary import ParserFamily, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from game_interface.core.story import Story

_INFORM_NAMES = 1
"""The number of Inform's property of names; Infocom's differs from story to story."""


def read_vocabulary(story: Story) -> Vocabulary:
    """The vocabulary of ``story``, without objects where its tables are in no known format."""
    dictionary, entries = Dictionary.of(story), list(read_entries(story))
    table = ObjectTable(story)
    properties = {num: table.properties(num) for num in range(1, table.count + 1)}
    texts = {entry.address: entry.text for entry in entries}
    free = free_verbs(story, entries)
    names = _property_of_names(properties, texts)
    family: ParserFamily = "unknown"
    if names == _INFORM_NAMES and free is not None:
        family = "inform"
    elif names and dictionary.by_infocom:
        family = "infocom"
    return Vocabulary(
        letters=dictionary.letters,
        words=dictionary.words,
        verbs=frozenset(dictionary.verbs + dictionary.session_verbs),
        free_verbs=free or frozenset(),
        nouns=dictionary.nouns,
        prepositions=frozenset(dictionary.prepositions),
        directions=frozenset(direction[: dictionary.letters] for direction in dictionary.directions),
        objects={} if family == "unknown" else _objects(properties, texts),
        family=family,
    )


def _property_of_names(properties: Mapping[int, Mapping[int, bytes]], texts: Mapping[int, str]) -> int | None:
    """The property that names objects, by evidence: most have it, and each of its values is a list of words."""
    users = Counter(number for values in properties.values() for number in values)
    others = {
        number
        for values in properties.values()
        for number, value in values.items()
        if len(value) % 2 or not all(address in texts for address in _addresses(value))
    }
    return next((number for number, _ in users.most_common() if number not in others), None)


def _objects(properties: Mapping[int, Mapping[int, bytes]], texts: Mapping[int, str]) -> dict[str, tuple[int, ...]]:
    """The objects that hold each word in any property, since a room can have words for things that are no objects."""
    holders: dict[str, dict[int, None]] = {}
    for num, values in properties.items():
        for value in values.values():
            for address in _addresses(value):
                if address in texts:
                    holders.setdefault(texts[address], {})[num] = None
    return {text: tuple(nums) for text, nums in holders.items()}


def _addresses(value: bytes) -> list[int]:
    return [word(value, at) for at in range(0, len(value) - 1, 2)]
