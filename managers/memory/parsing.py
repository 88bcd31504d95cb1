"""From the text of ``Memories.md`` to a ``MemoriesDocument``: any text at all, in one pass over its lines."""

from __future__ import annotations

import gc
import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO
from typing import TYPE_CHECKING

from managers.memory.document import EPISODE, VISITS, Block, MemoriesDocument, Section, VisitCount
from managers.memory.text import NotUnderstood, ends_text, is_reference, read_memory, unescape
from session.files.markdown import BYTE_ORDER_MARK, usual_line_end

if TYPE_CHECKING:
    from collections.abc import Iterator

    from session.memory import Memory

_LOCATION = re.compile(r"#+\s*Location\s+#?([0-9]{1,9})\b\s*[:\u2013\u2014-]?\s*(.*)", re.IGNORECASE)
_TOP_HEADING = re.compile(r"##?(?!#)")
_BROKEN_LOCATION = re.compile(r"##\s*Loca|[*_]*Location\s+#?\w+[*_]*\s*:", re.IGNORECASE)
_STARTS_OF_HEADINGS = frozenset("#*_Ll")

_NO_LOCATION = 'This names no location: write "## Location 15: Kitchen".'
_NOWHERE = 'This memory belongs to no location: put it below a heading like "## Location 15: Kitchen".'
_NO_VISITS = 'This is not like "**Visits:** 3 | **Episodes:** 1, 2".'
_STRAY = "This text belongs to no memory: put it right below a memory's header, or into <!-- a comment -->."
_UNCLOSED = "This comment is never closed: end it with -->."


@dataclass(frozen=True, slots=True)
class _Heading:
    location_id: int | None
    name: str
    problem: str = ""


def parse(text: str) -> MemoriesDocument:
    """The document whose ``render()`` is ``text`` again, whatever it is."""
    with _without_collections():
        return _parsed(text)


@contextmanager
def _without_collections() -> Iterator[None]:
    """The collector waits: a document is many objects without a cycle, which it would walk again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _parsed(text: str) -> MemoriesDocument:
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    reader = _Reader(text[len(mark) :])
    sections: list[Section] = []
    heading = _Heading(None, "")
    blocks = [Block(mark)] if mark else []
    while reader.has_more:
        next_heading = reader.heading()
        if next_heading is None:
            blocks.append(reader.take_block(located=heading.location_id is not None))
        else:
            sections.append(Section(heading.location_id, heading.name, tuple(blocks)))
            heading, blocks = next_heading, [reader.take_heading(next_heading)]
    sections.append(Section(heading.location_id, heading.name, tuple(blocks)))
    return MemoriesDocument(tuple(sections), usual_line_end(text))


class _Reader:
    """Takes block after block off the lines of a file; ``_at`` is the next line, from 0."""

    __slots__ = ("_at", "_bare", "_count", "_lines")

    def __init__(self, text: str) -> None:
        self._lines = StringIO(text, newline="").readlines()
        self._bare = [line.strip() for line in self._lines]
        self._count = len(self._lines)
        self._at = 0

    @property
    def has_more(self) -> bool:
        """Some lines were not taken yet."""
        return self._at < self._count

    def heading(self) -> _Heading | None:
        """The heading that the next line is, if it ends the section above it."""
        return _read_heading(self._bare[self._at])

    def take_heading(self, heading: _Heading) -> Block:
        """The next line, which is that heading."""
        return self._take(self._at + 1, problem=heading.problem)

    def take_block(self, *, located: bool) -> Block:
        """The block at the next line, which is no section's heading; ``located``: in a section of a location."""
        line = self._bare[self._at]
        if not line:
            return self._take_space()
        if line.startswith("**["):
            return self._take_memory(located=located)
        if line.startswith("<!--"):
            return self._take_comment()
        if line.lower().startswith("**visits:"):
            return self._take_visits()
        if ends_text(line):
            return self._take(self._at + 1)
        return self._take(self._end_of_text(self._at + 1), problem=_STRAY if located else "")

    def _take(self, end: int, content: Memory | VisitCount | None = None, problem: str = "") -> Block:
        text = "".join(self._lines[self._at : end])
        self._at = end
        return Block(text, content, problem)

    def _take_space(self) -> Block:
        bare, end = self._bare, self._at + 1
        while end < self._count and not bare[end]:
            end += 1
        text = "".join(self._lines[self._at : end])
        self._at = end
        return _space(text)

    def _take_memory(self, *, located: bool) -> Block:
        end = self._end_of_memory()
        if not located:
            return self._take(end, problem=_NOWHERE)
        try:
            memory, problem = read_memory(self._bare[self._at : end])
        except NotUnderstood as error:
            return self._take(end, problem=str(error))
        return self._take(end, memory, problem)

    def _end_of_memory(self) -> int:
        """Behind a header, the references right below it, and the paragraph that follows."""
        bare, head = self._bare, self._at + 1
        if head < self._count and is_reference(bare[head]):
            head += 1
        text = head
        while text < self._count and not bare[text]:
            text += 1
        if text == self._count or ends_text(bare[text]):
            return head
        if text > head and _read_heading(bare[text]) is not None:
            return head
        return self._end_of_text(text + 1)

    def _take_comment(self) -> Block:
        """Up to the line that closes the comment. One that another comment interrupts was meant to end before it.

        Only the beginning of a line interrupts: no text of a memory begins so, and none that goes changes the rest.
        """
        for number in range(self._at, self._count):
            line = self._bare[number]
            if number > self._at and line.startswith("<!--"):
                break
            if "-->" in line:
                return self._take(number + 1)
        return self._take(self._at + 1, problem=_UNCLOSED)

    def _take_visits(self) -> Block:
        line = VISITS.fullmatch(self._bare[self._at])
        if line is None:
            return self._take(self._at + 1, problem=_NO_VISITS)
        episodes = tuple(int(episode) for episode in EPISODE.findall(line[2]))
        return self._take(self._at + 1, VisitCount(int(line[1]), episodes))

    def _end_of_text(self, end: int) -> int:
        bare = self._bare
        while end < self._count and not ends_text(bare[end]):
            end += 1
        return end


def _read_heading(line: str) -> _Heading | None:
    """Lesser headings are part of their section."""
    if not line or line[0] not in _STARTS_OF_HEADINGS or line.startswith("**["):
        return None
    location = _LOCATION.fullmatch(line)
    if location:
        return _Heading(int(location[1]), unescape(location[2]))
    if _BROKEN_LOCATION.match(line):
        return _Heading(None, "", _NO_LOCATION)
    if _TOP_HEADING.match(line) and ends_text(line):
        return _Heading(None, "")
    return None


@lru_cache(maxsize=64)
def _space(text: str) -> Block:
    """One block for all places with the same space, which is every other block of a file."""
    return Block(text)
