"""``knowledgebase.md`` as a document that can be edited without losing a byte of what people wrote (decision 13).

Every heading, of whatever level, begins a section; a section is cut into blocks, so that all texts joined are the
file. A list item or a paragraph is a line of knowledge. One that ends with its sources is the program's; all else is
people's, and no edit touches it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from managers.knowledge.text import with_sources, write_line
from session.files.markdown import BYTE_ORDER_MARK, gap_after
from session.knowledge import CROSS_EPISODE, INSIGHTS, SECTIONS, KnowledgeEntry, KnowledgeLine
from session.text import text_key

TITLE = "# Knowledge Base"

_ORDER = {title: place for place, title in enumerate((*SECTIONS, *INSIGHTS))}
_SPACE_AND_RULES = " \t\r\n-*_"
_ITEM_MARKS = ("- ", "* ", "+ ")


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together, exactly as they stand in the file; ``line``: the knowledge in them, if any."""

    text: str
    line: KnowledgeLine | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, which is the first block, and what stands below it up to the next one.

    title: of a section that the program knows its very name; "" above the first heading
    """

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class KnowledgeDocument:
    """A whole ``knowledgebase.md``.

    sections: in the order of the file; the first is what stands above the first heading and may be empty
    line_end: the one that most lines of the file have
    """

    sections: tuple[Section, ...]
    line_end: str

    def render(self) -> str:
        """The text of the file."""
        return "".join(block.text for section in self.sections for block in section.blocks)

    def entries(self) -> tuple[KnowledgeEntry, ...]:
        """Every line of knowledge, in the order of the file."""
        return tuple(
            KnowledgeEntry(section.title, block.line)
            for section in self.sections
            for block in section.blocks
            if block.line is not None
        )

    def add(self, entry: KnowledgeEntry) -> KnowledgeDocument:
        """The line is the last of its section, which is made where there is none.

        Where the same words stand already, in any section of its kind, the line there has the new sources too; where
        they are a person's, or have the sources, this very document.
        """
        key, is_insight = text_key(entry.line.text), entry.section in INSIGHTS
        for at, section in enumerate(self.sections):
            is_same_kind = section.title == entry.section or (not is_insight and section.title in SECTIONS)
            known = [block for block in section.blocks if is_same_kind and _has_key(block, key)]
            if known:
                return _with_block(self, at, known[0], _with_more_sources(known[0], entry.line))
        return _appended(_with_section_for(self, entry.section), entry)

    def remove(self, entry: KnowledgeEntry) -> KnowledgeDocument:
        """The program's line with these words is no longer in that section; this very document where it was not."""
        key = text_key(entry.line.text)
        document = self
        for at, section in enumerate(self.sections):
            if section.title == entry.section:
                kept = tuple(block for block in section.blocks if not (_is_ours(block) and _has_key(block, key)))
                document = _with_blocks(document, at, kept)
        return document


def _appended(document: KnowledgeDocument, entry: KnowledgeEntry) -> KnowledgeDocument:
    """The line behind the last one of its section, which there is."""
    at = next(at for at, section in enumerate(document.sections) if section.title == entry.section)
    blocks, end = document.sections[at].blocks, document.line_end
    closing = len(blocks)
    while closing > 1 and _is_space_or_rule(blocks[closing - 1]):
        closing -= 1
    above, tail = blocks[:closing], blocks[closing:]
    gap = _gap_before_item(above, end)
    if gap and tail and not any(block.text.strip() for block in tail):
        gap, tail = _whole_line(tail[0].text, end), tail[1:]
    if not tail and at + 1 < len(document.sections):
        tail = (Block(end),)
    added = Block(write_line(entry.line) + end, entry.line)
    return _with_blocks(document, at, (*above, *_some(gap), added, *tail))


def _gap_before_item(above: tuple[Block, ...], line_end: str) -> str:
    text = above[-1].text if above else line_end
    if not text.lstrip().startswith(_ITEM_MARKS):
        return gap_after(text, line_end)
    return _whole_line(text, line_end).removeprefix(text)


def _is_space_or_rule(block: Block) -> bool:
    return block.line is None and not block.text.strip(_SPACE_AND_RULES)


def _whole_line(text: str, line_end: str) -> str:
    return text if text.endswith(("\n", "\r")) else text + line_end


def _with_section_for(document: KnowledgeDocument, title: str) -> KnowledgeDocument:
    if any(section.title == title for section in document.sections):
        return document
    if title not in INSIGHTS:
        return _with_section(document, f"## {title}", title, _place_for(document, title))
    document = _with_section_for(document, CROSS_EPISODE)
    lesser = {CROSS_EPISODE, *INSIGHTS[: INSIGHTS.index(title)]}
    place = max(at for at, section in enumerate(document.sections) if section.title in lesser) + 1
    return _with_section(document, f"### {title}", title, place)


def _with_section(document: KnowledgeDocument, heading: str, title: str, at: int) -> KnowledgeDocument:
    above, below, end = document.sections[:at], document.sections[at:], document.line_end
    text = "".join(block.text for section in above for block in section.blocks)
    gap = f"{TITLE}{end}{end}" if text in {"", BYTE_ORDER_MARK} else gap_after(text, end)
    last = replace(above[-1], blocks=(*above[-1].blocks, *_some(gap)))
    made = Section(title, (Block(f"{heading}{end}{end}"),))
    return replace(document, sections=(*above[:-1], last, made, *below))


def _place_for(document: KnowledgeDocument, title: str) -> int:
    """The index of a new section: in front of the first that the program wants below it, at least 1."""
    order = _ORDER.get(title, len(_ORDER))
    later = (at for at, section in enumerate(document.sections) if _ORDER.get(section.title, -1) > order)
    return max(1, next(later, len(document.sections)))


def _with_block(document: KnowledgeDocument, at: int, old: Block, new: Block) -> KnowledgeDocument:
    blocks = document.sections[at].blocks
    return (
        document if new is old else _with_blocks(document, at, tuple(new if each is old else each for each in blocks))
    )


def _with_blocks(document: KnowledgeDocument, at: int, blocks: tuple[Block, ...]) -> KnowledgeDocument:
    if blocks == document.sections[at].blocks:
        return document
    changed = replace(document.sections[at], blocks=blocks)
    return replace(document, sections=(*document.sections[:at], changed, *document.sections[at + 1 :]))


def _with_more_sources(block: Block, line: KnowledgeLine) -> Block:
    if block.line is None or not block.line.sources:
        return block
    more = replace(block.line, sources=(*block.line.sources, *line.sources))
    return block if more == block.line else Block(with_sources(block.text, more.sources), more)


def _has_key(block: Block, key: str) -> bool:
    return block.line is not None and text_key(block.line.text) == key


def _is_ours(block: Block) -> bool:
    return block.line is not None and bool(block.line.sources)


def _some(text: str) -> tuple[Block, ...]:
    return (Block(text),) if text else ()
