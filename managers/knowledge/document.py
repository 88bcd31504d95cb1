"""``knowledgebase.md`` as a document: read from any text, and edited without losing a byte of what users wrote.

    - Fumes kill within two turns without the smoke hood. *(Ep1, T12-14; Ep2, T3)*

Every heading, of any level, begins a section. A list item or a paragraph is a line of knowledge. The brackets contain
the turns that the line comes from. A line that ends with them is the program's. All other lines are users' lines,
which no edit changes (docs/specification.md, Knowledge base).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches

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
from session.knowledge import (
    CROSS_EPISODE,
    INSIGHTS,
    NEXT_EPISODE,
    SECTIONS,
    KnowledgeEntry,
    KnowledgeLine,
    Source,
    merged_sources,
)
from session.text import one_line, text_key

TITLE = "# Knowledge Base"

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


@dataclass(frozen=True, slots=True)
class KnowledgeDocument(MarkdownDocument[str, KnowledgeLine]):
    """A whole ``knowledgebase.md``; the heading of a section is its title, "" above the first one."""

    def entries(self) -> tuple[KnowledgeEntry, ...]:
        """Return every line of knowledge, in the order of the file."""
        return tuple(
            KnowledgeEntry(section.heading, block.content)
            for section in self.sections
            for block in section.blocks
            if block.content is not None
        )

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

        If a section of the same kind already has a line of these words, that line gets the new sources instead. If it
        is a user's line or already has the sources, the same document is returned.
        """
        key = text_key(entry.line.text)
        alone = entry.section in (NEXT_EPISODE, *INSIGHTS)
        for at, section in enumerate(self.sections):
            if section.heading == entry.section or (not alone and section.heading in SECTIONS):
                for number, block in enumerate(section.blocks):
                    if _has_key(block, key):
                        changed = _with_more_sources(block, entry.line)
                        blocks = (*section.blocks[:number], changed, *section.blocks[number + 1 :])
                        return self if changed is block else self.with_blocks(at, blocks)
        document = self.with_section_titled(entry.section)
        at = next(at for at, section in enumerate(document.sections) if section.heading == entry.section)
        written = MarkdownBlock(write_line(entry.line) + self.line_end, entry.line)
        return document.with_last_block(at, written, is_item=True)

    def remove(self, entry: KnowledgeEntry) -> KnowledgeDocument:
        """Return the document without the program's line of these words in the section.

        Returns the same document if it has no such line.
        """
        key = text_key(entry.line.text)

        def kept(block: KnowledgeBlock) -> KnowledgeBlock | None:
            return None if _has_key(block, key) and block.content is not None and block.content.sources else block

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


def parse_knowledge(text: str) -> KnowledgeDocument:
    """Return the document whose ``render()`` is ``text`` again, for any text."""
    reader = _KnowledgeReader(text, "")
    return KnowledgeDocument(reader.sections(), reader.line_end)


def write_line(line: KnowledgeLine) -> str:
    """Return the line as a list item, without a line end.

    Raises ``ValueError`` for a line without sources: people write those.
    """
    if not line.sources:
        raise ValueError(f"knowledge without a source: {line.text}")
    text = escape(line.text).replace(COMMENT, rf"\{COMMENT}")
    return f"- {text} {_written(line.sources)}"


def read_line(markdown: str) -> KnowledgeLine:
    """Return the content of a list item or a paragraph, given all its lines without the list marker."""
    sources = _SOURCES.search(markdown)
    text = markdown if sources is None else markdown[: sources.start()]
    return KnowledgeLine(unescape(one_line(text)), () if sources is None else _read_sources(sources[0]))


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


def _has_key(block: KnowledgeBlock, key: str) -> bool:
    return block.content is not None and text_key(block.content.text) == key


def _with_more_sources(block: KnowledgeBlock, line: KnowledgeLine) -> KnowledgeBlock:
    """Return the block with the sources of ``line`` added, or the same block if it is a user's or already has them."""
    if block.content is None or not block.content.sources:
        return block
    more = replace(block.content, sources=(*block.content.sources, *line.sources))
    found = _SOURCES.search(block.text)
    if more == block.content or found is None:
        return block
    space = found[0][len(found[0].rstrip()) :]
    return MarkdownBlock(f"{block.text[: found.start()]}{_written(more.sources)}{space}", more)


def _written(sources: Iterable[Source]) -> str:
    return f"*({'; '.join(map(_written_source, merged_sources(sources)))})*"


def _written_source(source: Source) -> str:
    last = "" if source.last_turn == source.first_turn else f"-{source.last_turn}"
    return f"Ep{source.episode}, T{source.first_turn}{last}"


def _read_sources(markdown: str) -> tuple[Source, ...]:
    found = ((int(episode), int(first), int(last or first)) for episode, first, last in _TURNS.findall(markdown))
    return tuple(Source(episode, min(first, last), max(first, last)) for episode, first, last in found)
