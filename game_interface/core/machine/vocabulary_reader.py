"""Reads a story's vocabulary from its tables: parts of speech, and the objects named by each word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from game_interface.core.machine.dictionary import Dictionary, free_verbs, read_entries
from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.story import Story, read_word
from session.commands import ParserFamily, Vocabulary

_INFORM_NAMES = 1
"""The number of Inform's name property; Infocom's number differs from story to story."""

_TOPIC_VERBS = (
    *("answer", "ask", "call", "consult", "discuss", "find", "follow", "go", "locate", "name", "phone", "remember"),
    *("reply", "say", "seek", "show", "talk", "telephone", "tell", "think", "walk", "what", "whats", "when", "where"),
    *("wheres", "who", "whos", "why", "write"),
)
"""Verbs of speech, thought, search and distant places, for stories without a readable grammar table."""
_PACKING = {4: 4, 5: 4, 8: 8}
"""Bytes per unit of a routine's packed address, in the versions that Inform compiles to."""
_LONGEST_ROUTINE = 2000
"""Bytes. Reading into the next routine gives an object too many words, which only makes checks more cautious."""
_JE = 0xC1
_LARGE, _OMITTED = 0, 3  # types of operands


def read_vocabulary(story: Story) -> Vocabulary:
    """Read the vocabulary of ``story``; without objects if the format of its tables is unknown."""
    dictionary, entries = Dictionary.of(story), list(read_entries(story))
    table = ObjectTable(story)
    properties = {num: table.properties(num) for num in range(1, table.count + 1)}
    texts = {entry.address: entry.text for entry in entries}
    reader = _WordReader(story, properties, texts)
    free = free_verbs(story, entries)
    names = _property_of_names(properties, texts)
    named = {num: values.get(names or 0, b"") for num, values in properties.items()}
    family: ParserFamily = "unknown"
    if names == _INFORM_NAMES and free is not None:
        family = "inform"
    elif names and dictionary.by_infocom:
        family = "infocom"
    return Vocabulary(
        letters=dictionary.letters,
        words=dictionary.words,
        verbs=frozenset(dictionary.verbs + dictionary.session_verbs),
        free_verbs=dictionary.words.intersection(verb[: dictionary.letters] for verb in _TOPIC_VERBS)
        if free is None
        else free,
        nouns=dictionary.nouns,
        prepositions=frozenset(dictionary.prepositions),
        directions=frozenset(direction[: dictionary.letters] for direction in dictionary.directions),
        objects={} if family == "unknown" else _by_word({num: reader.listed(value) for num, value in named.items()}),
        mentions=_by_word({num: reader.mentioned(values.values()) for num, values in properties.items()}),
        family=family,
    )


def _property_of_names(properties: Mapping[int, Mapping[int, bytes]], texts: Mapping[int, str]) -> int | None:
    """Return the most common property whose values are all lists of words; ``None`` if there is none."""
    users = Counter(number for values in properties.values() for number in values)
    others = {
        number
        for values in properties.values()
        for number, value in values.items()
        if len(value) % 2 or not all(address in texts for address in _addresses(value))
    }
    return next((number for number, _ in users.most_common() if number not in others), None)


def _by_word(words: Mapping[int, Iterable[str]]) -> dict[str, tuple[int, ...]]:
    """Return the objects of each word, given the words of each object."""
    objects: dict[str, dict[int, None]] = {}
    for num, texts in words.items():
        for text in texts:
            objects.setdefault(text, {})[num] = None
    return {text: tuple(nums) for text, nums in objects.items()}


def _addresses(value: bytes) -> list[int]:
    return [read_word(value, at) for at in range(0, len(value) - 1, 2)]


class _WordReader:
    """Finds the words that a property lists, and the words that an object's routines compare with.

    A room may list words for things without an object of their own. An object of Inform may parse its name in a
    routine.
    """

    def __init__(self, story: Story, properties: Mapping[int, Mapping[int, bytes]], texts: Mapping[int, str]) -> None:
        self._content, self._texts = story.content, texts
        unit = _PACKING.get(story.version, 0)
        self._compared: dict[int, frozenset[str]] = {}
        packed = {each for values in properties.values() for value in values.values() for each in _addresses(value)}
        starts = sorted(each * unit for each in packed if story.dynamic_size < each * unit < len(story.content))
        for start, following in pairwise([*starts, len(story.content)]):
            end = min(following, start + _LONGEST_ROUTINE)
            self._compared[start // unit] = frozenset(self._compared_words(start, end))

    def listed(self, value: bytes) -> Iterator[str]:
        """Yield the words whose addresses are in the ``value`` of a property."""
        return (self._texts[address] for address in _addresses(value) if address in self._texts)

    def mentioned(self, values: Iterable[bytes]) -> Iterator[str]:
        """Yield all words that the ``values`` list, and those that routines at these addresses compare with."""
        for value in values:
            yield from self.listed(value)
            for address in _addresses(value):
                yield from self._compared.get(address, ())

    def _compared_words(self, start: int, end: int) -> Iterator[str]:
        """Yield the dictionary words in the operands of long ``je`` instructions from ``start`` to ``end``."""
        at = self._content.find(_JE, start, end)
        while at != -1:
            yield from (self._texts[each] for each in self._large_constants(at + 1) if each in self._texts)
            at = self._content.find(_JE, at + 1, end)

    def _large_constants(self, types: int) -> Iterator[int]:
        """Yield the large constants among the operands with types at ``types`` (Z-Machine Standard 1.1 §4.4)."""
        kinds, at = self._content[types : types + 1].hex(), types + 1
        for kind in (int(kinds or "ff", 16) >> shift & 3 for shift in (6, 4, 2, 0)):
            if kind == _OMITTED:
                return
            if kind == _LARGE:
                yield read_word(self._content, at)
            at += 2 if kind == _LARGE else 1
