"""Reads a story's vocabulary from its tables: dictionary, grammar, and the objects named by each word.

The grammar table of an Inform story is at the start of static memory. It has one word for each verb, numbered from 255
downwards, with the address of the verb's lines (Inform Technical Manual §8.6).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from game_interface.core.commands import DICTIONARY_LETTERS
from game_interface.core.machine.attribute_tables import PLAYERS_NAME
from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.story import Story, TextDecoder, read_word
from session.commands import DIRECTIONS, ParserFamily, Vocabulary

_FIRST_LONG_VERSION = 4
_COMPASS = (
    *DIRECTIONS.values(),
    *("in", "out", "fore", "aft", "port", "starboard", "inside", "outside"),
)
_WORD = re.compile(r"[a-z][a-z'-]*")


class DictionaryEntry(NamedTuple):
    """A word of the dictionary: its address, its truncated text, and the bytes after the text, flags first."""

    address: int
    text: str
    marks: bytes


_NOUN, _PREPOSITION_WORD = 0x80, 0x08
"""Flags for parts of speech in the byte after a word."""
_VERB, _META = 0x01, 0x02
"""More such flags, of Inform's compilers."""
_INFOCOM_VERB, _DIRECTION = 0x40, 0x10
"""More such flags, of Infocom's compiler."""


@dataclass(frozen=True, slots=True)
class Dictionary:
    """The words of a story in the dictionary's order, truncated to ``letters``.

    directions: untruncated; the words marked as directions, or the known compass words if none are marked
    moves: the directions without their abbreviations
    verbs: verbs without ``session_verbs``
    session_verbs: verbs marked as concerning only the session, such as ``save``
    by_infocom: whether the flags are those of Infocom's compiler
    accented: the letters beyond ASCII in the words
    """

    letters: int
    words: frozenset[str]
    verbs: tuple[str, ...]
    nouns: frozenset[str]
    prepositions: tuple[str, ...]
    directions: tuple[str, ...]
    moves: tuple[str, ...]
    session_verbs: tuple[str, ...]
    by_infocom: bool
    accented: frozenset[str]

    @classmethod
    def of(cls, story: Story) -> Dictionary:
        """Read the dictionary of ``story``; empty if its table is corrupt."""
        letters = 9 if story.version >= _FIRST_LONG_VERSION else 6
        entries = [(entry.text, entry.marks[0]) for entry in read_entries(story)]
        by_infocom = not story.by_inform_6 and bool(dict(entries).get("take", 0) & _INFOCOM_VERB)

        def having(bit: int, *, without: int = 0) -> tuple[str, ...]:
            return tuple(text for text, mark in entries if mark & bit and not mark & without)

        marked = having(_DIRECTION) if by_infocom else ()
        words = frozenset(text for text, _ in entries)
        usual = tuple(word for word in (*_COMPASS, *DIRECTIONS) if word[:letters] in (marked or words))
        known = {word[:letters] for word in usual}
        directions = usual + tuple(word for word in marked if word not in known)
        return cls(
            letters=letters,
            words=words,
            verbs=having(_INFOCOM_VERB) if by_infocom else having(_VERB, without=_META),
            nouns=frozenset(having(_NOUN)),
            prepositions=having(_PREPOSITION_WORD),
            directions=directions,
            moves=tuple(word for word in directions if word not in DIRECTIONS),
            session_verbs=() if by_infocom else having(_META),
            by_infocom=by_infocom,
            accented=frozenset(letter for word in words if not word.isascii() for letter in word if letter > "\x7f"),
        )

    def known_words(self, texts: Iterable[str]) -> dict[str, str]:
        """Return the words of ``texts`` that the parser knows, untruncated, keyed by their truncated form.

        A hyphenated word is followed by its parts from last (the noun) to first.
        """
        seen: dict[str, str] = {}
        for found in (found for text in texts for found in _WORD.findall(text.lower())):
            for full in (found, *reversed(found.split("-"))):
                if full[: self.letters] in self.words:
                    seen.setdefault(full[: self.letters], full)
        return seen


@lru_cache(maxsize=4)  # opening a story reads them four times
def read_entries(story: Story) -> tuple[DictionaryEntry, ...]:
    """Return the words of the dictionary in order; none if the table is corrupt."""
    content, text = story.content, TextDecoder(story)
    size = 6 if story.version >= _FIRST_LONG_VERSION else 4
    at = story.dictionary + 1 + content[story.dictionary]
    length = content[at] if at + 3 < len(content) else 0
    if length <= size:
        return ()
    count = abs(int.from_bytes(content[at + 1 : at + 3], "big", signed=True))
    at += 3
    return tuple(
        DictionaryEntry(entry, text.decode(entry, size).rstrip(), content[entry + size : entry + length])
        for entry in range(at, min(at + count * length, len(content) - length), length)
    )


_HIGHEST_VERB = 255
_OLD_LINE = 8
"""Bytes of a line in format 1: the number of tokens, six tokens, the action."""
_OLD_FREE = frozenset({7, 8, *range(48, 112)})
"""Special, number, and tokens whose parsing or scope is up to a routine of the story."""
_NEW_TOKEN, _NEW_LINE_END = 3, b"\x0f"
_NEW_ELEMENTARY, _NEW_FREE = 1, frozenset({5, 6})
_NEW_FIRST_FREE_ELEMENTARY = 7
"""Special, number, topic; lower numbers are kinds of objects in scope."""


def free_verbs(story: Story, entries: Sequence[DictionaryEntry]) -> frozenset[str] | None:
    """Return the verbs that accept words for objects out of scope; ``None`` without a grammar table."""
    verbs = [entry for entry in entries if len(entry.marks) > 1 and entry.marks[0] & _VERB]
    numbers = {verb.text: _HIGHEST_VERB - verb.marks[1] for verb in verbs}
    count = 1 + max(numbers.values(), default=0)
    addresses = [read_word(story.content, story.dynamic_size + 2 * number) for number in range(count)]
    if addresses[0] != story.dynamic_size + 2 * count or max(addresses) >= len(story.content):
        return None
    for read in (_new_lines, _old_lines):
        lines = [read(story.content, address) for address in addresses]
        ends = dict(zip(addresses, (end for _, end in lines), strict=True))
        if all(ends[address] == following for address, following in pairwise(sorted(ends))):
            return frozenset(verb for verb, number in numbers.items() if lines[number][0])
    return None


def _new_lines(content: bytes, address: int) -> tuple[bool, int]:
    """Read a verb's lines in format 2: return whether any accepts words for objects out of scope, and their end."""
    at, free = address + 1, False
    for _ in range(content[address]):
        at += 2
        while content[at : at + 1] not in (_NEW_LINE_END, b""):
            kind = content[at] & 0x0F
            free |= kind in _NEW_FREE
            free |= kind == _NEW_ELEMENTARY and read_word(content, at + 1) >= _NEW_FIRST_FREE_ELEMENTARY
            at += _NEW_TOKEN
        at += 1
    return free, at


def _old_lines(content: bytes, address: int) -> tuple[bool, int]:
    """Read a verb's lines in format 1."""
    starts = range(address + 1, address + 1 + content[address] * _OLD_LINE, _OLD_LINE)
    return any(not _OLD_FREE.isdisjoint(content[at + 1 : at + _OLD_LINE - 1]) for at in starts), starts.stop


_VERB_FIRST = 1
_OBJECTS, _PREPOSITION, _SOUGHT, _PLACE = 0, 1, 3, 5
"""The bytes of a line of Infocom's grammar that concern its first object."""
_PLACES = 0xF0
"""Held, carried, on the ground, in the room: the places in which the parser looks for an object."""
_MOST_OBJECTS = 2
_TO_PEOPLE = ("ask", "awake", "greet", "hello", "kiss", "talk", "tell", "thank", "wake")
_HANDLING = (
    *("attack", "break", "burn", "clean", "climb", "close", "cut", "drink", "drop", "eat", "empty", "examine"),
    *("fill", "get", "insert", "kick", "lift", "lock", "lower", "move", "open", "press", "pull", "push"),
    *("put", "raise", "read", "remove", "rub", "search", "shake", "shut", "take", "throw", "tie", "touch"),
    *("turn", "unlock", "wear", "x"),
)
"""English verbs that touch a thing or look at it closely."""


def infocom_lines(story: Story, entries: Sequence[DictionaryEntry]) -> dict[str, list[bytes]]:
    """Return each verb's lines of the grammar of Infocom's compiler; empty if the table has another format."""
    content, lines = story.content, dict[str, list[bytes]]()
    for text, marks in ((entry.text, entry.marks) for entry in entries if entry.marks[0] & _INFOCOM_VERB):
        number = (*marks[1:], 0, 0)[0 if marks[0] & 3 == _VERB_FIRST else 1]
        at = read_word(content, story.dynamic_size + 2 * (_HIGHEST_VERB - number))
        count = content[at] if story.dynamic_size < at < len(content) else 0
        lines[text] = [content[start : start + _OLD_LINE] for start in range(at + 1, at + count * _OLD_LINE, _OLD_LINE)]
        if not count or any(len(line) < _OLD_LINE or line[_OBJECTS] > _MOST_OBJECTS for line in lines[text]):
            return {}
    return lines


_INFORM_NAMES = 1
"""The number of Inform's name property; Infocom's number differs from story to story."""
_YOURSELF = "yourself"
_SELF = frozenset({_YOURSELF, PLAYERS_NAME})
"""The names of the player in Inform's library."""
_WORD_SIZE = 2
_LONGEST_NAME = 60  # bytes
_NAME = re.compile(r"[\w'-]+(?: [\w'-]+)*")
_LEAST_SHARE = 0.4
_SMALL_WORDS = frozenset({"", "a", "an", "can't", "for", "his", "her", "my", "of", "the", "you", "your"})

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


@lru_cache(maxsize=4)
def read_vocabulary(story: Story) -> Vocabulary:
    """Read the vocabulary of ``story``; without objects if the format of its tables is unknown."""
    dictionary, entries = Dictionary.of(story), read_entries(story)
    table = ObjectTable(story)
    properties = {num: table.properties(num) for num in range(1, table.count + 1)}
    texts = {entry.address: entry.text for entry in entries}
    compared = _compared_words(story, properties, texts)
    free = free_verbs(story, entries)
    lines = infocom_lines(story, entries) if free is None else {}
    names = _property_of_names(properties, texts)
    family: ParserFamily = "unknown"
    if names == _INFORM_NAMES and free is not None:
        family = "inform"
    elif names and dictionary.by_infocom:
        family = "infocom"
    listed: dict[int, list[str]] = {}
    mentioned: dict[int, list[str]] = {}
    for num, values in properties.items():
        listed[num] = [texts[each] for each in _addresses(values.get(names or 0, b"")) if each in texts]
        addresses = [each for value in values.values() for each in _addresses(value)]
        mentioned[num] = [text for each in addresses for text in (texts.get(each), *compared.get(each, ())) if text]
    objects = _by_word(listed)
    living = _living_by_grammar(lines) if free is None else _living_by_player(story, table, objects)
    return Vocabulary(
        letters=dictionary.letters,
        words=dictionary.words,
        verbs=frozenset(dictionary.verbs + dictionary.session_verbs),
        free_verbs=dictionary.words.intersection(verb[: dictionary.letters] for verb in _TOPIC_VERBS)
        if free is None
        else free,
        near_verbs=_near_verbs(dictionary, lines) if free is None else frozenset(dictionary.verbs) - free,
        nouns=dictionary.nouns,
        prepositions=frozenset(dictionary.prepositions),
        directions=frozenset(direction[: dictionary.letters] for direction in dictionary.directions),
        objects={} if family == "unknown" else objects,
        mentions=_by_word(mentioned),
        animate=frozenset(num for num in properties if living in table.entry(story.content, num).attributes),
        family=family,
    )


def _near_verbs(dictionary: Dictionary, lines: Mapping[str, Sequence[bytes]]) -> frozenset[str]:
    """Return the verbs of Infocom that touch a thing, by English or by the places in which the parser looks for it."""
    return frozenset(
        verb
        for verb in dictionary.verbs
        if verb in {each[: dictionary.letters] for each in _HANDLING}
        or any(line[_OBJECTS] and not line[_PREPOSITION] and line[_PLACE] & _PLACES for line in lines.get(verb, ()))
    )


def _living_by_grammar(lines: Mapping[str, Sequence[bytes]]) -> int | None:
    """Return the attribute of living things: the one by which Infocom's parser completes "tell" or "wake"."""
    sought = Counter(line[_SOUGHT] for verb in _TO_PEOPLE for line in lines.get(verb, ()) if line[_SOUGHT])
    return sought.most_common(1)[0][0] if sought else None


def _living_by_player(story: Story, table: ObjectTable, objects: Mapping[str, Sequence[int]]) -> int | None:
    """Return the attribute of living things: the first of the player's, as Inform's library declares them."""
    selves = [num for num in range(1, table.count + 1) if table.name(num) in _SELF] or objects.get(_YOURSELF, ())
    return min(table.entry(story.content, selves[0]).attributes, default=None) if selves else None


def names_of_things(story: Story, table: ObjectTable) -> tuple[dict[int, str], dict[int, tuple[str, ...]]]:
    """Return the short name of each object; without one, the text that Inform's library prints instead.

    If that is printed by a routine, the name is empty, and the second mapping has the words by which the parser knows
    the object.
    """
    names, unnamed = {num: table.name(num) for num in range(1, table.count + 1)}, dict[int, tuple[str, ...]]()
    if not all(names.values()) and not Dictionary.of(story).by_infocom:
        texts = {entry.address: entry.text for entry in read_entries(story)}
        properties = {num: table.properties(num) for num in names}
        words: dict[int, list[str]] = {}
        for num, values in properties.items():
            addresses = _addresses(values.get(_INFORM_NAMES, b""))
            known = texts.keys() >= {*addresses}
            words[num] = [each for at in addresses if (each := texts[at]) not in _SMALL_WORDS] if known else []
        printed = _printed_names(story, properties, words)
        for num in (num for num, name in names.items() if not name):
            names[num] = printed.get(num, "")
        unnamed = {num: tuple(dict.fromkeys(words[num])) for num, name in names.items() if not name and words[num]}
    return names, unnamed


def _printed_names(
    story: Story, properties: Mapping[int, Mapping[int, bytes]], words: Mapping[int, Sequence[str]]
) -> dict[int, str]:
    """Return the names of objects in the property with which Inform's library prints them instead of the short name.

    Its number differs between libraries. It is the property whose values are most often short texts with one of the
    words by which the parser knows the object; most other properties contain longer texts or routines.
    """
    texts, unit = TextDecoder(story), _PACKING.get(story.version, 0)
    found: dict[int, dict[int, str]] = {}
    fitting, users = Counter[int](), Counter[int]()
    for num, values in properties.items():
        for number, value in values.items():
            address = read_word(value, 0) * unit
            if number == _INFORM_NAMES or len(value) != _WORD_SIZE or not story.dynamic_size < address:
                continue
            users[number] += 1
            text = texts.decode(address, _LONGEST_NAME)
            if _NAME.fullmatch(text):
                found.setdefault(number, {})[num] = text
                fitting[number] += any(word[:DICTIONARY_LETTERS] in words[num] for word in text.lower().split())
    best = max(found, key=lambda number: fitting[number], default=0)
    return found[best] if fitting[best] > _LEAST_SHARE * users[best] else {}


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


def _compared_words(
    story: Story, properties: Mapping[int, Mapping[int, bytes]], texts: Mapping[int, str]
) -> dict[int, frozenset[str]]:
    """Return the words that the routines named by properties compare with, by the routine's packed address.

    An object of Inform may parse its name in a routine. The words are operands of long ``je`` instructions.
    """
    content, unit = story.content, _PACKING.get(story.version, 0)
    packed = {each for values in properties.values() for value in values.values() for each in _addresses(value)}
    starts = sorted(each * unit for each in packed if story.dynamic_size < each * unit < len(content))
    compared: dict[int, frozenset[str]] = {}
    for start, following in pairwise([*starts, len(content)]):
        end, found = min(following, start + _LONGEST_ROUTINE), set[str]()
        at = content.find(_JE, start, end)
        while at != -1:
            found |= {texts[each] for each in _large_constants(content, at + 1) if each in texts}
            at = content.find(_JE, at + 1, end)
        compared[start // unit] = frozenset(found)
    return compared


def _large_constants(content: bytes, types: int) -> Iterator[int]:
    """Yield the large constants among the operands with types at ``types`` (Z-Machine Standard 1.1 §4.4)."""
    kinds, at = content[types : types + 1].hex(), types + 1
    for kind in (int(kinds or "ff", 16) >> shift & 3 for shift in (6, 4, 2, 0)):
        if kind == _OMITTED:
            return
        if kind == _LARGE:
            yield read_word(content, at)
        at += 2 if kind == _LARGE else 1
