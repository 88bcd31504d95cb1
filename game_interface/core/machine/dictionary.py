"""Reads the words that a story's parser knows (Z-Machine Standard 1.1 §13)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from game_interface.core.machine.zstring import TextDecoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from game_interface.core.machine.story import Story

_FIRST_LONG_VERSION = 4
_COMPILER_ADDRESS = 0x3C
_COMPASS = (
    *("north", "south", "east", "west", "northeast", "northwest", "southeast", "southwest"),
    *("up", "down", "in", "out", "fore", "aft", "port", "starboard", "inside", "outside"),
)
_COMPASS_ABBREVIATED = ("n", "s", "e", "w", "ne", "nw", "se", "sw", "u", "d")
_WORD = re.compile(r"[a-z][a-z'-]*")


class DictionaryEntry(NamedTuple):
    """A word of the dictionary: its address, its text as the story cuts it, and the bytes behind that, flags first."""

    address: int
    text: str
    marks: bytes


@dataclass(frozen=True, slots=True)
class _Flags:
    """The bits with which one family of compilers marks parts of speech, in the byte behind a word."""

    noun: int
    verb: int
    preposition: int
    direction: int
    meta: int


_INFORM = _Flags(noun=0x80, verb=0x01, preposition=0x08, direction=0, meta=0x02)
_INFOCOM = _Flags(noun=0x80, verb=0x40, preposition=0x08, direction=0x10, meta=0)


@dataclass(frozen=True, slots=True)
class Dictionary:
    """The words of a story in the dictionary's order, cut to ``letters``.

    directions: in full: the words that are marked as directions, or where none is, the usual ones that the parser knows
    verbs: without those that only concern the session, where these are marked
    session_verbs: verbs that only concern the session, like those that save it
    by_infocom: whether the words are marked in Infocom's way
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
        """Read the dictionary of ``story``; it is empty where its table is corrupt."""
        letters = _text_size(story) // 2 * 3
        entries = [(entry.text, entry.marks[0]) for entry in read_entries(story)]
        flags = _flags(story, dict(entries))

        def having(bit: int, *, without: int = 0) -> tuple[str, ...]:
            return tuple(text for text, mark in entries if mark & bit and not mark & without)

        return cls(
            letters=letters,
            words=frozenset(text for text, _ in entries),
            verbs=having(flags.verb, without=flags.meta),
            nouns=frozenset(having(flags.noun)),
            prepositions=having(flags.preposition),
            directions=_directions(having(flags.direction), frozenset(text for text, _ in entries), letters),
            session_verbs=having(flags.meta),
            by_infocom=flags is _INFOCOM,
        )

    @property
    def moves(self) -> tuple[str, ...]:
        """Return the directions without their abbreviations."""
        return tuple(word for word in self.directions if word not in _COMPASS_ABBREVIATED)

    def known_words(self, texts: Iterable[str]) -> dict[str, str]:
        """Return the words of ``texts`` that the parser knows: in full as first seen, by the dictionary's form."""
        seen: dict[str, str] = {}
        for text in texts:
            for full in _words(text.lower()):
                cut = full[: self.letters]
                if cut in self.words:
                    seen.setdefault(cut, full)
        return seen


def _words(text: str) -> Iterator[str]:
    """Yield the words of ``text``: one with a hyphen whole, then its parts from the last, which names the thing."""
    for found in _WORD.findall(text):
        yield found
        if "-" in found:
            yield from reversed(found.split("-"))


def _directions(marked: tuple[str, ...], words: frozenset[str], letters: int) -> tuple[str, ...]:
    usual = tuple(word for word in _COMPASS + _COMPASS_ABBREVIATED if word[:letters] in (marked or words))
    known = {word[:letters] for word in usual}
    return usual + tuple(word for word in marked if word not in known)


def _flags(story: Story, marks: dict[str, int]) -> _Flags:
    """Tell the family of compilers: Inform 6 and 7 sign the header, the others differ in how they mark a verb."""
    signed = story.content.startswith(b"6.", _COMPILER_ADDRESS)
    return _INFOCOM if not signed and marks.get("take", 0) & _INFOCOM.verb else _INFORM


def read_entries(story: Story) -> Iterator[DictionaryEntry]:
    """Yield every word of the dictionary in its order; none where the table is corrupt."""
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
    """Return how many bytes the text of a word takes."""
    return 6 if story.version >= _FIRST_LONG_VERSION else 4
