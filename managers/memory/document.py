"""``Memories.md`` as a document that is parsed from any text and edited without changing other bytes.

See docs/specification.md, Memories.md format; :mod:`managers.memory.written_memory` writes and reads one memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from managers.memory.written_memory import (
    NotUnderstood,
    ends_text,
    is_reference,
    read_memory,
    write_memory,
    write_superseded,
)
from session.files.markdown import (
    COMMENT,
    MarkdownBlock,
    MarkdownDocument,
    MarkdownProblem,
    MarkdownReader,
    MarkdownSection,
    escape,
    unescape,
)
from session.memory import INVALIDATION_MARKER, Memory, MemoryStatus
from session.text import one_line, text_key

TITLE = "# Location Memories"

_VISITS = re.compile(r"\*\*Visits:\*\*\s*([0-9]{1,9})\s*\|\s*\*\*Episodes:\*\*\s*([^\r\n]*)", re.IGNORECASE)
_EPISODE = re.compile(r"\b[0-9]{1,9}\b")
_LOCATION = re.compile(r"#+\s*Location\s+#?([0-9]{1,9})\b\s*[:\u2013\u2014-]?\s*(.*)", re.IGNORECASE)
_UNNAMED = re.compile(r"(#+\s*Location\s+#?[0-9]{1,9})[ \t]*[:\u2013\u2014-]?[ \t]*", re.IGNORECASE)
_TOP_HEADING = re.compile(r"##?(?!#)")
_BROKEN_LOCATION = re.compile(r"##\s*Loca|[*_]*Location\s+#?\w+[*_]*\s*:", re.IGNORECASE)
_STARTS_OF_HEADINGS = frozenset("#*_Ll")

_NO_LOCATION = 'This names no location: write "## Location 15: Kitchen".'
_NOWHERE = 'This memory belongs to no location: put it below a heading like "## Location 15: Kitchen".'
_NO_VISITS = 'This is not like "**Visits:** 3 | **Episodes:** 1, 2".'
_STRAY = "This text belongs to no memory: put it right below a memory's header, or into <!-- a comment -->."
_UNCLOSED = "This comment is never closed: end it with -->."


@dataclass(frozen=True, slots=True)
class LocationHeading:
    """The heading of a section.

    location_id: ``None`` if it names no location; memories below it are then not used
    name: "" if it is missing
    """

    location_id: int | None
    name: str = ""


@dataclass(frozen=True, slots=True)
class VisitCount:
    """The number of visits to a location, and the episodes of the visits."""

    count: int
    episodes: tuple[int, ...]


MemoriesContent = Memory | VisitCount
MemoriesBlock = MarkdownBlock[MemoriesContent]
MemoriesSection = MarkdownSection[LocationHeading, MemoriesContent]


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """A change of one memory between two states of the file.

    kind: ``changed`` means the same title with other content; a memory that was added and then superseded or
        invalidated is ``superseded`` or ``invalidated``
    memory: the memory after the change, or before its removal
    """

    location_id: int
    kind: Literal["added", "changed", "superseded", "invalidated", "removed"]
    memory: Memory


@dataclass(frozen=True, slots=True)
class MemoriesDocument(MarkdownDocument[LocationHeading, MemoriesContent]):
    """A whole ``Memories.md``, a section for each location."""

    def memories(self) -> dict[int, list[Memory]]:
        """Return every memory by location id, including superseded ones, in the order of the file."""
        found: dict[int, list[Memory]] = {}
        for section in self.sections:
            location_id = section.heading.location_id
            memories = _memories_in(section) if location_id is not None else ()
            if location_id is not None and memories:
                found.setdefault(location_id, []).extend(memories)
        return found

    def doubts(self) -> list[MarkdownProblem]:
        """Return valid memories that are probably mistakes: those without text or with a duplicate title."""
        titles: set[tuple[int | None, str]] = set()

        def message(section: MemoriesSection, block: MemoriesBlock) -> str:
            memory, location_id = block.content, section.heading.location_id
            if not isinstance(memory, Memory) or memory.status == MemoryStatus.SUPERSEDED:
                return ""
            title = (location_id, text_key(memory.title))
            if title in titles:
                return f"Location {location_id} has another memory of this title: give one of them another title."
            titles.add(title)
            return "" if memory.text.strip() else "This memory has no text: write it below the header."

        return self._marked(message)

    def memories_at(self, location_id: int) -> list[Memory]:
        """Return the memories of one location, including superseded ones, in the order of the file."""
        sections = (section for section in self.sections if section.heading.location_id == location_id)
        return [memory for section in sections for memory in _memories_in(section)]

    def visits(self) -> dict[int, VisitCount]:
        """Return the visits in the file by location id."""
        found: dict[int, VisitCount] = {}
        for section in self.sections:
            for content in section.contents:
                if section.heading.location_id is not None and isinstance(content, VisitCount):
                    found.setdefault(section.heading.location_id, content)
        return found

    def visits_at(self, location_id: int) -> VisitCount | None:
        """Return the visits of one location, or ``None`` if the file does not contain them."""
        sections = (section for section in self.sections if section.heading.location_id == location_id)
        contents = (content for section in sections for content in section.contents)
        return next((content for content in contents if isinstance(content, VisitCount)), None)

    def names(self) -> dict[int, str]:
        """Return the name of every location with a section, by id; "" if no heading contains a name."""
        found: dict[int, str] = {}
        for section in self.sections:
            location_id = section.heading.location_id
            if location_id is not None:
                found[location_id] = found.get(location_id) or section.heading.name
        return found

    def changes_since(self, earlier: MemoriesDocument) -> list[MemoryChange]:
        """Return every change of a memory since ``earlier``, location by location in the order of this document."""
        old, new = earlier.memories(), self.memories()
        return [
            change
            for location_id in dict.fromkeys([*new, *old])
            for change in _changes_at(location_id, old.get(location_id, []), new.get(location_id, []))
        ]

    def add_memory(self, location_id: int, location_name: str, memory: Memory) -> MemoriesDocument:
        """Return the document with the memory as the last of its location's section.

        A missing section is inserted before the first one with a greater id, with one visit if the memory's episode is
        known. Other sections do not move. Raises ``ValueError`` for an ephemeral memory.
        """
        written: MemoriesBlock = MarkdownBlock(write_memory(memory, self.line_end) + self.line_end, memory)
        at = self._section_of(location_id)
        if at is not None:
            return self.with_last_block(at, written)
        at, end, name = self._place_for(location_id), self.line_end, one_line(location_name)
        blocks: tuple[MemoriesBlock, ...] = (
            MarkdownBlock(f"## Location {location_id}{f': {escape(name)}' if name else ''}{end}"),
            *((self._first_visit(memory.episode),) if memory.episode else ()),
            MarkdownBlock(f"{end}### Memories{end}{end}"),
            written,
            MarkdownBlock(f"{end}---{end}{end if self.sections[at:] else ''}"),
        )
        return self.with_section(at, MarkdownSection(LocationHeading(location_id, name), blocks), TITLE)

    def remove_memory(self, title: str) -> MemoriesDocument:
        """Return the document without the memories of that title at any location."""
        key = text_key(title)

        def kept(block: MemoriesBlock) -> MemoriesBlock | None:
            return None if isinstance(block.content, Memory) and text_key(block.content.title) == key else block

        return self.with_each_block(lambda _: True, kept)

    def revise(self, location_id: int, revised: Callable[[Memory], Memory]) -> MemoriesDocument:
        """Return the document with ``revised`` applied to each of the location's memories.

        Returns this document itself if no memory changes.
        """

        def rewritten(block: MemoriesBlock) -> MemoriesBlock:
            if not isinstance(block.content, Memory):
                return block
            memory = revised(block.content)
            if memory is block.content:
                return block
            return replace(block, text=write_superseded(block.text, memory, self.line_end), content=memory)

        return self.with_each_block(lambda heading: heading.location_id == location_id, rewritten)

    def with_name(self, location_id: int, name: str) -> MemoriesDocument:
        """Return the document with the location's name added to its heading if the heading has none."""
        at, known = self._section_of(location_id), one_line(name)
        if at is None or not known or self.sections[at].heading.name:
            return self
        section = self.sections[at]
        text = _UNNAMED.sub(lambda heading: f"{heading[1]}: {escape(known)}", section.blocks[0].text, count=1)
        named = replace(
            section,
            heading=LocationHeading(location_id, known),
            blocks=(replace(section.blocks[0], text=text), *section.blocks[1:]),
        )
        return replace(self, sections=(*self.sections[:at], named, *self.sections[at + 1 :]))

    def update_visits(self, location_id: int, episode: int) -> MemoriesDocument:
        """Return the document with one more visit, in ``episode``, or itself if the location has no section."""
        at = self._section_of(location_id)
        if at is None:
            return self
        heading, *others = self.sections[at].blocks
        for number, block in enumerate(others):
            if isinstance(block.content, VisitCount):
                others[number] = _with_one_visit_more(block, block.content, episode)
                return self.with_blocks(at, (heading, *others))
        if not heading.text.endswith(("\n", "\r")):
            heading = replace(heading, text=heading.text + self.line_end)
        return self.with_blocks(at, (heading, self._first_visit(episode), *others))

    def _section_of(self, location_id: int) -> int | None:
        """Return the index of the location's first section."""
        numbered = enumerate(self.sections)
        return next((at for at, section in numbered if section.heading.location_id == location_id), None)

    def _place_for(self, location_id: int) -> int:
        """Return the index for a new section: at least 1, because index 0 is the text above all headings."""
        places = [at for at, section in enumerate(self.sections) if section.heading.location_id is not None]
        for at in places:
            if cast("int", self.sections[at].heading.location_id) > location_id:
                return at
        return places[-1] + 1 if places else len(self.sections)

    def _first_visit(self, episode: int) -> MemoriesBlock:
        return MarkdownBlock(f"**Visits:** 1 | **Episodes:** {episode}{self.line_end}", VisitCount(1, (episode,)))


def parse_memories(text: str) -> MemoriesDocument:
    """Parse any text. ``render()`` of the document returns the same text."""
    reader = _MemoriesReader(text, LocationHeading(None))
    return MemoriesDocument(reader.sections(), reader.line_end)


class _MemoriesReader(MarkdownReader[LocationHeading, MemoriesContent]):
    """Parses ``Memories.md``. Headings of lower levels are part of a location's section."""

    __slots__ = ()

    def take_heading(self) -> MemoriesSection | None:
        line = self.bare[self.at]
        heading = _read_heading(line)
        if heading is None:
            return None
        is_broken = heading.location_id is None and _BROKEN_LOCATION.match(line) is not None
        return MarkdownSection(heading, (self.take(self.at + 1, problem=_NO_LOCATION if is_broken else ""),))

    def take_block(self) -> MemoriesBlock:
        line = self.bare[self.at]
        if not line:
            return self.take_space()
        if line.startswith("**["):
            return self._take_memory()
        if line.startswith(COMMENT):
            return self.take_comment(_UNCLOSED)
        if line.lower().startswith("**visits:"):
            return self._take_visits()
        if ends_text(line):
            return self.take(self.at + 1)
        return self.take(self._end_of_text(self.at + 1), problem="" if self.heading.location_id is None else _STRAY)

    def _take_memory(self) -> MemoriesBlock:
        end = self._end_of_memory()
        if self.heading.location_id is None:
            return self.take(end, problem=_NOWHERE)
        try:
            memory, problem = read_memory(self.bare[self.at : end])
        except NotUnderstood as error:
            return self.take(end, problem=str(error))
        return self.take(end, memory, problem)

    def _end_of_memory(self) -> int:
        """Return the index of the line after a header, its reference and its paragraph of text."""
        bare, count, head = self.bare, len(self.bare), self.at + 1
        if head < count and is_reference(bare[head]):
            head += 1
        text = head
        while text < count and not bare[text]:
            text += 1
        if text == count or ends_text(bare[text]):
            return head
        if text > head and _read_heading(bare[text]) is not None:
            return head
        return self._end_of_text(text + 1)

    def _end_of_text(self, end: int) -> int:
        while end < len(self.bare) and not ends_text(self.bare[end]):
            end += 1
        return end

    def _take_visits(self) -> MemoriesBlock:
        line = _VISITS.fullmatch(self.bare[self.at])
        if line is None:
            return self.take(self.at + 1, problem=_NO_VISITS)
        episodes = tuple(int(episode) for episode in _EPISODE.findall(line[2]))
        return self.take(self.at + 1, VisitCount(int(line[1]), episodes))


def _read_heading(line: str) -> LocationHeading | None:
    """Parse a line that begins a section: a valid or malformed location, or a heading of level 1 or 2."""
    if not line or line[0] not in _STARTS_OF_HEADINGS or line.startswith("**["):
        return None
    location = _LOCATION.fullmatch(line)
    if location:
        return LocationHeading(int(location[1]), unescape(location[2]))
    if _BROKEN_LOCATION.match(line) or (_TOP_HEADING.match(line) and ends_text(line)):
        return LocationHeading(None)
    return None


def _memories_in(section: MemoriesSection) -> list[Memory]:
    return [content for content in section.contents if isinstance(content, Memory)]


def _with_one_visit_more(block: MemoriesBlock, visits: VisitCount, episode: int) -> MemoriesBlock:
    """Return the line of visits with the new numbers. The rest of the line does not change."""
    line = _VISITS.search(block.text)
    if line is None:
        return block
    count, episodes = visits.count + 1, visits.episodes
    listed = line[2].rstrip()
    if episode not in episodes:
        episodes = (*episodes, episode)
        listed = f"{listed}, {episode}" if listed else str(episode)
    text = (
        block.text[: line.start(1)]
        + str(count)
        + block.text[line.end(1) : line.start(2)]
        + listed
        + block.text[line.start(2) + len(line[2].rstrip()) :]
    )
    return replace(block, text=text, content=VisitCount(count, episodes))


def _changes_at(location_id: int, old: Sequence[Memory], new: Sequence[Memory]) -> Iterator[MemoryChange]:
    known, stood, kept = set(old), _standing_titles(old), {text_key(memory.title) for memory in new}
    for memory in new:
        if memory not in known:
            is_changed = text_key(memory.title) in stood
            if memory.status != MemoryStatus.SUPERSEDED:
                yield MemoryChange(location_id, "changed" if is_changed else "added", memory)
            elif memory.superseded_by == INVALIDATION_MARKER:
                yield MemoryChange(location_id, "invalidated", memory)
            else:
                yield MemoryChange(location_id, "superseded", memory)
    for memory in old:
        if text_key(memory.title) in stood - kept:
            yield MemoryChange(location_id, "removed", memory)


def _standing_titles(memories: Sequence[Memory]) -> set[str]:
    return {text_key(memory.title) for memory in memories if memory.status != MemoryStatus.SUPERSEDED}
