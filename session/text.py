"""Small helpers for text that a model or a person reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

CUT_MARK = " […]"
SHORTEST_WITH_END = 60
"""Characters: of less room the beginning alone gets all."""

_PADDING = re.compile(r"[ \t]{3,}")
_SENTENCE_END = re.compile(r"[.!?…:][\"'\u2019\u201d)\]]*(?=\s)|(?=\n)")
_WORD_END = re.compile(r"(?=\s)")


def one_line(text: str) -> str:
    """Return the text on one line: each run of white space becomes one space, and none is left around it."""
    return " ".join(text.split())


def without_padding(text: str) -> str:
    """Return the text as it is told in a prompt: the blanks with which stories lay out menus become two."""
    return (_PADDING.sub("  ", text) if "  " in text or "\t" in text else text).strip()


def first_line(text: str) -> str:
    """Return the first line that is not blank; in a story's answer the lines below it are often others' doing."""
    return one_line(text.strip().partition("\n")[0])


def text_key(text: str) -> str:
    """Return a key that is equal for two texts with the same words, whatever their case and white space."""
    return one_line(text).casefold()


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return the number with its noun, which gets an "s" unless the number is 1: "1 turn", "2 turns".

    plural: the noun of several, where it is another: "memories"
    """
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def cut_at(text: str, characters: int, mark: str = CUT_MARK) -> str:
    """Return a text of at most so many characters, or its beginning, which ends in ``mark``.

    Where there is no room for more, the mark alone is left.
    """
    if len(text) <= characters:
        return text
    return text[: max(0, characters - len(mark))].rstrip() + mark


def cut_middle(text: str, characters: int) -> str:
    """Return a text of at most so many characters, or its beginning and its end with the mark of a cut between them.

    What a story's text is about often stands at its end, so the middle can best be spared. The cut is made between
    sentences where that leaves most of the room in use, else between words.
    """
    room = characters - len(CUT_MARK)
    if len(text) <= characters or characters < SHORTEST_WITH_END:
        return cut_at(text, characters)
    beginning = text[: _break_before(text, room // 2)]
    end = text[_break_after(text, len(text) - room + len(beginning)) :]
    return f"{beginning}{CUT_MARK}{end}"


def shared_room(texts: Sequence[str], characters: int) -> list[int]:
    """Return how many of the characters each text gets: what a short one leaves of its share goes to longer ones."""
    shares = [0] * len(texts)
    left = max(0, characters)
    shortest_first = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    for done, number in enumerate(shortest_first):
        shares[number] = min(len(texts[number]), left // (len(texts) - done))
        left -= shares[number]
    return shares


def _break_before(text: str, at: int) -> int:
    """Return the last place up to ``at`` where a sentence ends, else a word; ``at`` where neither does nearby."""
    nearby = at // 2
    for pattern in (_SENTENCE_END, _WORD_END):
        places = [found.end() for found in pattern.finditer(text, nearby, at + 1) if found.end() <= at]
        if places:
            return places[-1]
    return at


def _break_after(text: str, at: int) -> int:
    """Return the first place from ``at`` on where a sentence ends, else a word; ``at`` where neither does nearby."""
    nearby = at + (len(text) - at) // 2
    for pattern in (_SENTENCE_END, _WORD_END):
        found = pattern.search(text, at - 1, nearby)
        if found:
            return max(at, found.end())
    return at
