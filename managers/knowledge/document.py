"""``knowledgebase.md`` and its archive as documents: read from any text, edited without losing a byte of users' text.

    - Fumes kill within two turns without the smoke hood. *(Ep1, T12-14; Ep2, T3)*

Every heading, of any level, begins a section. A list item or a paragraph is a line of knowledge. One that ends with the
turns that it comes from is the program's; all others are users' lines, which no edit changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property, lru_cache

from session.files.document_store import PlainText
from session.files.markdown import (
    COMMENT,
    MarkdownBlock,
    MarkdownDocument,
    MarkdownProblem,
    MarkdownReader,
    MarkdownSection,
    escape,
    unescape,
    usual_line_end,
)
from session.knowledge import (
    CROSS_EPISODE,
    INSIGHTS,
    NEXT_EPISODE,
    SECTIONS,
    KnowledgeEntry,
    KnowledgeLine,
    Source,
)
from session.text import one_line, text_key

TITLE = "# Knowledge Base"
ARCHIVE_TITLE = "# Archive of the knowledge base"

_ORDER = {title: place for place, title in enumerate((NEXT_EPISODE, *SECTIONS, *INSIGHTS))}
_KNOWN_TITLES = {text_key(title): title for title in _ORDER}
_HEADING = re.compile(r"#{1,6}(?:\s|$)")
_ITEM = re.compile(r" ?(?:[-*+]|[0-9]{1,9}[.)])\s+(?=\S)")
_RULE = re.compile(r"([-*_])(?:\s*\1){2,}")
_SOURCE = r"Ep([0-9]{1,9}),\s*T([0-9]{1,9})(?:\s?[-\u2013]\s?([0-9]{1,9}))?"
_TURNS = re.compile(_SOURCE, re.IGNORECASE)
_SOURCES = re.compile(rf"(?<!\\)\*\(\s*{_SOURCE}(?:\s*;\s*{_SOURCE})*\s*\)\*\s*$", re.IGNORECASE)

KnowledgeBlock = MarkdownBlock[KnowledgeLine]
KnowledgeSection = MarkdownSection[str, KnowledgeLine]


@dataclass(frozen=True)
class KnowledgeDocument(MarkdownDocument[str, KnowledgeLine]):
    """A whole ``knowledgebase.md``; the heading of a section is its title, "" above the first one."""

    @cached_property
    def entries(self) -> tuple[KnowledgeEntry, ...]:
        """Every line of knowledge, in the order of the file."""
        return tuple(KnowledgeEntry(section.heading, line) for section in self.sections for line in section.contents)

    def doubts(self) -> list[MarkdownProblem]:
        """Return the headings that are probably misspelled; what is below them is in a section of its own."""

        def message(section: KnowledgeSection, block: KnowledgeBlock) -> str:
            if block is not section.blocks[0] or section.heading in _ORDER:
                return ""
            closest = get_close_matches(text_key(section.heading), _KNOWN_TITLES, n=1, cutoff=0.8)
            return f"{section.heading} is probably {_KNOWN_TITLES[closest[0]]}, misspelled." if closest else ""

        return self._marked(message)

    def add(self, entry: KnowledgeEntry) -> KnowledgeDocument:
        """Return the document with the line at the end of its section, which is added if it is missing.

        If a section of the same kind has a line of these words, that one gets the new sources unless it is a user's.
        """
        key = text_key(entry.line.text)
        alone = entry.section in (NEXT_EPISODE, *INSIGHTS)
        for at, section in enumerate(self.sections):
            if section.heading == entry.section or (not alone and section.heading in SECTIONS):
                for number, block in enumerate(section.blocks):
                    if block.content is not None and text_key(block.content.text) == key:
                        changed = _with_more_sources(block, block.content, entry.line)
                        blocks = (*section.blocks[:number], changed, *section.blocks[number + 1 :])
                        return self if changed is block else self.with_blocks(at, blocks)
        document = self.with_section_titled(entry.section)
        at = next(at for at, section in enumerate(document.sections) if section.heading == entry.section)
        written = MarkdownBlock(write_line(entry.line) + self.line_end, entry.line)
        return document.with_last_block(at, written, is_item=True)

    def remove(self, entry: KnowledgeEntry) -> KnowledgeDocument:
        """Return the document without the program's line of these words in the section."""
        key = text_key(entry.line.text)

        def kept(block: KnowledgeBlock) -> KnowledgeBlock | None:
            line = block.content
            return None if line is not None and line.sources and text_key(line.text) == key else block

        return self.with_each_block(lambda title: title == entry.section, kept)

    def with_section_titled(self, title: str) -> KnowledgeDocument:
        """Return the document with a section of that title: at its place in the usual order, insights below theirs."""
        titles = [section.heading for section in self.sections]
        if title in titles:
            return self
        if title in INSIGHTS and CROSS_EPISODE not in titles:
            return self.with_section_titled(CROSS_EPISODE).with_section_titled(title)
        if title in INSIGHTS:
            above = {CROSS_EPISODE, *INSIGHTS[: INSIGHTS.index(title)]}
            at = 1 + max(at for at, other in enumerate(titles) if other in above)
        else:
            order = _ORDER.get(title, len(_ORDER))
            at = max(1, next((at for at, other in enumerate(titles) if _ORDER.get(other, -1) > order), len(titles)))
        level, end = "###" if title in INSIGHTS else "##", self.line_end
        heading: KnowledgeBlock = MarkdownBlock(f"{level} {title}{end}{end}")
        return self.with_section(at, MarkdownSection(title, (heading,)), TITLE)


@dataclass(frozen=True, slots=True)
class KnowledgeEdit:
    """Lines to remove, but none that people wrote or that is added again, and lines to add, in one write."""

    removed: tuple[KnowledgeEntry, ...] = ()
    added: tuple[KnowledgeEntry, ...] = ()

    def __post_init__(self) -> None:
        kept = {(entry.section, text_key(entry.line.text)) for entry in self.added}
        removed = (entry for entry in self.removed if (entry.section, text_key(entry.line.text)) not in kept)
        object.__setattr__(self, "removed", tuple(removed))

    def apply_to(self, document: KnowledgeDocument) -> KnowledgeDocument:
        """Return the document with the edit, as its file will be read back, or the same document if nothing changes."""
        edited = document
        for entry in self.removed:
            edited = edited.remove(entry)
        for entry in self.added:
            edited = edited.add(entry)
        return document if edited is document else parse_knowledge(edited.render())


def archived(archive: PlainText, entries: Iterable[KnowledgeEntry], until: str) -> PlainText:
    """Return the archive with lines that were removed in the turn ``until``, or itself if it has all of them."""
    known = {line.strip() for line in archive.text.splitlines()}
    lines = (f"{write_line(entry.line)} (in {entry.section} until {until})" for entry in entries)
    new = [line for line in lines if line not in known]
    if not new:
        return archive
    end = usual_line_end(archive.text)
    text = archive.text or f"{ARCHIVE_TITLE}{end}{end}"
    gap = "" if text.endswith(("\n", "\r")) else end
    return PlainText(text + gap + "".join(line + end for line in new))


def parse_knowledge(text: str) -> KnowledgeDocument:
    """Return the document whose ``render()`` is ``text`` again, for any text."""
    reader = _KnowledgeReader(text, "")
    return KnowledgeDocument(reader.sections(), reader.line_end)


def write_line(line: KnowledgeLine) -> str:
    """Return the line as a list item, without a line end. Raises ``ValueError`` for a line without sources."""
    if not line.sources:
        raise ValueError(f"knowledge without a source: {line.text}")
    text = escape(line.text).replace(COMMENT, rf"\{COMMENT}")
    return f"- {text} {_written(line.sources)}"


@lru_cache(maxsize=1024)  # a change of one line reads all of them again
def read_line(markdown: str) -> KnowledgeLine:
    """Return the content of a list item or a paragraph, given all its lines without the list marker."""
    sources = _SOURCES.search(markdown)
    if sources is None:
        return KnowledgeLine(unescape(one_line(markdown)))
    found = tuple(_source(*turns) for turns in _TURNS.findall(sources[0]))
    return KnowledgeLine(unescape(one_line(markdown[: sources.start()])), found)


@lru_cache(maxsize=4096)  # a line that each of 500 episodes confirmed is read again after each of them
def _source(episode: str, first: str, last: str) -> Source:
    turns = (int(first), int(last or first))
    return Source(int(episode), min(turns), max(turns))


class _KnowledgeReader(MarkdownReader[str, KnowledgeLine]):
    __slots__ = ()

    def take_heading(self) -> KnowledgeSection | None:
        line = self.bare[self.at]
        if not _HEADING.match(line):
            return None
        title = one_line(unescape(line.strip("#")))
        return MarkdownSection(_KNOWN_TITLES.get(text_key(title), title), (self.take(self.at + 1),))

    def take_block(self) -> KnowledgeBlock:
        line, end = self.bare[self.at], self.at + 1
        if not line:
            return self.take_space()
        if line.startswith(COMMENT):
            return self.take_comment()
        if _RULE.fullmatch(line):
            return self.take(end)
        while end < len(self.lines) and not self._begins_block(end):
            end += 1
        text = "".join(self.lines[self.at : end])
        item = _ITEM.match(text)
        return self.take(end, read_line(text[item.end() :] if item else text))

    def _begins_block(self, number: int) -> bool:
        line = self.bare[number]
        return (
            not line
            or line.startswith(COMMENT)
            or _ITEM.match(self.lines[number]) is not None
            or _HEADING.match(line) is not None
            or _RULE.fullmatch(line) is not None
        )


def _with_more_sources(block: KnowledgeBlock, known: KnowledgeLine, line: KnowledgeLine) -> KnowledgeBlock:
    """Return the block of ``known`` with the sources of ``line``, or itself if it is a user's or already has them."""
    more = replace(known, sources=(*known.sources, *line.sources))
    found = _SOURCES.search(block.text) if known.sources else None
    if more == known or found is None:
        return block
    space = found[0][len(found[0].rstrip()) :]
    return MarkdownBlock(f"{block.text[: found.start()]}{_written(more.sources)}{space}", more)


def _written(sources: Iterable[Source]) -> str:
    """Return the sources as they are written behind a line: ``*(Ep1, T12-14; Ep2, T3)*``."""
    return f"*({'; '.join(f'Ep{source.episode}, T{source.turns}' for source in sources)})*"
