"""From the text of ``knowledgebase.md`` to a ``KnowledgeDocument``: any text at all, in one pass over its lines."""

from __future__ import annotations

import re
from io import StringIO

from managers.knowledge.document import Block, KnowledgeDocument, Section
from managers.knowledge.text import read_line
from managers.memory.text import unescape
from session.files.markdown import BYTE_ORDER_MARK, usual_line_end
from session.knowledge import INSIGHTS, SECTIONS
from session.text import one_line, text_key

_HEADING = re.compile(r"#{1,6}(?:\s|$)")
_ITEM = re.compile(r" ?(?:[-*+]|[0-9]{1,9}[.)])\s+(?=\S)")
_RULE = re.compile(r"([-*_])(?:\s*\1){2,}")
_COMMENT, _COMMENT_END = "<!--", "-->"
_KNOWN = {text_key(title): title for title in (*SECTIONS, *INSIGHTS)}


def parse(text: str) -> KnowledgeDocument:
    """The document whose ``render()`` is ``text`` again, whatever it is."""
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    lines = StringIO(text[len(mark) :], newline="").readlines()
    sections: list[Section] = []
    title, blocks = "", [Block(mark)] if mark else []
    at = 0
    while at < len(lines):
        if _HEADING.match(lines[at].strip()):
            sections.append(Section(title, tuple(blocks)))
            title, blocks = _title(lines[at]), [Block(lines[at])]
            end = at + 1
        else:
            end = _end_of_block(lines, at)
            blocks.append(_block(lines[at:end]))
        at = end
    sections.append(Section(title, tuple(blocks)))
    return KnowledgeDocument(tuple(sections), usual_line_end(text))


def _title(heading: str) -> str:
    title = one_line(unescape(heading.strip().strip("#")))
    return _KNOWN.get(text_key(title), title)


def _end_of_block(lines: list[str], at: int) -> int:
    """Behind a comment, an empty line, a rule, or an item or paragraph with the lines that go on with it."""
    first, end = lines[at].strip(), at + 1
    if first.startswith(_COMMENT):
        return _end_of_comment(lines, at)
    if not first or _RULE.fullmatch(first):
        return end
    while end < len(lines) and not _begins_anew(lines[end]):
        end += 1
    return end


def _end_of_comment(lines: list[str], at: int) -> int:
    """Behind the line that closes it. One that another comment interrupts was meant to end before it.

    Only the beginning of a line interrupts: no line of knowledge begins so, and none that goes away changes the rest.
    """
    for number in range(at, len(lines)):
        if number > at and lines[number].strip().startswith(_COMMENT):
            break
        if _COMMENT_END in lines[number]:
            return number + 1
    return at + 1


def _begins_anew(line: str) -> bool:
    bare = line.strip()
    return (
        not bare
        or bare.startswith(_COMMENT)
        or _ITEM.match(line) is not None
        or _HEADING.match(bare) is not None
        or _RULE.fullmatch(bare) is not None
    )


def _block(lines: list[str]) -> Block:
    text, first = "".join(lines), lines[0].strip()
    if not first or first.startswith(_COMMENT) or _RULE.fullmatch(first):
        return Block(text)
    item = _ITEM.match(text)
    return Block(text, read_line(text[item.end() :] if item else text))
