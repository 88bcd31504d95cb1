"""``Memories.md`` as a document that is parsed from any text and edited without changing other bytes.

    ## Location 15: Kitchen
    **Visits:** 3 | **Episodes:** 1, 2

    **[CATEGORY - PERSISTENCE - STATUS] Title** *(Ep1, T12-14, +5)*
    [Superseded at T50 by "Better approach"]
    ~~Text, on as many lines as it has.~~

Of a memory only the category and the title are required (docs/records/specification.md, Memories.md format). Text that
would be parsed as something else is escaped; an empty line within it is written as a lone backslash.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, cast

from session.files.document_store import DocumentStore
from session.files.markdown import (
    COMMENT,
    MarkdownBlock,
    MarkdownDocument,
    MarkdownProblem,
    MarkdownReader,
    MarkdownSection,
    by_number,
    escape,
    escape_all,
    unescape,
)
from session.memory import MARKERS, PERSISTENCES, STATUSES, Memory, MemoryStatus, MemoryStatusType
from session.text import one_line, text_key
from session.values import Location, require_location_id

TITLE = "# Location Memories"
EMPTY_LINE: Final = "\\"

_VISITS = re.compile(r"\*\*Visits:\*\*\s*([0-9]{1,9})\s*\|\s*\*\*Episodes:\*\*\s*([^\r\n]*)", re.IGNORECASE)
_EPISODE = re.compile(r"\b[0-9]{1,9}\b")
_LOCATION = re.compile(r"#+\s*Location\s+#?([0-9]{1,9})\b\s*[:\u2013\u2014-]?\s*(.*)", re.IGNORECASE)
_UNNAMED = re.compile(r"(#+\s*Location\s+#?[0-9]{1,9})[ \t]*[:\u2013\u2014-]?[ \t]*", re.IGNORECASE)
_TOP_HEADING = re.compile(r"##?(?!#)")
_BROKEN_LOCATION = re.compile(r"##\s*Loca|[*_]*Location\s+#?\w+[*_]*\s*:", re.IGNORECASE)

_METADATA = (
    r"\s*(?:Ep(?:isode|ep)?[\s_]*(?P<episode>[0-9]{1,9}))?[\s,]*"
    r"(?:T(?:urns?)?\s*(?P<turns>[0-9]{1,9}(?:\s?[-\u2013]\s?[0-9]{1,9})?))?[\s,]*"
    r"(?P<score>[+-]?[0-9]{1,9})?\s*"
)
_HEADER = re.compile(rf"\*\*\[([^\]]*)\](\s.*|)\*\*(?:\s*\*\((?:(?i:{_METADATA})|(?P<unknown>[^()]*))\)\*)?")
_DASH = re.compile(r"\s*[-\u2013\u2014]\s*")
_SUPERSEDED = re.compile(r'\[Superseded(?: at T(?:(\d{1,9})|\w+))?(?: by "(.*)")?\]', re.ASCII | re.IGNORECASE)
_INVALIDATED = re.compile(r'\[Invalidated(?: at T(?:(\d{1,9})|\w+))?(?:: ?"(.*)")?\]', re.ASCII | re.IGNORECASE)
_STRIKETHROUGH = re.compile(r"~~(.*)~~", re.DOTALL)
_REFERENCE = re.compile(r"\[(?:superseded|invalidated)", re.IGNORECASE)

_ENDS_TEXT = re.compile(r"##|#(?:\s|$)|#\s*location\b|\*\*\[|\*\*Visits:|(?:-{3,}|\*{3,}|_{3,})$|<!--", re.IGNORECASE)
_FENCE = "```"

_MARGINS = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)
_LEADING_MARKS = re.compile(r"([^\w\s])\1*")

_NO_LOCATION = 'This names no location: write "## Location 15: Kitchen".'
_NOWHERE = 'This memory belongs to no location: put it below a heading like "## Location 15: Kitchen".'
_NO_VISITS = 'This is not like "**Visits:** 3 | **Episodes:** 1, 2".'
_STRAY = "This text belongs to no memory: put it right below a memory's header, or into <!-- a comment -->."
_UNCLOSED = "This comment is never closed: end it with -->."


@dataclass(frozen=True, slots=True)
class VisitCount:
    """The number of visits to a location, and the episodes of the visits."""

    count: int
    episodes: tuple[int, ...]


MemoriesContent = Memory | VisitCount
MemoriesBlock = MarkdownBlock[MemoriesContent]
MemoriesSection = MarkdownSection[Location | None, MemoriesContent]
"""A heading that names no location is ``None``. Memories below it are not used."""
ChangeKind = Literal["added", "changed", "superseded", "invalidated", "removed"]


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """A change of one memory between two states of the file.

    kind: ``changed`` means the same title with other content
    memory: the memory after the change, or before its removal
    """

    location_id: int
    kind: ChangeKind
    memory: Memory


@dataclass(frozen=True)
class MemoriesDocument(MarkdownDocument[Location | None, MemoriesContent]):
    """A whole ``Memories.md``, a section for each location."""

    def memories(self) -> dict[int, list[Memory]]:
        """Return every memory by location id, including superseded ones, in the order of the file."""
        found: dict[int, list[Memory]] = {}
        for section in self.sections:
            memories = [content for content in section.contents if isinstance(content, Memory)]
            if section.heading is not None and memories:
                found.setdefault(section.heading.num, []).extend(memories)
        return found

    def doubts(self) -> list[MarkdownProblem]:
        """Return valid memories that are probably mistakes: those without text or with a duplicate title."""
        titles: set[tuple[int | None, str]] = set()

        def message(section: MemoriesSection, block: MemoriesBlock) -> str:
            memory, location_id = block.content, section.heading.num if section.heading else None
            if not isinstance(memory, Memory) or memory.is_given_up:
                return ""
            title = (location_id, text_key(memory.title))
            if title in titles:
                return f"Location {location_id} has another memory of this title: give one of them another title."
            titles.add(title)
            return "" if memory.text.strip() else "This memory has no text: write it below the header."

        return self._marked(message)

    def visits_at(self, location_id: int) -> VisitCount | None:
        """Return the visits of a location in the file, of which no other section is read."""
        sections = (each for each in self.sections if each.heading is not None and each.heading.num == location_id)
        return next((each for section in sections for each in section.contents if isinstance(each, VisitCount)), None)

    def names(self) -> dict[int, str]:
        """Return the name of every location with a section, by id; "" if no heading contains a name."""
        found: dict[int, str] = {}
        for section in self.sections:
            if section.heading is not None:
                found[section.heading.num] = found.get(section.heading.num) or section.heading.name
        return found

    def changes_since(self, earlier: MemoriesDocument) -> list[MemoryChange]:
        """Return every change of a memory since ``earlier``, location by location in the order of this document."""
        old, new = earlier.memories(), self.memories()
        changes: list[MemoryChange] = []
        for location_id in dict.fromkeys([*new, *old]):
            before, after = old.get(location_id, []), new.get(location_id, [])
            stood = {text_key(memory.title) for memory in before if not memory.is_given_up}
            gone = stood - {text_key(memory.title) for memory in after}
            for memory in after:
                kind: ChangeKind = "changed" if text_key(memory.title) in stood else "added"
                if memory.is_given_up:
                    kind = "invalidated" if memory.is_invalidated else "superseded"
                if memory not in before:
                    changes.append(MemoryChange(location_id, kind, memory))
            removed = (memory for memory in before if text_key(memory.title) in gone)
            changes += (MemoryChange(location_id, "removed", memory) for memory in removed)
        return changes

    def add_memory(self, location_id: int, location_name: str, memory: Memory) -> MemoriesDocument:
        """Return the document with the memory as the last of its location's section.

        A missing section is inserted before the first one with a greater id. If no visits are counted yet and the
        memory's episode is known, it was learned on the first visit. Raises ``ValueError`` for an ephemeral memory.
        """
        written: MemoriesBlock = MarkdownBlock(write_memory(memory, self.line_end) + self.line_end, memory)
        section_at = self._section_of(location_id)
        if section_at is not None:
            is_counted = any(isinstance(each, VisitCount) for each in self.sections[section_at].contents)
            visited = self if is_counted or not memory.episode else self.update_visits(location_id, memory.episode)
            return visited.with_last_block(section_at, written)
        places = [(at, section.heading.num) for at, section in enumerate(self.sections) if section.heading is not None]
        after = places[-1][0] + 1 if places else len(self.sections)
        at = next((at for at, other in places if other > location_id), after)
        end, name = self.line_end, one_line(location_name)
        blocks: tuple[MemoriesBlock, ...] = (
            MarkdownBlock(f"## Location {location_id}{f': {escape(name)}' if name else ''}{end}"),
            *((self._first_visit(memory.episode),) if memory.episode else ()),
            MarkdownBlock(f"{end}### Memories{end}{end}"),
            written,
            MarkdownBlock(f"{end}---{end}{end if self.sections[at:] else ''}"),
        )
        return self.with_section(at, MarkdownSection(Location(location_id, name), blocks), TITLE)

    def revise(self, location_id: int | None, revised: Callable[[Memory], Memory | None]) -> MemoriesDocument:
        """Return the document with ``revised`` applied to each of the location's memories, or to all for ``None``.

        A memory for which it returns ``None`` is removed. This very document is returned if none changes.
        """

        def rewritten(block: MemoriesBlock) -> MemoriesBlock | None:
            if not isinstance(block.content, Memory):
                return block
            memory = revised(block.content)
            if memory is None:
                return None
            if memory is block.content:
                return block
            return replace(block, text=write_superseded(block.text, memory, self.line_end), content=memory)

        return self.with_each_block(
            lambda heading: location_id is None or (heading is not None and heading.num == location_id), rewritten
        )

    def with_name(self, location_id: int, name: str) -> MemoriesDocument:
        """Return the document with the location's name added to its heading if the heading has none."""
        at, heading = self._section_of(location_id), Location(location_id, one_line(name))
        if at is None or not heading.name or self.sections[at].heading != Location(location_id, ""):
            return self
        section = self.sections[at]
        text = _UNNAMED.sub(lambda found: f"{found[1]}: {escape(heading.name)}", section.blocks[0].text, count=1)
        named: MemoriesSection = MarkdownSection(heading, (replace(section.blocks[0], text=text), *section.blocks[1:]))
        return replace(self, sections=(*self.sections[:at], named, *self.sections[at + 1 :]))

    def update_visits(self, location_id: int, episode: int) -> MemoriesDocument:
        """Return the document with one more visit, in ``episode``, or itself if the location has no section."""
        at = self._section_of(location_id)
        if at is None:
            return self
        heading, *others = self.sections[at].blocks
        for number, block in enumerate(others):
            line = _VISITS.search(block.text)
            if line is not None and isinstance(block.content, VisitCount):
                listed, episodes = line[2].rstrip(), block.content.episodes
                end = line.start(2) + len(listed)
                if episode not in episodes:
                    listed = f"{listed}, {episode}" if listed else str(episode)
                    episodes = (*episodes, episode)
                count, between = block.content.count + 1, block.text[line.end(1) : line.start(2)]
                text = f"{block.text[: line.start(1)]}{count}{between}{listed}{block.text[end:]}"
                others[number] = MarkdownBlock(text, VisitCount(count, episodes))
                return self.with_blocks(at, (heading, *others))
        if not heading.text.endswith(("\n", "\r")):
            heading = replace(heading, text=heading.text + self.line_end)
        return self.with_blocks(at, (heading, self._first_visit(episode), *others))

    def _section_of(self, location_id: int) -> int | None:
        """Return the index of the location's first section."""
        headings = (section.heading for section in self.sections)
        return next((at for at, heading in enumerate(headings) if heading and heading.num == location_id), None)

    def _first_visit(self, episode: int) -> MemoriesBlock:
        return MarkdownBlock(f"**Visits:** 1 | **Episodes:** {episode}{self.line_end}", VisitCount(1, (episode,)))


@dataclass(frozen=True, slots=True)
class Revision:
    """A new memory, and the titles of those that it supersedes or that were proven false; any of them may be missing.

    turn: the turn in which the old memories were superseded or invalidated

    Raises ``ValueError`` for an invalid location id.
    """

    location_id: int
    location_name: str = ""
    new: Memory | None = None
    superseded: tuple[str, ...] = ()
    invalidated: tuple[str, ...] = ()
    reason: str = ""
    turn: int | None = None

    def __post_init__(self) -> None:
        require_location_id(self.location_id)

    @property
    def new_persistent(self) -> Memory | None:
        """The new memory, if it is for the file."""
        return None if self.new is None or self.new.persistence == "ephemeral" else self.new

    @property
    def new_ephemeral(self) -> Memory | None:
        """The new memory, if it is for this episode alone."""
        return None if self.new_persistent is not None else self.new

    def refusal(self, persistent: Sequence[Memory], ephemeral: Sequence[Memory]) -> str:
        """Return why the revision is not allowed beside these memories of the location, or ""."""
        if self.new is None:
            return ""
        old = next((memory for memory in persistent if any(stands([memory], title) for title in self.superseded)), None)
        if self.new_ephemeral is not None and old is not None:
            return (
                f"a {old.persistence} memory is never superseded by an ephemeral one: it would be gone with the episode"
            )
        if stands(map(self.revised, (*persistent, *ephemeral)), self.new.title):
            return "a memory of this title already exists"
        return ""

    def concerns(self, memories: Sequence[Memory]) -> bool:
        """Return whether the revision gives up one of these memories."""
        return any(stands(memories, title) for title in (*self.superseded, *self.invalidated))

    def revised(self, memory: Memory) -> Memory:
        """Return the memory, superseded or invalidated if the revision gives it up."""
        if memory.is_given_up:
            return memory
        key = text_key(memory.title)
        if key in map(text_key, self.invalidated):
            return memory.invalidated(self.reason, self.turn)
        if self.new is not None and key in map(text_key, self.superseded):
            return memory.superseded(self.new.title, self.turn)
        return memory

    def apply_to(self, document: MemoriesDocument) -> MemoriesDocument:
        """Return the document with the revision, or itself if a memory of the new title already exists."""
        new = self.new_persistent
        for_file = self if new is not None else replace(self, superseded=())
        revised = document.revise(self.location_id, for_file.revised)
        if new is None:
            return revised
        if stands(revised.memories().get(self.location_id, []), new.title):
            return document
        return revised.add_memory(self.location_id, self.location_name, new)


def stands(memories: Iterable[Memory], title: str) -> bool:
    """Return whether one of the memories has that title and was not given up."""
    key = text_key(title)
    return any(not memory.is_given_up and text_key(memory.title) == key for memory in memories)


def parse_memories(text: str) -> MemoriesDocument:
    """Parse any text. ``render()`` of the document returns the same text."""
    reader = _MemoriesReader(text, None)
    return MemoriesDocument(reader.sections(), reader.line_end)


def open_memories(path: Path) -> DocumentStore[MemoriesDocument]:
    """Open the store of a file of memories. Raises ``StoreError``."""
    return DocumentStore(path, parse_memories)


class _MemoriesReader(MarkdownReader[Location | None, MemoriesContent]):
    """Parses ``Memories.md``. Headings of lower levels are part of a location's section."""

    __slots__ = ()

    def take_heading(self) -> MemoriesSection | None:
        line = self.bare[self.at]
        if not _is_heading(line):
            return None
        location = _LOCATION.fullmatch(line)
        heading = Location(int(location[1]), unescape(location[2])) if location else None
        is_broken = heading is None and _BROKEN_LOCATION.match(line) is not None
        return MarkdownSection(heading, (self.take(self.at + 1, problem=_NO_LOCATION if is_broken else ""),))

    def take_block(self) -> MemoriesBlock:
        line, end = self.bare[self.at], self.at + 1
        if not line:
            return self.take_space()
        if line.startswith("**["):
            end = self._end_of_memory()
            memory, problem = read_memory(self.bare[self.at : end]) if self.heading else (None, _NOWHERE)
            return self.take(end, memory, problem)
        if line.startswith(COMMENT):
            return self.take_comment(_UNCLOSED)
        if line.lower().startswith("**visits:"):
            visits = _VISITS.fullmatch(line)
            if visits is None:
                return self.take(end, problem=_NO_VISITS)
            episodes = tuple(int(episode) for episode in _EPISODE.findall(visits[2]))
            return self.take(end, VisitCount(int(visits[1]), episodes))
        is_stray = self.heading is not None and not ends_text(line)
        return self.take(end if ends_text(line) else self._end_of_text(end), problem=_STRAY if is_stray else "")

    def _end_of_memory(self) -> int:
        """Return the index of the line after a header, its reference and its paragraph of text."""
        bare, count, head = self.bare, len(self.bare), self.at + 1
        if head < count and _REFERENCE.match(bare[head]):
            head += 1
        text = head
        while text < count and not bare[text]:
            text += 1
        if text == count or ends_text(bare[text]):
            return head
        if text > head and _is_heading(bare[text]):
            return head
        return self._end_of_text(text + 1)

    def _end_of_text(self, end: int) -> int:
        while end < len(self.bare) and not ends_text(self.bare[end]):
            end += 1
        return end


def _is_heading(line: str) -> bool:
    """Return whether a line begins a section: a valid or malformed location, or a heading of level 1 or 2."""
    is_location = _LOCATION.fullmatch(line) or _BROKEN_LOCATION.match(line)
    return is_location is not None or (_TOP_HEADING.match(line) is not None and ends_text(line))


def ends_text(line: str) -> bool:
    """Return whether a line, given without the white space around it, cannot belong to a memory's text."""
    return not line or _ENDS_TEXT.match(line) is not None


def write_memory(memory: Memory, line_end: str = "\n") -> str:
    """Return the memory's lines, the last without a line end.

    Raises ``ValueError`` for an ephemeral memory: none is ever written.
    """
    if memory.persistence == "ephemeral":
        raise ValueError(f"ephemeral memories are never written: {memory.title}")
    markers = f"{memory.category} - {memory.persistence.upper()}"
    if memory.status != MemoryStatus.ACTIVE:
        markers += f" - {memory.status}"
    title = escape(memory.title).replace("*", r"\*")
    known = [
        f"Ep{memory.episode}" if memory.episode else "",
        f"T{memory.turns}" if memory.turns else "",
        "" if memory.score_change is None else f"{memory.score_change:+d}",
    ]
    metadata = ", ".join(filter(None, known))
    header = f"**[{markers}] {title}**" + (f" *({metadata})*" if metadata else "")
    return line_end.join([header, *_written_body(memory)])


def write_superseded(lines: str, memory: Memory, line_end: str) -> str:
    """Return the lines of a memory with the status and the reference that it has now, and the header as it was."""
    header = re.split(r"[\r\n]", lines, maxsplit=1)[0]
    markers = header[header.index("[") + 1 : header.index("]")]
    struck, found = re.subn(
        r"([-\u2013\u2014]\s*)(?:ACTIVE|TENTATIVE)\b", r"\1SUPERSEDED", markers, flags=re.IGNORECASE
    )
    if not found:
        struck = f"{markers.rstrip()} - SUPERSEDED"
    last_end = line_end if lines.endswith(("\n", "\r")) else ""
    return line_end.join([header.replace(markers, struck, 1), *_written_body(memory)]) + last_end


def read_memory(lines: Sequence[str]) -> tuple[Memory | None, str]:
    """Return the memory in the lines, given without white space around them, and what was not understood, or ""."""
    header, problem = _read_header(lines[0], _read_text(lines[1:], struck=False))
    if header is None:
        return None, problem
    given_up = _given_up(header, lines[1]) if len(lines) > 1 else None
    memory, text_at = (header, 1) if given_up is None else (given_up, 2)
    struck = memory.is_given_up
    if struck:
        memory = replace(memory, text=_read_text(lines[text_at:], struck=True))
    if not problem and memory.status != header.status:
        problem = "The line below the header withdraws this memory, but the header lacks SUPERSEDED."
    elif not problem and text_at < len(lines) and _REFERENCE.match(lines[text_at]):
        problem = f'{lines[text_at]} is not like [Superseded at T50 by "Title"].'
    return memory, problem


def _read_header(line: str, text: str) -> tuple[Memory | None, str]:
    """Read a header with its markers in any order and any case, as a memory of that text, and what is wrong with it."""
    header = _HEADER.fullmatch(line)
    if header is None:
        return None, "A memory begins with a line like **[NOTE - PERMANENT] Title** *(Ep1, T12, +5)*."
    markers, title, episode, turns, score, unknown = header.groups()
    category, *others = (part.upper() for part in _DASH.split(markers.strip()))
    if not category or category in MARKERS:
        return None, f"[{markers}] begins with no category: write [NOTE - PERMANENT] or the like."
    persistence, status = "permanent", "ACTIVE"
    for marker in others:
        if marker == "EPHEMERAL":
            return None, "An EPHEMERAL memory ends with its episode, so none is read from this file."
        if marker in STATUSES:
            status = marker
        elif marker.lower() in PERSISTENCES:
            persistence = marker.lower()
        else:
            return None, f"{marker} in [{markers}] is neither CORE nor PERMANENT nor a status."
    title = unescape(title.strip())
    if not title.strip():
        return None, "This memory has no title."
    memory = Memory(
        category=category,
        title=title,
        episode=int(episode or 0),
        turns=turns or "",
        score_change=None if score is None else int(score),
        text=text,
        persistence=persistence,
        status=cast("MemoryStatusType", status),
    )
    return memory, "" if unknown is None else f"*({unknown})* is not like *(Ep1, T12-14, +5)*, so it is not used."


def _given_up(memory: Memory, line: str) -> Memory | None:
    """Return the memory as the line below its header explains why it was given up; ``None`` for any other line."""
    superseded, invalidated = _SUPERSEDED.fullmatch(line), _INVALIDATED.fullmatch(line)
    found = superseded or invalidated
    if found is None:
        return None
    turn = int(found[1]) if found[1] else None
    quoted = None if found[2] is None else unescape(found[2])
    if invalidated:
        return memory.invalidated(quoted, turn)
    return replace(memory, status=MemoryStatus.SUPERSEDED, superseded_by=quoted, superseded_at_turn=turn)


def _read_text(lines: Sequence[str], *, struck: bool) -> str:
    text = "\n".join(lines).lstrip("\n")
    strikethrough = _STRIKETHROUGH.fullmatch(text) if struck else None
    if strikethrough:
        text = strikethrough[1]
    stripped = (line.strip() for line in text.split("\n"))
    return "\n".join("" if line == EMPTY_LINE else unescape(line) for line in stripped)


def _written_body(memory: Memory) -> list[str]:
    lines = [_written_line(line) for line in memory.text.split("\n")]
    if not memory.is_given_up:
        return lines
    if memory.text:
        lines[0] = f"~~{lines[0]}"
        lines[-1] = f"{lines[-1]}~~"
    at = "" if memory.superseded_at_turn is None else f" at T{memory.superseded_at_turn}"
    reference = f"[Superseded{at}]" if at else ""
    if memory.is_invalidated:
        reason = memory.invalidation_reason
        reference = f"[Invalidated{at}]" if reason is None else f'[Invalidated{at}: "{escape(reason)}"]'
    elif memory.superseded_by is not None:
        reference = f'[Superseded{at} by "{escape(memory.superseded_by)}"]'
    return [reference, *lines] if reference else lines


def _written_line(line: str) -> str:
    if not line:
        return EMPTY_LINE
    margins = cast("re.Match[str]", _MARGINS.fullmatch(line))
    written = f"{by_number(margins[1])}{escape(margins[2])}{by_number(margins[3])}"
    if ends_text(written) or _REFERENCE.match(written) or written.startswith(_FENCE):
        return _LEADING_MARKS.sub(escape_all, written, count=1)
    return written
