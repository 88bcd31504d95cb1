"""From the text of ``Memories.md`` to a ``Document``: any text at all, in one pass over its lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple

from managers.memories_document import BYTE_ORDER_MARK, EPISODE, VISITS, Block, Document, Section, Visits
from managers.memories_text import NotUnderstood, ends_text, is_reference, read_memory, unescape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from session.memory import Memory

_LOCATION = re.compile(r"#+\s*Location\s+#?([0-9]{1,9})\b\s*[:\u2013\u2014-]?\s*(.*)", re.IGNORECASE)
_TOP_HEADING = re.compile(r"##?(?!#)")
_BROKEN_LOCATION = re.compile(r"##\s*Loca|[*_]*Location\s+#?\w+[*_]*\s*:", re.IGNORECASE)
_STARTS_OF_HEADINGS = frozenset("#*_Ll")
_RULE = re.compile(r"-{3,}|\*{3,}|_{3,}")
_STARTS_OF_RULES = frozenset(("---", "***", "___"))

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


class _Span(NamedTuple):
    """What was read of some lines; ``end`` is the number of the first line after them."""

    end: int
    content: Memory | Visits | None = None
    problem: str = ""


def parse(text: str) -> Document:
    """The document whose ``render()`` is ``text`` again, whatever it is."""
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    lines = StringIO(text[len(mark) :], newline="").readlines()
    bare = [line.strip() for line in lines]

    sections: list[Section] = []
    heading = _Heading(None, "")
    blocks = [Block(mark)] if mark else []
    start = 0
    while start < len(lines):
        if _is_space_or_rule(bare[start]):
            end = _end_of_space(bare, start + 1)
            blocks.append(_space("".join(lines[start:end])))
            start = end
            continue
        next_heading = _read_heading(bare[start])
        if next_heading is not None:
            sections.append(Section(heading.location_id, heading.name, tuple(blocks)))
            heading, blocks = next_heading, [Block(lines[start], problem=next_heading.problem)]
            start += 1
            continue
        span = _read_span(bare, start, located=heading.location_id is not None)
        blocks.append(Block("".join(lines[start : span.end]), span.content, span.problem))
        start = span.end
    sections.append(Section(heading.location_id, heading.name, tuple(blocks)))
    return Document(tuple(sections), _usual_line_end(text))


@lru_cache(maxsize=64)
def _space(text: str) -> Block:
    """One block for all places that have the same space between two others."""
    return Block(text)


def _usual_line_end(text: str) -> str:
    if "\r" not in text:
        return "\n"
    windows, unix = text.count("\r\n"), text.count("\n")
    if not unix:
        return "\r"
    return "\r\n" if 2 * windows > unix else "\n"


def _read_heading(line: str) -> _Heading | None:
    """The heading that ends the section above it. Lesser headings are part of their section."""
    if line[0] not in _STARTS_OF_HEADINGS or line.startswith("**["):
        return None
    location = _LOCATION.fullmatch(line)
    if location:
        return _Heading(int(location[1]), unescape(location[2]))
    if _BROKEN_LOCATION.match(line):
        return _Heading(None, "", _NO_LOCATION)
    if _TOP_HEADING.match(line) and ends_text(line):
        return _Heading(None, "")
    return None


def _read_span(bare: Sequence[str], start: int, *, located: bool) -> _Span:
    """The block that begins at line ``start``, which is no section's heading; ``located``: in a location's section."""
    line = bare[start]
    if line.startswith("**["):
        span = _read_memory_at(bare, start)
        return span if located else _Span(span.end, problem=_NOWHERE)
    if line.startswith("<!--"):
        return _read_comment_at(bare, start)
    if line.lower().startswith("**visits:"):
        return _read_visits_at(bare, start)
    if ends_text(line):
        return _Span(start + 1)
    return _Span(_end_of_text(bare, start + 1), problem=_STRAY if located else "")


def _read_memory_at(bare: Sequence[str], start: int) -> _Span:
    """A header, the references right below it, and the paragraph that follows."""
    head = start + 1
    if head < len(bare) and is_reference(bare[head]):
        head += 1
    text = head
    while text < len(bare) and not bare[text]:
        text += 1
    no_text = text == len(bare) or ends_text(bare[text]) or (text > head and _read_heading(bare[text]) is not None)
    end = head if no_text else _end_of_text(bare, text + 1)
    try:
        memory, problem = read_memory(bare[start:end])
    except NotUnderstood as error:
        return _Span(end, problem=str(error))
    return _Span(end, memory, problem)


def _read_comment_at(bare: Sequence[str], start: int) -> _Span:
    """Up to the line that closes the comment. One that another comment interrupts was meant to end before it."""
    for number in range(start, len(bare)):
        line = bare[number]
        if number > start and "<!--" in line:
            break
        if "-->" in line:
            return _Span(number + 1)
    return _Span(start + 1, problem=_UNCLOSED)


def _read_visits_at(bare: Sequence[str], start: int) -> _Span:
    line = VISITS.fullmatch(bare[start])
    if line is None:
        return _Span(start + 1, problem=_NO_VISITS)
    return _Span(start + 1, Visits(int(line[1]), tuple(int(episode) for episode in EPISODE.findall(line[2]))))


def _end_of_space(bare: Sequence[str], start: int) -> int:
    while start < len(bare) and _is_space_or_rule(bare[start]):
        start += 1
    return start


def _end_of_text(bare: Sequence[str], start: int) -> int:
    while start < len(bare) and not ends_text(bare[start]):
        start += 1
    return start


def _is_space_or_rule(line: str) -> bool:
    return not line or (line[:3] in _STARTS_OF_RULES and _RULE.fullmatch(line) is not None)
