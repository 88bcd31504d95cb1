r"""One line of ``knowledgebase.md``: Markdown that a person reads, writes and mends.

    - Fumes kill within two turns without the smoke hood. *(Ep1, T12-14; Ep2, T3)*

What stands in the brackets are the turns that the line comes from; the program writes them, people need not. What
would be read as something else is escaped as in ``Memories.md``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from managers.memory.text import escape, unescape
from session.knowledge import KnowledgeLine, Source, merged_sources
from session.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

_SOURCE = r"Ep([0-9]{1,9}),\s*T([0-9]{1,9})(?:\s?[-\u2013]\s?([0-9]{1,9}))?"
_TURNS = re.compile(_SOURCE, re.IGNORECASE)
_SOURCES = re.compile(rf"(?<!\\)\*\(\s*{_SOURCE}(?:\s*;\s*{_SOURCE})*\s*\)\*\s*$", re.IGNORECASE)
_COMMENT = "<!--"


def write_line(line: KnowledgeLine) -> str:
    """The line as a list item, without a line end. A line without sources is a ``ValueError``: people write those."""
    if not line.sources:
        raise ValueError(f"knowledge without a source: {line.text}")
    text = escape(line.text).replace(_COMMENT, rf"\{_COMMENT}")
    return f"- {text} {_written(line.sources)}"


def read_line(markdown: str) -> KnowledgeLine:
    """What a list item or a paragraph says, ``markdown`` being all its lines without the mark of the list."""
    sources = _SOURCES.search(markdown)
    text = markdown if sources is None else markdown[: sources.start()]
    return KnowledgeLine(unescape(one_line(text)), () if sources is None else _read(sources[0]))


def with_sources(markdown: str, sources: Iterable[Source]) -> str:
    """The same item, line end and all, with these sources in the place of its own."""
    found = _SOURCES.search(markdown)
    if found is None:
        return markdown
    space = found[0][len(found[0].rstrip()) :]
    return f"{markdown[: found.start()]}{_written(sources)}{space}"


def _written(sources: Iterable[Source]) -> str:
    return f"*({'; '.join(map(_written_source, merged_sources(sources)))})*"


def _written_source(source: Source) -> str:
    last = "" if source.last_turn == source.first_turn else f"-{source.last_turn}"
    return f"Ep{source.episode}, T{source.first_turn}{last}"


def _read(markdown: str) -> tuple[Source, ...]:
    found = ((int(episode), int(first), int(last or first)) for episode, first, last in _TURNS.findall(markdown))
    return tuple(Source(episode, min(first, last), max(first, last)) for episode, first, last in found)
