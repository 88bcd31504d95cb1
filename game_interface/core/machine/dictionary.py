"""The dictionary and grammar of a story.

The grammar table of an Inform story is at the start of static memory. It has one word for each verb, numbered from 255
downwards, with the address of the verb's lines (Inform Technical Manual §8.6).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

from game_interface.core.machine.story import Story, read_word
from game_interface.core.machine.zstring import TextDecoder

_FIRST_LONG_VERSION = 4
_COMPILER_ADDRESS = 0x3C
_COMPASS = (
    *("north", "south", "east", "west", "northeast", "northwest", "southeast", "southwest"),
    *("up", "down", "in", "out", "fore", "aft", "port", "starboard", "inside", "outside"),
)
_COMPASS_ABBREVIATED = ("n", "s", "e", "w", "ne", "nw", "se", "sw", "u", "d")
_WORD = re.compile(r"[a-z][a-z'-]*")


class DictionaryEntry(NamedTuple):
    """A word of the dictionary: its address, its truncated text, and the bytes after the text, flags first."""

    address: int
    text: str
    marks: bytes


@dataclass(frozen=True, slots=True)
class _Flags:
    """The flags for parts of speech in the byte after a word, for one family of compilers."""

    noun: int
    verb: int
    preposition: int
    direction: int
    meta: int


_INFORM = _Flags(noun=0x80, verb=0x01, preposition=0x08, direction=0, meta=0x02)
_INFOCOM = _Flags(noun=0x80, verb=0x40, preposition=0x08, direction=0x10, meta=0)


@dataclass(frozen=True, slots=True)
class Dictionary:
    """The words of a story in the dictionary's order, truncated to ``letters``.

    directions: untruncated; the words marked as directions, or the known compass words if none are marked
    verbs: verbs without ``session_verbs``
    session_verbs: verbs marked as concerning only the session, such as ``save``
    by_infocom: whether the flags are those of Infocom's compiler
    """

    letters: int
    words: frozenset[str]
    verbs: tuple[str, ...]
    nouns: frozenset[str]
    prepositions: tuple[str, ...]
    directions: tuple[str, ...]
    session_verbs: tuple[str, ...]
    by_infocom: bool

    @classmethod
    def of(cls, story: Story) -> Dictionary:
        """Read the dictionary of ``story``; empty if its table is corrupt."""
        letters = _text_size(story) // 2 * 3
        entries = [(entry.text, entry.marks[0]) for entry in read_entries(story)]
        signed = story.content.startswith(b"6.", _COMPILER_ADDRESS)
        flags = _INFOCOM if not signed and dict(entries).get("take", 0) & _INFOCOM.verb else _INFORM

        def having(bit: int, *, without: int = 0) -> tuple[str, ...]:
            return tuple(text for text, mark in entries if mark & bit and not mark & without)

        marked = having(flags.direction)
        words = frozenset(text for text, _ in entries)
        usual = tuple(word for word in _COMPASS + _COMPASS_ABBREVIATED if word[:letters] in (marked or words))
        known = {word[:letters] for word in usual}
        return cls(
            letters=letters,
            words=frozenset(text for text, _ in entries),
            verbs=having(flags.verb, without=flags.meta),
            nouns=frozenset(having(flags.noun)),
            prepositions=having(flags.preposition),
            directions=usual + tuple(word for word in marked if word not in known),
            session_verbs=having(flags.meta),
            by_infocom=flags is _INFOCOM,
        )

    @property
    def moves(self) -> tuple[str, ...]:
        """Return the directions without their abbreviations."""
        return tuple(word for word in self.directions if word not in _COMPASS_ABBREVIATED)

    def known_words(self, texts: Iterable[str]) -> dict[str, str]:
        """Return the words of ``texts`` that the parser knows, untruncated, keyed by their truncated form."""
        seen: dict[str, str] = {}
        for text in texts:
            for full in _words(text.lower()):
                cut = full[: self.letters]
                if cut in self.words:
                    seen.setdefault(cut, full)
        return seen


def _words(text: str) -> Iterator[str]:
    """Yield the words of ``text``. A hyphenated word is followed by its parts from last (the noun) to first."""
    for found in _WORD.findall(text):
        yield found
        if "-" in found:
            yield from reversed(found.split("-"))


def read_entries(story: Story) -> Iterator[DictionaryEntry]:
    """Yield the words of the dictionary in order; none if the table is corrupt."""
    content, size = story.content, _text_size(story)
    at = story.dictionary + 1 + content[story.dictionary]
    if at + 3 >= len(content):
        return
    length, count = content[at], abs(int.from_bytes(content[at + 1 : at + 3], "big", signed=True))
    text = TextDecoder(story)
    at += 3
    if length <= size:
        return
    for entry in range(at, min(at + count * length, len(content) - length), length):
        yield DictionaryEntry(entry, text.decode(entry, size).rstrip(), content[entry + size : entry + length])


def _text_size(story: Story) -> int:
    """Return the size of an encoded word in bytes."""
    return 6 if story.version >= _FIRST_LONG_VERSION else 4


_VERB = 0x01
_HIGHEST_VERB = 255
_OLD_LINE = 8
"""Bytes of a line in format 1: the number of tokens, six tokens, the action."""
_OLD_FREE = frozenset({7, 8, *range(48, 112)})
"""Special, number, and tokens whose parsing or scope is up to a routine of the story."""
_NEW_TOKEN, _NEW_LINE_END = 3, b"\x0f"
_NEW_ELEMENTARY, _NEW_FREE = 1, frozenset({5, 6})
_NEW_FIRST_FREE_ELEMENTARY = 7
"""Special, number, topic; lower numbers are kinds of objects in scope."""


class _Lines(NamedTuple):
    """The lines of one verb: whether any accepts words for objects out of scope, and the address after the last."""

    free: bool
    end: int


def free_verbs(story: Story, entries: Sequence[DictionaryEntry]) -> frozenset[str] | None:
    """Return the verbs that accept words for objects out of scope; ``None`` if there is no grammar table."""
    verbs = [entry for entry in entries if len(entry.marks) > 1 and entry.marks[0] & _VERB]
    numbers = {verb.text: _HIGHEST_VERB - verb.marks[1] for verb in verbs}
    count = 1 + max(numbers.values(), default=0)
    addresses = [read_word(story.content, story.dynamic_size + 2 * number) for number in range(count)]
    if addresses[0] != story.dynamic_size + 2 * count or max(addresses) >= len(story.content):
        return None
    for read in (_new_lines, _old_lines):
        lines = [read(story.content, address) for address in addresses]
        ends = dict(zip(addresses, (each.end for each in lines), strict=True))
        if all(ends[address] == following for address, following in pairwise(sorted(ends))):
            return frozenset(verb for verb, number in numbers.items() if lines[number].free)
    return None


def _new_lines(content: bytes, address: int) -> _Lines:
    at, free = address + 1, False
    for _ in range(content[address]):
        at += 2
        while content[at : at + 1] not in (_NEW_LINE_END, b""):
            kind = content[at] & 0x0F
            free |= kind in _NEW_FREE
            free |= kind == _NEW_ELEMENTARY and read_word(content, at + 1) >= _NEW_FIRST_FREE_ELEMENTARY
            at += _NEW_TOKEN
        at += 1
    return _Lines(free, at)


def _old_lines(content: bytes, address: int) -> _Lines:
    starts = range(address + 1, address + 1 + content[address] * _OLD_LINE, _OLD_LINE)
    free = any(not _OLD_FREE.isdisjoint(content[at + 1 : at + _OLD_LINE - 1]) for at in starts)
    return _Lines(free, starts.stop)


_USED_AT_LEAST = 2
"""Minimum uses of a word; a word that was typed only once is often a typing error."""


def whole_verb(verb: str, letters: int) -> str:
    """Return the most common word for a verb that the dictionary truncates to ``letters``.

    Returns ``verb`` itself if it is shorter or players use no word with that prefix.
    """
    if len(verb) < letters:
        return verb
    usage = _usage()
    words = [word for word in usage if word.startswith(verb) and usage[word] >= _USED_AT_LEAST]
    return max(words, key=usage.__getitem__, default=verb)


@lru_cache(maxsize=1)
def _usage() -> dict[str, int]:
    """Return Jericho's counts of the first words of commands in transcripts of many games."""
    usage: dict[str, int] = json.loads(files("jericho").joinpath("clubfloyd_verb_counts.json").read_text("utf-8"))
    return usage
