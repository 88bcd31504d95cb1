"""Tells which texts of the story describe a room in full, by what the machine knows of them.

A story describes a room in full when the player first comes there and when it is looked at. On coming back most print
no more than its name and what lies there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

LONGEST_TITLE = 80
"""Characters of a line right above the version of a story: shorter ones are its title, longer ones tell the story."""

_SERIAL = re.compile(r"\bserial number \d", re.IGNORECASE)
_ROOM_NUMBER = re.compile(r" \(#\d+\)$")
_FIRST_SENTENCE = re.compile(r".*?(?:[.!?][\"'\u2019\u201d)\]]*(?=\s)|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RoomDescription:
    """The last full description of a room, word for word, and the turn in which the story printed it."""

    text: str
    turn: int

    def is_repeated_in(self, text: str) -> bool:
        """Tell whether ``text`` describes the room in full, too: it has the first sentence after the room's name."""
        _, _, body = self.text.partition("\n")
        sentence = _FIRST_SENTENCE.match(body.lstrip())
        return sentence is not None and sentence[0] != "" and sentence[0] in text


def description_in(text: str, name: str) -> str | None:
    """Return the part of a text from the line on that bears the room's name; ``None`` where no line does.

    A name that is a heading itself, of a room whose object has none, has the room's number behind it.
    """
    place = 0
    heading = _ROOM_NUMBER.sub("", name)
    for line in text.splitlines(keepends=True):
        told = line.strip()
        if heading and (told == heading or told.startswith((f"{heading}, ", f"{heading} ("))):
            return text[place:].strip()
        place += len(line)
    return None


@lru_cache(maxsize=8)
def prologue_of(opening: str, first_room: str) -> str:
    """Return what a story tells before its first room, without the banner of its title, authors and version.

    first_room: the name of the room; where no line bears it, all of the opening is taken for the prologue
    """
    room = description_in(opening, first_room)
    paragraphs = re.split(r"\n\s*\n", opening if room is None else opening.strip().removesuffix(room))
    banner = next((place for place, text in enumerate(paragraphs) if _SERIAL.search(text)), None)
    if banner is not None:
        is_titled = banner > 0 and all(len(line) < LONGEST_TITLE for line in paragraphs[banner - 1].splitlines())
        del paragraphs[banner - is_titled : banner + 1]
    return "\n\n".join(paragraphs).strip()
