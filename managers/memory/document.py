"""``Memories.md`` as a document that can be edited without losing a byte of what people wrote (decision 13).

The file is cut into blocks, and the blocks into sections, so that all texts joined are the file. What is understood
carries its meaning; everything else is carried along, and reported where it looks like a mistake. An edit gives a new
document in which only the blocks that it means differ.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, cast

from managers.memory.text import escape, write_memory, write_superseded
from session.files.markdown import BYTE_ORDER_MARK, gap_after
from session.memory import INVALIDATION_MARKER, Memory, MemoryStatus
from session.text import one_line, text_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

TITLE = "# Location Memories"
VISITS = re.compile(r"\*\*Visits:\*\*\s*([0-9]{1,9})\s*\|\s*\*\*Episodes:\*\*\s*([^\r\n]*)", re.IGNORECASE)
EPISODE = re.compile(r"\b[0-9]{1,9}\b")

ChangeKind = Literal["added", "changed", "superseded", "invalidated", "removed"]

_LINE_END = re.compile(r"\r\n?|\n")
_SPACE_AND_RULES = " \t\r\n-*_"


@dataclass(frozen=True, slots=True)
class VisitCount:
    """How often a location was visited, and in which episodes."""

    count: int
    episodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """What was not understood. line: counts from 1; message: one sentence that says how to mend it."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """``memory`` is as it stands afterwards, or as it last stood where it was removed.

    kind: ``changed`` is one of the same title that says something else; one both learnt and given up in between is
        ``superseded`` or ``invalidated``
    """

    location_id: int
    kind: ChangeKind
    memory: Memory


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together.

    text: exactly as they stand in the file, line ends and all
    content: what was understood of them
    problem: what was not, "" where nothing is wrong
    """

    text: str
    content: Memory | VisitCount | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it up to the next one of its kind.

    location_id: ``None`` for what belongs to no location (then no block of it is used)
    name: as the heading gives it, "" where it gives none
    """

    location_id: int | None
    name: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class MemoriesDocument:
    """A whole ``Memories.md``.

    sections: in the order of the file; the first is what stands above the first heading and may be empty
    line_end: the one that most lines of the file have
    """

    sections: tuple[Section, ...]
    line_end: str

    def render(self) -> str:
        """The text of the file."""
        return "".join(block.text for section in self.sections for block in section.blocks)

    def memories(self) -> dict[int, list[Memory]]:
        """Every memory by location id, superseded ones too, in the order of the file."""
        found: dict[int, list[Memory]] = {}
        for location_id, blocks in self._locations():
            memories = [block.content for block in blocks if isinstance(block.content, Memory)]
            if memories:
                found.setdefault(location_id, []).extend(memories)
        return found

    def visits(self) -> dict[int, VisitCount]:
        """The visits of every location that the file has some of."""
        found: dict[int, VisitCount] = {}
        for location_id, blocks in self._locations():
            for block in blocks:
                if isinstance(block.content, VisitCount):
                    found.setdefault(location_id, block.content)
        return found

    def names(self) -> dict[int, str]:
        """The name of every location that has a section, "" where no heading gives it one."""
        found: dict[int, str] = {}
        for section in self.sections:
            if section.location_id is not None:
                found[section.location_id] = found.get(section.location_id) or section.name
        return found

    def problems(self) -> list[Problem]:
        """What could not be understood, in the order of the file."""
        text, line, counted, start = self.render(), 1, 0, 0
        found = []
        for section in self.sections:
            for block in section.blocks:
                if block.problem:
                    line += len(_LINE_END.findall(text, counted, start))
                    counted = start
                    found.append(Problem(line, block.problem))
                start += len(block.text)
        return found

    def add_memory(self, location_id: int, location_name: str, memory: Memory) -> MemoriesDocument:
        """The memory is the last of its location's section, which is made where there is none.

        A new section goes in front of the first one with a greater id; no other section moves. It tells of a visit
        where the memory's episode is known.
        Raises ``ValueError`` for an ephemeral memory.
        """
        entry = Block(write_memory(memory, self.line_end) + self.line_end, memory)
        at = self._section_index(location_id)
        if at is None:
            return self._with_new_section(location_id, location_name, memory.episode, entry)
        section = self.sections[at]
        closing = len(section.blocks)
        while closing > 1 and not section.blocks[closing - 1].text.strip(_SPACE_AND_RULES):
            closing -= 1
        above, tail = section.blocks[:closing], "".join(block.text for block in section.blocks[closing:])
        needs_blank_line = not _starts_blank(tail) if tail else at + 1 < len(self.sections)
        if needs_blank_line:
            tail = self.line_end + tail
        gap = gap_after(above[-1].text, self.line_end)
        return self._with_section(at, (*above, *_some(gap), entry, *_some(tail)))

    def remove_memory(self, title: str) -> MemoriesDocument:
        """No location has a memory of that title; the very same document where none had one."""
        key = text_key(title)

        def others(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
            return tuple(
                block
                for block in blocks
                if not (isinstance(block.content, Memory) and text_key(block.content.title) == key)
            )

        sections = tuple(replace(section, blocks=others(section.blocks)) for section in self.sections)
        return self if sections == self.sections else replace(self, sections=sections)

    def mark_superseded(self, location_id: int, title: str, by: str, turn: int | None) -> MemoriesDocument:
        """Every memory of that title that still stood is superseded by the one titled ``by``.

        Where there is none, this very document.
        """
        return self._with_each(location_id, title, lambda memory: memory.superseded(by, turn))

    def mark_invalidated(self, location_id: int, title: str, reason: str, turn: int | None) -> MemoriesDocument:
        """Every memory of that title that still stood is proven false. Where there is none, this very document."""
        return self._with_each(location_id, title, lambda memory: memory.invalidated(reason, turn))

    def update_visits(self, location_id: int, episode: int) -> MemoriesDocument:
        """One visit more, in ``episode``. Where the location has no section, this very document."""
        at = self._section_index(location_id)
        if at is None:
            return self
        heading, *others = self.sections[at].blocks
        for number, block in enumerate(others):
            if isinstance(block.content, VisitCount):
                others[number] = _visited_once_more(block, block.content, episode)
                return self._with_section(at, (heading, *others))
        if not heading.text.endswith(("\n", "\r")):
            heading = replace(heading, text=heading.text + self.line_end)
        return self._with_section(at, (heading, self._first_visit(episode), *others))

    def _locations(self) -> Iterator[tuple[int, tuple[Block, ...]]]:
        for section in self.sections:
            if section.location_id is not None:
                yield section.location_id, section.blocks

    def _section_index(self, location_id: int) -> int | None:
        for number, section in enumerate(self.sections):
            if section.location_id == location_id:
                return number
        return None

    def _with_section(self, at: int, blocks: tuple[Block, ...]) -> MemoriesDocument:
        changed = replace(self.sections[at], blocks=blocks)
        return replace(self, sections=(*self.sections[:at], changed, *self.sections[at + 1 :]))

    def _with_new_section(self, location_id: int, name: str, episode: int, entry: Block) -> MemoriesDocument:
        at = self._place_for(location_id)
        above, below = self.sections[:at], self.sections[at:]
        end = self.line_end
        name = one_line(name)
        blocks = (
            Block(f"## Location {location_id}{f': {escape(name)}' if name else ''}{end}"),
            *((self._first_visit(episode),) if episode else ()),
            Block(f"{end}### Memories{end}{end}"),
            entry,
            Block(f"{end}---{end}{end if below else ''}"),
        )
        text_above = next((block.text for section in reversed(above) for block in reversed(section.blocks)), "")
        gap = gap_after(text_above, self.line_end) if text_above.strip(BYTE_ORDER_MARK) else f"{TITLE}{end}{end}"
        last = replace(above[-1], blocks=(*above[-1].blocks, *_some(gap)))
        return replace(self, sections=(*above[:-1], last, Section(location_id, name, blocks), *below))

    def _place_for(self, location_id: int) -> int:
        """The index of a new section: at least 1, for the first section is what stands above all headings."""
        places = [number for number, section in enumerate(self.sections) if section.location_id is not None]
        for place in places:
            if cast("int", self.sections[place].location_id) > location_id:
                return place
        return places[-1] + 1 if places else len(self.sections)

    def _first_visit(self, episode: int) -> Block:
        return Block(f"**Visits:** 1 | **Episodes:** {episode}{self.line_end}", VisitCount(1, (episode,)))

    def _with_each(self, location_id: int, title: str, change: Callable[[Memory], Memory]) -> MemoriesDocument:
        key = text_key(title)
        document = self
        for number, section in enumerate(self.sections):
            if section.location_id == location_id:
                blocks = tuple(self._changed(block, key, change) for block in section.blocks)
                if blocks != section.blocks:
                    document = document._with_section(number, blocks)
        return document

    def _changed(self, block: Block, key: str, change: Callable[[Memory], Memory]) -> Block:
        memory = block.content
        if not isinstance(memory, Memory) or memory.status == MemoryStatus.SUPERSEDED or text_key(memory.title) != key:
            return block
        changed = change(memory)
        return replace(block, text=write_superseded(block.text, changed, self.line_end), content=changed)


def changes(before: MemoriesDocument, after: MemoriesDocument) -> list[MemoryChange]:
    """Every change, location by location in the order of ``after``."""
    old, new = before.memories(), after.memories()
    return [
        change
        for location_id in dict.fromkeys([*new, *old])
        for change in _changes_at(location_id, old.get(location_id, []), new.get(location_id, []))
    ]


def _visited_once_more(block: Block, visits: VisitCount, episode: int) -> Block:
    """The same line with the new numbers in it, whatever else someone wrote there."""
    line = VISITS.search(block.text)
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


def _starts_blank(text: str) -> bool:
    return not _LINE_END.split(text, maxsplit=1)[0].strip()


def _some(text: str) -> tuple[Block, ...]:
    return (Block(text),) if text else ()


def _changes_at(location_id: int, old: Sequence[Memory], new: Sequence[Memory]) -> Iterator[MemoryChange]:
    known, stood, kept = set(old), _standing_titles(old), {text_key(memory.title) for memory in new}
    for memory in new:
        if memory not in known:
            yield MemoryChange(location_id, _kind(memory, stood), memory)
    for memory in old:
        if text_key(memory.title) in stood - kept:
            yield MemoryChange(location_id, "removed", memory)


def _standing_titles(memories: Sequence[Memory]) -> set[str]:
    return {text_key(memory.title) for memory in memories if memory.status != MemoryStatus.SUPERSEDED}


def _kind(memory: Memory, stood: set[str]) -> ChangeKind:
    if memory.status != MemoryStatus.SUPERSEDED:
        return "changed" if text_key(memory.title) in stood else "added"
    return "invalidated" if memory.superseded_by == INVALIDATION_MARKER else "superseded"
